package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// sysbenchText is what sysbench 1.0.20 prints of a cpu test.
func sysbenchText(threads string, rate float64) string {
	events := int(rate * 10)
	return fmt.Sprintf(`sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: %s
Initializing random number generator from current time


Prime numbers limit: 10000

Initializing worker threads...

Threads started!

CPU speed:
    events per second: %8.2f

General statistics:
    total time:                          10.0001s
    total number of events:              %d

Latency (ms):
         min:                                    1.98
         avg:                                    1.99
         max:                                    3.13
         95th percentile:                        2.00
         sum:                                 9998.07

Threads fairness:
    events (avg/stddev):           %d.0000/0.00
    execution time (avg/stddev):   9.9981/0.00

`, threads, rate, events, events)
}

// The scripts run tare itself, in this process. Beside testscript's commands
// they have:
//
//	tare ARGUMENTS...                  the command line
//	status N ARGUMENTS...              the same, which must end with this status
//	sysbench FILE THREADS RATE...      what sysbench cpu prints, a result a rate
//	k6 FILE FAILED LATENCY...          summaries of k6 with 200 requests, of which FAILED failed
func TestImportsAsUsersTypeThem(t *testing.T) {
	directory, err := filepath.Abs("testdata/import")
	if err != nil {
		t.Fatal(err)
	}
	var oneDirectory sync.Mutex
	run := func(ts *testscript.TestScript, args []string) int {
		// Paths in messages are as they were typed, so the directory must be the
		// script's, and a process has but one.
		oneDirectory.Lock()
		defer oneDirectory.Unlock()
		back, err := os.Getwd()
		ts.Check(err)
		ts.Check(os.Chdir(ts.MkAbs(".")))
		defer func() { ts.Check(os.Chdir(back)) }()
		app := &App{Stdin: strings.NewReader(""), Stdout: ts.Stdout(), Stderr: ts.Stderr(), Home: ts.Getenv("TARE_HOME"), Version: "test", Args: append([]string{"tare"}, args...)}
		return Main(context.Background(), app)
	}
	testscript.Run(t, testscript.Params{
		Dir: directory,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TARE_HOME", e.WorkDir+"/home")
			return nil
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"tare": func(ts *testscript.TestScript, neg bool, args []string) {
				if failed := run(ts, args) != 0; failed != neg {
					ts.Fatalf("tare %s: failed is %v", strings.Join(args, " "), failed)
				}
			},
			"status": func(ts *testscript.TestScript, _ bool, args []string) {
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				if got := run(ts, args[1:]); got != want {
					ts.Fatalf("status %d, want %d", got, want)
				}
			},
			"sysbench": func(ts *testscript.TestScript, _ bool, args []string) {
				var text strings.Builder
				for _, word := range args[2:] {
					rate, err := strconv.ParseFloat(word, 64)
					ts.Check(err)
					text.WriteString(sysbenchText(args[1], rate))
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o644))
			},
			"k6": func(ts *testscript.TestScript, _ bool, args []string) {
				failed, err := strconv.Atoi(args[1])
				ts.Check(err)
				var text strings.Builder
				for _, latency := range args[2:] {
					fmt.Fprintf(&text, `{"metrics": {"http_reqs": {"count": 200, "rate": 80}, "http_req_duration": {"avg": %s},
						"http_req_failed": {"value": %g, "passes": %d, "fails": %d}, "iterations": {"count": 200}}}`+"\n", latency, float64(failed)/200, failed, 200-failed)
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o644))
			},
		},
	})
}

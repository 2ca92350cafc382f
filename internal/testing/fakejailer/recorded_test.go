package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testing/exchanges"
	"tare/internal/testing/needs"
)

// call is one start of the jailer. In its arguments DIR is a directory with the
// program firecracker-v1, a link to it, firecracker, and an empty directory, jail.
type call struct {
	Arguments []string `json:"arguments"`
	Status    int      `json:"status"`
	Says      string   `json:"says,omitempty"`    // its first line of errors
	Started   []string `json:"started,omitempty"` // what the program was started with
	Jail      string   `json:"jail,omitempty"`    // the directory that became its root
}

const (
	recorded = "testdata/recorded.json"
	asDouble = "TARE_TEST_JAILER"
	mark     = "started with "
)

// TestMain makes this test program the double, and the program that is jailed, which
// a real jailer leaves no environment.
func TestMain(m *testing.M) {
	switch {
	case slices.Contains(os.Args, "--start-time-us"):
		fmt.Println(mark + strings.Join(os.Args[1:], " "))
		os.Exit(0)
	case os.Getenv(asDouble) != "":
		main()
	}
	os.Exit(m.Run())
}

func TestTheDoubleDoesAsTheJailerDid(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range read(t) {
		if got := want.again(t, self, asDouble+"=1"); !cmp.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
	}
}

func TestTheRealJailerDoesAsRecorded(t *testing.T) {
	needs.Root(t)
	program := exchanges.Program(t, "JAILER", "jailer")
	calls := read(t)
	var all []call
	for _, want := range calls {
		got := want.again(t, program)
		if all = append(all, got); os.Getenv(exchanges.Renew) == "" && !cmp.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
	}
	if os.Getenv(exchanges.Renew) != "" {
		var text bytes.Buffer
		for n, c := range all {
			line, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "%s\n%s", map[bool]string{true: "[", false: ","}[n == 0], line)
		}
		if err := os.WriteFile(recorded, append(text.Bytes(), "\n]\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T) (calls []call) {
	t.Helper()
	data, err := os.ReadFile(recorded)
	if err == nil {
		err = json.Unmarshal(data, &calls)
	}
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// times are arguments that differ between starts.
var times = regexp.MustCompile(`(-us) \d+`)

// again starts a jailer with the call's arguments.
func (c call) again(t *testing.T, program string, environment ...string) call {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = exec.Command("cp", self, filepath.Join(dir, "firecracker-v1")).Run()
	}
	if err = errors.Join(err, os.Symlink("firecracker-v1", filepath.Join(dir, "firecracker")), os.Mkdir(filepath.Join(dir, "jail"), 0o755)); err != nil {
		t.Fatal(err)
	}
	var arguments []string
	for _, a := range c.Arguments {
		arguments = append(arguments, strings.ReplaceAll(a, "DIR", dir))
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program, arguments...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &stdout, &stderr, append(os.Environ(), environment...)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	got := call{Arguments: c.Arguments, Status: cmd.ProcessState.ExitCode()}
	got.Says, _, _ = strings.Cut(strings.ReplaceAll(stderr.String(), dir, "DIR"), "\n")
	if _, line, ok := strings.Cut(stdout.String(), mark); ok {
		got.Started = strings.Fields(times.ReplaceAllString(line, "$1 TIME"))
	}
	if roots, _ := filepath.Glob(filepath.Join(dir, "jail/*/*/root")); len(roots) == 1 {
		got.Jail = strings.ReplaceAll(roots[0], dir, "DIR")
	}
	return got
}

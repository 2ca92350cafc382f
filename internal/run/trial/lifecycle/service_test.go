package lifecycle_test

import (
	"strings"
	"testing"

	"tare/internal/testing/fakeenv"
	"tare/internal/workload"
)

func TestAServiceThatCompletesRunsToItsEndBeforeTheNextOneStarts(t *testing.T) {
	fails := ""
	b := newBench(t, func(_, command string) fakeenv.Result {
		if command == fails {
			return fakeenv.Result{Code: 3, Stdout: "no database"}
		}
		return fakeenv.Result{Runs: strings.HasPrefix(command, "serve")}
	}, "a")
	pack := workload.Pack{Name: "shop", Driver: &workload.Step{Run: "drive"}}
	for _, command := range []string{"serve db", "migrate", "serve api"} {
		pack.Servers = append(pack.Servers, workload.Server{
			Step: workload.Step{Run: command}, Health: &workload.Health{}, Completes: command == "migrate"})
	}
	w := b.workload(t, request("a"), pack, nil)
	must(t, w.Prepare(t.Context()))
	sampled(t, w)
	must(t, w.Finish(t.Context()))
	b.logged(t, "start b1-a-1", "b1-a-1: serve db", "b1-a-1: migrate", "b1-a-1: serve api", "b1-a-1: drive", "b1-a-1: SIGTERM serve api", "b1-a-1: SIGTERM serve db")

	fails = "migrate"
	w = b.workload(t, request("a"), pack, nil)
	if err := w.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "command `migrate`: exited with status 3\nits last output:\n  no database") {
		t.Errorf("%v", err)
	}
	must(t, w.Finish(t.Context()))
}

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/budget"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// failingIn is a run whose nginx fails a part of the requests in some environments.
func failingIn(shares map[string]float64) model.Input {
	in := reporttest.Quick()
	at := slices.IndexFunc(fakeNames(in), func(name string) bool { return name == "nginx" })
	pack := &in.Plan.Workloads[at].Pack
	pack.Metrics = append(slices.Clone(pack.Metrics), workload.ErrorMetric)
	for i := range in.Trials {
		if t := &in.Trials[i]; t.Workload == "nginx" && t.Metrics != nil {
			t.Metrics = maps.Clone(t.Metrics)
			t.Metrics[workload.ErrorRatio] = shares[t.Environment]
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	return in
}

func fakeNames(in model.Input) (names []string) {
	for _, w := range in.Plan.Workloads {
		names = append(names, w.Name)
	}
	return names
}

func TestFailuresComeFirstAndTakeTheVerdictWithThem(t *testing.T) {
	in := failingIn(map[string]float64{"docker": .3})
	out := terminalOf(t, in, model.Options{})
	share, rate := strings.Index(out, "error_ratio, lower is better"), strings.Index(out, "requests, requests/s")
	if share < 0 || rate < share {
		t.Errorf("the share of failures is not before the rate:\n%s", out)
	}
	const reason = "not compared: 30.0% of the requests failed in docker"
	for _, want := range []string{reason, "30.0%"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, f := range Formats {
		text, err := written(f, in, model.Options{})
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if slices.Contains([]string{"md", "html", "json"}, f.Name) && !strings.Contains(text, reason) {
			t.Errorf("%s does not say %q", f.Name, reason)
		}
	}
	for _, l := range model.New(in).Answer().Layers {
		if failing := strings.Contains(strings.Join(l.Lines[model.Without], "\n"), reason); failing != (l.Name == "docker") {
			t.Errorf("%s: %s", l.Name, l.Lines)
		}
	}
	rules, err := budget.Parse("b", []byte("nginx requests docker/native >= 0.1\nnginx p99 docker <= 1000ms\nnginx requests gvisor/native >= 0.1\nnginx requests gvisor/docker >= 0.1\nnginx requests native/docker >= 0.1\n"))
	if err != nil {
		t.Fatal(err)
	}
	results, err := budget.Check(rules, in)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []budget.Outcome{budget.Broken, budget.Broken, budget.Met, budget.Undecided, budget.Undecided} {
		if results[i].Outcome != want {
			t.Errorf("%s: %s, want %s", results[i].Sentence(), results[i].Outcome, want)
		}
	}
}

func TestARunWithoutFailuresDoesNotShowThem(t *testing.T) {
	if out := terminalOf(t, failingIn(nil), model.Options{}); strings.Contains(out, "error_ratio") {
		t.Error(out)
	}
}

// brokenIn is a run in which every trial of an environment fails alike, each with a console of
// its own.
func brokenIn(name string) model.Input {
	in := reporttest.Quick()
	for i := range in.Trials {
		if t := &in.Trials[i]; t.Environment == name {
			t.Status, t.Reason, t.Metrics = rundir.Failed, "the guest died; its kernel panicked: no root", nil
			t.Output = fmt.Sprintf("the last lines of its console:\n  [%d] one\n  [%d] two%s", i, i, strings.Repeat("\n  register", 10))
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	return in
}

func TestAnEnvironmentInWhichAllFailsSaysSoOnceAndThePageHasWhatItPrinted(t *testing.T) {
	in := brokenIn("docker")
	text := strings.Join(strings.Fields(terminalOf(t, in, model.Options{Width: 80})), " ")
	short, rest, _ := strings.Cut(text, "machine: ")
	if want := "trials failed: the guest died; its kernel panicked: no root"; strings.Count(short, want) != 1 {
		t.Errorf("%q is not once in %s", want, short)
	}
	if strings.Contains(text, "register") || !strings.Contains(rest, "docker, startup (blocks 1-12): the guest died") {
		t.Errorf("a terminal has a console, or the same failure in several rows:\n%s", rest)
	}
	page := htmlOf(t, in)
	if n, cells := strings.Count(page, "] two"), len(in.Plan.Workloads); n < cells || n > 2*cells {
		t.Errorf("the page has %d consoles for %d workloads", n, cells)
	}
}

package model_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
	"tare/internal/workload"
)

func TestTheNextCommandSuitsTheStateOfTheRun(t *testing.T) {
	run := []string{"bin/tare", "run", "quick", "--budget", "1m", "--only=docker", "--seed=3"}
	verdicts := func(of verdict.Verdict, projection int, workloads ...string) func(*model.Input) {
		return func(in *model.Input) {
			for i := range in.Contrasts {
				if c := &in.Contrasts[i]; c.Primary && c.N > 0 && (len(workloads) == 0 || slices.Contains(workloads, c.Workload)) {
					c.Verdict, c.Projection, c.Leaning = of, projection, ""
				}
			}
		}
	}
	all := func(changes ...func(*model.Input)) func(*model.Input) {
		return func(in *model.Input) {
			for _, change := range changes {
				change(in)
			}
		}
	}
	loud := func(in *model.Input) {
		for i := range in.Trials {
			seconds := .1 * float64(1+in.Trials[i].Block%2)
			in.Trials[i].Pressure = &rundir.Pressure{CanarySeconds: &seconds}
		}
	}
	const explain = "tare explain redis --study quick --from native --to gvisor --budget 5m"
	for _, c := range []struct {
		state, want string
		change      func(*model.Input)
	}{
		{"it did not end", "tare run --resume quick-20261121-014500", func(in *model.Input) { in.Manifest.Sessions[0].Ended = time.Time{} }},
		{"something else differs", "tare parity quick-20261121-014500", func(in *model.Input) { in.Contrasts[0].Warnings = []verdict.Warning{{Code: verdict.Confound}} }},
		{"something else differs from an emulated guest alone", explain, all(verdicts(verdict.Slower, 0), func(in *model.Input) {
			for i := range in.Contrasts {
				if c := &in.Contrasts[i]; c.Environment == "vm" {
					c.Warnings = []verdict.Warning{{Code: verdict.Confound}}
				}
			}
		})},
		{"all is open", "tare run quick --only=docker --blocks 40", verdicts(verdict.Inconclusive, 40)},
		{"a service is open", "tare run quick --only=docker --blocks 40", all(verdicts(verdict.Slower, 0), verdicts(verdict.Inconclusive, 40, "redis"))},
		{"other work is open", explain, all(verdicts(verdict.Slower, 0), verdicts(verdict.Inconclusive, 40, "syscalls"))},
		{"other work is open, and the difference explained", "tare run quick --only=docker --blocks 40", all(verdicts(verdict.Equivalent, 0), verdicts(verdict.Slower, 0, "redis"), verdicts(verdict.Inconclusive, 40, "syscalls"),
			func(in *model.Input) {
				for _, name := range []string{"docker", "gvisor"} {
					in.Explained = append(in.Explained, model.Explained{Run: "explain-1", Workload: "redis", Environment: name})
				}
			})},
		{"a loud machine left things open", "tare rerun quick-20261121-014500", all(verdicts(verdict.Inconclusive, 40), loud)},
		{"a loud machine decided all", "tare report quick-20261121-014500", all(verdicts(verdict.Equivalent, 0), loud)},
		{"a service is open in an emulated guest alone", explain, all(verdicts(verdict.Slower, 0), func(in *model.Input) {
			for i := range in.Contrasts {
				if c := &in.Contrasts[i]; c.Environment == "vm" && c.Workload == "redis" {
					c.Verdict, c.N = verdict.None, 2
				}
			}
		})},
		{"all is open, far away", "tare doctor", verdicts(verdict.Inconclusive, 400)},
		{"all is slower", explain, verdicts(verdict.Slower, 0)},
		{"all is equivalent", "tare report quick-20261121-014500", verdicts(verdict.Equivalent, 0)},
		{"it was imported", "", func(in *model.Input) { in.Manifest.Import = &rundir.Import{} }},
	} {
		in := reporttest.Quick()
		in.Manifest.Command = run
		c.change(&in)
		if next, _ := model.New(in).Next(); next.Command != c.want {
			t.Errorf("%s: the next command is %q, want %q", c.state, next.Command, c.want)
		}
	}
}

func TestMachinesAreCountedByTheCPUTimeOfServices(t *testing.T) {
	for _, l := range model.New(reporttest.Quick()).Layers() {
		want := map[string]string{"docker": "+2.8% to +3.5% in redis; the machines needed change alike where the CPU is the limit; +3.0% over all 10 workloads and levels (geomean)", "gvisor": "; the machines needed change alike where the CPU is the limit", "vm": ""}[l.Name]
		if !strings.Contains(l.CPU, want) || want == "" && l.CPU != "" {
			t.Errorf("%s: %q", l.Name, l.CPU)
		}
	}
}

func TestTheMachineIsCalmOrNoisyAndItsIntervalsSoWide(t *testing.T) {
	for varied, want := range map[float64]string{.02: "calm: its speed varied by 2% over 12 blocks", .4: "noisy: its speed varied by 40% over 12 blocks"} {
		in := reporttest.Quick()
		in.Manifest.Noise = nil
		for i := range in.Trials {
			t := &in.Trials[i]
			seconds := .1 * (1 + varied*float64(t.Block%2))
			t.Pressure = &rundir.Pressure{CanarySeconds: &seconds}
		}
		if got := model.New(in).Health(); !strings.Contains(got, want) || !strings.Contains(got, " intervals are wider than ±") {
			t.Errorf("%s", got)
		}
	}
}

func TestTheLoadSaysWhereItComesFrom(t *testing.T) {
	for place, want := range map[string]string{
		"":                  "redis driven from inside the server's instance, over its loopback: ",
		workload.OnHost:     "redis driven from the host, outside of what is measured, ",
		workload.Apart:      "redis driven from a second instance of the same environment, ",
		workload.InBaseline: "redis driven from an instance of the baseline, ",
	} {
		in := reporttest.Quick()
		for i := range in.Plan.Workloads {
			w := &in.Plan.Workloads[i]
			if w.Name != "redis" {
				w.Pack.Servers = nil
				continue
			}
			w.Pack.Roles = map[string]workload.Role{"driver": {Place: place}}
		}
		if got := model.New(in).Load(); !strings.HasPrefix(got, want) {
			t.Errorf("with the driver at %q: %q, want %q", place, got, want)
		}
	}
}

func TestTheReasonOfAMissingVerdictIsThatOfItsOwnComparisons(t *testing.T) {
	in, n := reporttest.Quick(), 0
	for i := range in.Contrasts {
		c := &in.Contrasts[i]
		if c.Environment != "gvisor" || !c.Primary {
			continue
		}
		switch n++; n {
		case 1:
			c.Withhold([]string{"direct I/O in the sandbox"})
		case 2:
			c.Verdict, c.N = verdict.None, 2
		}
		c.Warnings = append(c.Warnings, verdict.Warning{Code: verdict.Confound})
	}
	for _, l := range model.New(in).Layers() {
		if l.Name != "gvisor" {
			continue
		}
		if want := "; not comparable: direct I/O in the sandbox"; !slices.ContainsFunc(l.Other, func(text string) bool {
			return strings.HasPrefix(text, "no verdict†: ") && strings.HasSuffix(text, want)
		}) {
			t.Errorf("there is no %q in: %q", want, l.Other)
		}
	}
}

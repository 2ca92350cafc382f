package model_test

import (
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
	verdicts := func(of verdict.Verdict, projection int) func(*model.Input) {
		return func(in *model.Input) {
			for i := range in.Contrasts {
				if c := &in.Contrasts[i]; c.Primary && c.N > 0 {
					c.Verdict, c.Projection = of, projection
				}
			}
		}
	}
	for want, change := range map[string]func(*model.Input){
		"tare run --resume quick-20261121-014500":  func(in *model.Input) { in.Manifest.Sessions[0].Ended = time.Time{} },
		"tare parity quick-20261121-014500":        func(in *model.Input) { in.Contrasts[0].Warnings = []verdict.Warning{{Code: verdict.Confound}} },
		"tare run quick --only=docker --blocks 40": verdicts(verdict.Inconclusive, 40),
		"tare doctor": verdicts(verdict.Inconclusive, 400),
		"tare explain startup --study quick --from native --to ": verdicts(verdict.Slower, 0),
		"tare report quick-20261121-014500":                      verdicts(verdict.Equivalent, 0),
		"":                                                       func(in *model.Input) { in.Manifest.Import = &rundir.Import{} },
	} {
		in := reporttest.Quick()
		in.Manifest.Command = run
		change(&in)
		if next, _ := model.New(in).Next(); !strings.HasPrefix(next.Command, want) || want == "" && next.Command != "" {
			t.Errorf("the next command is %q, want %q", next.Command, want)
		}
	}
}

func TestMachinesAreCountedByCPUTime(t *testing.T) {
	in := reporttest.Quick()
	v := model.New(in)
	for name, want := range map[string]string{"docker": "% more machines", "gvisor": "% more machines", "vm": ""} {
		for i := range v.Environments {
			if e := &v.Environments[i]; e.Name == name {
				if text := v.Machines(e); !strings.Contains(text, want) || want == "" && text != "" {
					t.Errorf("%s: %q", name, text)
				}
			}
		}
	}
}

func TestTheLoadSaysWhereItComesFrom(t *testing.T) {
	for place, want := range map[string]string{
		"":                  "redis from inside the server's instance, over its loopback: ",
		workload.OnHost:     "redis from the host, over the path from it to each instance",
		workload.Apart:      "redis from another instance of the same environment, over the path between instances",
		workload.InBaseline: "redis from an instance of the baseline, over the path between instances",
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
	for _, h := range model.New(in).Headlines() {
		if want := "no verdict† in 2 (1 of them not comparable: direct I/O in the sandbox)"; h.Environment == "gvisor" && !strings.Contains(h.Text, want) {
			t.Errorf("there is no %q in: %s", want, h.Text)
		}
	}
}

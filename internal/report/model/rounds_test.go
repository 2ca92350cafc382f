package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/usage"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// alternation is the note on the samples of a run.
func alternation(v *model.Report) string {
	for _, n := range v.Notes {
		if strings.HasPrefix(n.Text, "samples of the environments alternated") {
			return n.Text
		}
	}
	return ""
}

func TestANoteSaysThatSamplesAlternatedAndWhatWasStolen(t *testing.T) {
	in := reporttest.Quick()
	steal := map[string]float64{"native": .001, "docker": .0015, "gvisor": .004}
	for i := range in.Trials {
		r := &in.Trials[i]
		if r.Workload != "nginx" || r.Status != rundir.OK {
			continue
		}
		for n := range 8 {
			round := rundir.Round{Number: n + 1, Metrics: r.Metrics, HostSeconds: .1}
			if s, known := steal[r.Environment]; known {
				round.StealSeconds, r.StealSource = &s, usage.StealCounters
			}
			r.Rounds = append(r.Rounds, round)
		}
		if r.RoundsReason = "one of the first"; r.Block > 3 {
			r.RoundsReason = "a round takes 1s"
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	const other = "samples of the environments alternated, 8 rounds in each block, except in "
	if c := model.RoundsChosen(in.Plan, in.Trials); len(c) != 1 || c[0] != (model.ChosenRounds{Workload: "nginx", Block: 4, Rounds: 8, Reason: "a round takes 1s"}) {
		t.Errorf("chosen: %+v", c)
	}
	v := model.New(in)
	told := alternation(v)
	for _, part := range []string{other, ", chosen by the times of the first blocks and their rounds: 8 in nginx; the hypervisor took 1.0% to 4.0% of a core from them (counted in nanoseconds), and nothing was left out for it; gvisor lost 3.0 percentage points more than native in nginx"} {
		if strings.Count(told, part) != 1 {
			t.Errorf("%q is not once in %q", part, told)
		}
	}
	if strings.Contains(told, "docker lost") {
		t.Errorf("it names an environment that lost about as much as the baseline: %s", told)
	}
	if rows := v.StolenTable(); len(rows) != 1 || !slices.Equal(rows[0].Shares, []string{"1.00%", "1.50%", "4.00%", "", ""}) {
		t.Errorf("what each environment lost: %+v", rows)
	}
	said := 0
	for _, c := range in.Contrasts {
		text := verdict.Wording(c)
		if c.N > 0 && (c.Rounds != nil) != (c.Workload == "nginx") || c.Look > 0 && strings.Contains(text, "blocks of 8 rounds") != (c.Rounds != nil) {
			t.Errorf("%s, %v: %s", c.Workload, c.Rounds, text)
		}
		if c.Rounds != nil {
			said++
		}
	}
	if said == 0 {
		t.Error("no comparison has rounds")
	}
}

func TestANoteSaysWhetherTheLengthOfSamplesBiasesThem(t *testing.T) {
	in := reporttest.Quick()
	in.Plan.Workload("nginx").Pack.Length = &workload.Length{}
	for i := range in.Trials {
		r := &in.Trials[i]
		if r.Workload != "nginx" || r.Status != rundir.OK {
			continue
		}
		for n := range 8 {
			r.Rounds = append(r.Rounds, rundir.Round{Number: n + 1, Metrics: r.Metrics})
		}
	}
	say := func(want ...string) {
		t.Helper()
		in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
		told := fmt.Sprint(model.New(in).Notes)
		for _, w := range want {
			if strings.Count(told, w) != 1 {
				t.Errorf("%q is not once in %s", w, told)
			}
		}
	}
	say("; it is unknown how much the length of the samples biases nginx: there are none of half the length")
	for i := range in.Trials {
		if r := &in.Trials[i]; len(r.Rounds) > 0 {
			rate := r.Metrics["requests"] * map[bool]float64{true: .9, false: 1}[r.Environment == "docker"]
			r.HalfShare, r.HalfRounds = .5, []rundir.Round{{Number: 2, Metrics: map[string]float64{"requests": rate}}}
		}
	}
	say("; the bias by the length of the samples is shown to be within a quarter of the margin in 2 of 3 comparisons, and to exceed it in 1",
		"the length of the samples biases this by -10.0% [-10.0%, -10.0%] (95%), more than a quarter of the margin: samples that are 22 times as long would not")
}

func TestANoteNamesAnEnvironmentThatLeftBlocksToTheOthers(t *testing.T) {
	in := reporttest.Quick()
	in.Plan.Design.Budget = time.Hour
	in.Trials = slices.DeleteFunc(in.Trials, func(r rundir.Trial) bool { return r.Environment == "gvisor" && r.Block == 4 })
	for i := range in.Trials {
		in.Trials[i].Rounds = []rundir.Round{{Number: 1, Metrics: in.Trials[i].Metrics}}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	if told := alternation(model.New(in)); strings.Count(told, "; gvisor, which takes longer than all others together, was in ") != 1 || strings.Contains(told, "docker, which takes longer") {
		t.Errorf("it does not name gvisor alone: %s", told)
	}
}

package report

import (
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

func TestEveryFormatSaysThatSamplesAlternatedAndWhatWasStolen(t *testing.T) {
	in := reporttest.Quick()
	steal := map[string]float64{"native": .001, "docker": .002}
	for i := range in.Trials {
		r := &in.Trials[i]
		if r.Workload != "nginx" || r.Status != rundir.OK {
			continue
		}
		for n := range 8 {
			round := rundir.Round{Number: n + 1, Metrics: r.Metrics, HostSeconds: .1}
			if s, known := steal[r.Environment]; known {
				round.StealSeconds = &s
			}
			r.Rounds = append(r.Rounds, round)
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest.Environments)
	for name, text := range allFormats(t, in) {
		words := strings.Join(strings.Fields(text), " ")
		want := "samples of the environments alternated, 8 rounds in each block; the hypervisor took 1.0% of a core from those of native, 2.0% of a core from those of docker; nothing was left out for it"
		if !strings.Contains(words, want) {
			t.Errorf("%s does not say %q", name, want)
		}
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

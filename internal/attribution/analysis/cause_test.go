package analysis

import (
	"math"
	"strings"
	"testing"

	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
	"tare/internal/verdict"
)

// A part of the network that makes things cheaper has the packet filter for its
// cause where that was seen, and no other part has.
func TestACauseIsGivenOnlyWhereItWasObserved(t *testing.T) {
	differ := []parity.Comparison{{Environment: "r1", Baseline: "from", Workload: "w", Findings: []parity.Finding{{Differences: []parity.Difference{
		{Fact: "network.filter[output]", Baseline: "nat: 1 to 9 rules", Environment: parity.None},
		{Fact: "network.filter[prerouting]", Baseline: "nat: 1 to 9 rules", Environment: parity.None},
		{Fact: "network.interface", Baseline: "lo", Environment: parity.None},
		{Fact: "network.tracked", Baseline: "on", Environment: "off"},
	}}}}}
	elsewhere := []parity.Comparison{differ[0]}
	elsewhere[0].Workload = "another"
	watched := func(from, to float64) (trials []rundir.Trial) {
		for name, seconds := range map[string]float64{"from": from, "r1": to} {
			trials = append(trials, rundir.Trial{Environment: name, Workload: "w", Status: rundir.OK, Traced: true, Metrics: map[string]float64{"operations": 1000},
				Evidence: &evidence.Evidence{Seconds: 1, Times: map[string]usage.Figure{"kernel.netfilter": usage.Known(seconds), "kernel": usage.Known(1)}}})
		}
		return trials
	}
	const gives = "The x part gives 10.5% [10.5, 10.5] more requests per second, 100% of the whole: x: a → b; "
	for name, c := range map[string]struct {
		part   string
		effect float64
		seen   Seen
		want   string
	}{
		"both":            {"network.bridge", .1, Seen{differ, watched(.002, .0005)}, gives + "from passes a packet filter that r1 does not (nat: 1 to 9 rules; connections tracked), and the kernel spent 2.00 µs of an operation in it with from, 500 ns with r1."},
		"the facts alone": {"network", .1, Seen{differ, watched(.002, .002)}, gives + "from passes a packet filter that r1 does not (nat: 1 to 9 rules; connections tracked)."},
		"the time alone":  {"network.bridge", .1, Seen{elsewhere, watched(.002, .0005)}, gives + "in the packet filter the kernel spent 2.00 µs of an operation with from, and 500 ns with r1."},
		"neither":         {"network.bridge", .1, Seen{elsewhere, watched(.002, .003)}, gives + "no cause was measured."},
		"nothing seen":    {"network.bridge", .1, Seen{}, gives + "no cause was measured."},
		"another part":    {"root", .1, Seen{differ, watched(.002, .0005)}, gives + "no cause was measured."},
		"several at once": {"root+network.bridge", .1, Seen{differ, nil}, gives + "from passes a packet filter that r1 does not (nat: 1 to 9 rules; connections tracked)."},
		"a cost":          {"network.bridge", -.1, Seen{differ, watched(.002, .0005)}, "The x part costs 9.5% [9.5, 9.5] of requests per second, 100% of the whole: what it does."},
	} {
		t.Run(name, func(t *testing.T) {
			p := climbPlan("higher", c.part)
			p.Workloads[0].Pack.Operations = "operations"
			p.Steps[0].Name, p.Steps[0].About, p.Steps[0].Switched = "x part", "what it does", "x: a → b"
			trials := measured(p, 12, 1, 0, map[string]float64{"r1": c.effect})
			a := Of(p, trials, verdict.Contrasts(p, trials, rundir.Manifest{}), c.seen)[0]
			if len(a.Sentences) != 1 || a.Sentences[0] != c.want {
				t.Errorf("%q, want %q", a.Sentences, c.want)
			}
		})
	}
}

// The rest is what nothing explains, with or without a cause.
func TestTheRestHasNoCause(t *testing.T) {
	p := climbPlan("higher", RestPart)
	a := analysed(t, p, measured(p, 12, 1, 0, map[string]float64{"r1": .1}))
	if len(a.Sentences) != 1 || strings.Contains(a.Sentences[0], noCause) {
		t.Errorf("%q", a.Sentences)
	}
}

// A part that stands at one place in all orders has no range over them.
func TestOnlyAPartOfSeveralOrdersHasARange(t *testing.T) {
	p := climbPlan("higher", "a", "b", "c")
	steps := p.Steps[:3:3]
	second := []study.Step{steps[0], {Part: "c", Name: "c part", Environment: "r4", Base: "r1", Order: 2}, {Part: "b", Name: "b part", Environment: "r3", Base: "r4", Order: 2}}
	for i := range steps {
		steps[i].Order = 1
	}
	second[0].Order = 2
	p.Environments = append(p.Environments, study.Environment{Name: "r4"})
	p.Steps = append(append(steps, second...), study.Step{Name: "all parts", Environment: "r3", Base: "from"})
	a := analysed(t, p, measured(p, 12, 1, 0, map[string]float64{"r1": -.1, "r2": -.2, "r3": -.4, "r4": -.25}))
	for _, s := range a.Parts {
		if ranged := s.Least != nil; ranged != (s.Part != "a") || ranged && math.Abs(*s.Most-*s.Least) < .04 {
			t.Errorf("%s: from %v to %v", s.Part, s.Least, s.Most)
		}
	}
}

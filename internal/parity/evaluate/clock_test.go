package evaluate

import (
	"slices"
	"testing"

	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/verdict"
)

func TestAClockThatIsOffTakesTheVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		rates     []float64
		uncertain float64
		accept    []string
		withheld  bool
	}{
		"off by more than the margin":      {rates: []float64{.93, .95, .9}, uncertain: .002, withheld: true},
		"off by less than the margin":      {rates: []float64{.985, .985, .9}, uncertain: .002},
		"off by less than can be known":    {rates: []float64{.95, .96, .93}, uncertain: .2},
		"off, and the study asks for that": {rates: []float64{.93, .95, .9}, uncertain: .002, accept: []string{"clock of the instance"}},
	} {
		p := planned(t)
		p.Design.Margin, p.Accept = .02, c.accept
		var trials []rundir.Trial
		for i, rate := range c.rates {
			trials = append(trials,
				rundir.Trial{Block: i, Environment: "native", Workload: "cpu", Level: "size=1", Status: rundir.OK, ClockRate: 1.0001, ClockUncertain: c.uncertain},
				rundir.Trial{Block: i, Environment: "usual", Workload: "cpu", Level: "size=1", Status: rundir.OK, ClockRate: rate, ClockUncertain: c.uncertain})
		}
		b := New(p, prints(map[string]string{"native": "ext4", "usual": "ext4"}), trials, unlabelled)
		contrast := verdict.Contrast{Baseline: "native", Environment: "usual", Workload: "cpu", Level: "size=1", Metric: "rate", Verdict: verdict.Slower, N: 6}
		if got := b.Mark([]verdict.Contrast{contrast})[0]; got.Withheld() != c.withheld || got.Confounded() != c.withheld {
			t.Errorf("%s: %+v", name, got)
		}
		whole, _ := b.Between(subject.Cell{Environment: "usual", Workload: "cpu"}, "native")
		if listed := slices.Contains(Names(whole.Confounds()), "clock of the instance"); listed != c.withheld {
			t.Errorf("%s: the comparison of all levels lists %q", name, Names(whole.Confounds()))
		}
	}
}

package verdict

import (
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/workload"
)

// failed gives the trials of an environment these shares of failed operations, by block.
func failed(trials []rundir.Trial, environment string, shares ...float64) []rundir.Trial {
	for i := range trials {
		if t := &trials[i]; t.Environment == environment {
			share := shares[(t.Block-1)%len(shares)]
			if t.Metrics[workload.ErrorRatio] = share; share == 1 {
				t.Metrics = map[string]float64{workload.ErrorRatio: 1}
			}
		}
	}
	return trials
}

func TestWhatFailsMoreHasNoVerdictOnSpeed(t *testing.T) {
	for what, c := range map[string]struct {
		native, docker []float64
		want           string // "" for a verdict
	}{
		"nothing":                           {[]float64{0}, []float64{0}, ""},
		"everything in docker":              {[]float64{0}, []float64{1}, "not compared: 100% of the operations failed in docker"},
		"everything natively":               {[]float64{1}, []float64{.01}, "not compared: 100% of the operations failed in native, and 1% on the other side"},
		"some in each block of docker":      {[]float64{0}, []float64{.2, .3}, "not compared: 25.0% of the operations failed in docker"},
		"as many on both sides":             {[]float64{.1, .2, .3, .2}, []float64{.2, .1, .2, .3}, ""},
		"all of one block, none of others":  {[]float64{0}, []float64{0, 0, 0, .9, 0, 0, 0, 0}, ""},
		"one of a million, and in one only": {[]float64{0}, []float64{1e-6, 0, 0, 0, 0, 0, 0, 0}, ""},
	} {
		p := planOf(usual, "native", "docker")
		p.Workloads[0].Pack.Metrics = append(p.Workloads[0].Pack.Metrics, workload.ErrorMetric)
		trials := trialsOf("time", map[string][]float64{"native": noisy(8, 100, .01, 1), "docker": noisy(8, 50, .01, 2)})
		trials = failed(failed(trials, "native", c.native...), "docker", c.docker...)
		all := Contrasts(p, trials, rundir.Manifest{})
		got := contrastOf(t, all, "time")
		switch {
		case c.want == "" && (got.Verdict != Faster || !got.Reason.IsZero()):
			t.Errorf("%s failed: %s, %s", what, got.Verdict, got.Reason)
		case c.want != "" && (got.Verdict != None || got.Reason.String() != c.want || got.Bounded() || !got.NoRatio() || got.N != 0):
			t.Errorf("%s failed: %s, %q, want %q", what, got.Verdict, got.Reason, c.want)
		case c.want != "" && !strings.HasSuffix(Wording(got), c.want):
			t.Errorf("%s failed: %s", what, Wording(got))
		}
		if share := contrastOf(t, all, workload.ErrorRatio); share.Verdict != None || !share.NoRatio() {
			t.Errorf("%s failed: the share has the verdict %s", what, share.Verdict)
		}
	}
}

func TestARunThatFailsMoreIsNotComparedWithAnother(t *testing.T) {
	first, second := costing(12, 100, .9, .005), costing(12, 100, .5, .005)
	moved := Compare(comparedPlan("lower"), first, failed(failed(second, "docker", .3), "native", 0))
	if len(moved) != 1 || moved[0].Verdict != None || moved[0].Shift.Bounded() || moved[0].Reason.String() != "not compared: 30.0% of the operations failed in docker" {
		t.Errorf("%+v", moved)
	}
}

func TestSharesOfFailuresAreNeverRoundedToNoneOrAll(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 1: "100%", .9999: "over 99.9%", .123: "12.3%", .012: "1.2%", .00001234: "0.0012%", .1: "10.0%"} {
		if got := ShareText(share); got != want {
			t.Errorf("%v is %s, want %s", share, got, want)
		}
	}
}

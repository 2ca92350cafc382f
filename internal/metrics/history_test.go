package metrics_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/metrics"
	"tare/internal/rundir"
	"tare/internal/testing/metricstest"
	"tare/internal/testing/prometheustest"
	"tare/internal/usage"
)

func past() metrics.Past {
	trials := metricstest.Trials()
	return metrics.Past{Manifest: metricstest.Manifest(), Plan: metricstest.Plan(), Trials: trials, Contrasts: metricstest.Contrasts(trials)}
}

func text(t *testing.T, p metrics.Past) string {
	t.Helper()
	var out bytes.Buffer
	if err := metrics.Text(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// stored is a Prometheus that has taken up the text of a finished run.
func stored(t *testing.T, text string) *prometheustest.Server {
	t.Helper()
	prometheustest.Needs(t)
	file, storage := filepath.Join(t.TempDir(), "run.openmetrics"), filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	prometheustest.Promtool(t, "", "tsdb", "create-blocks-from", "openmetrics", file, storage)
	return prometheustest.Serve(t, storage)
}

func one(t *testing.T, s *prometheustest.Server, expression string, at time.Time) float64 {
	t.Helper()
	got := s.Query(t, expression, at)
	if len(got) != 1 {
		t.Fatalf("%s has %d series, want 1: %v", expression, len(got), got)
	}
	return got[0]
}

func TestPrometheusTakesUpAFinishedRunAndAnswersForItsTime(t *testing.T) {
	p := past()
	s := stored(t, text(t, p))
	first, last := p.Trials[0], p.Trials[len(p.Trials)-1]
	of := `{run="` + metricstest.Name + `",environment="native",workload="redis"`
	if got := one(t, s, `tare_trial_metric`+of+`,level="clients=1",metric="get",unit="requests/s"}`, first.Ended); got != first.Metrics["get"] {
		t.Errorf("the metric of the first trial is %v, want %v", got, first.Metrics["get"])
	}
	if got := one(t, s, `tare_environment_cpu_user_seconds_total`+of+`}`, last.Ended); got != metricstest.Blocks*2 {
		t.Errorf("user time in the end is %v, want %v", got, metricstest.Blocks*2)
	}
	contrast := `tare_contrast_ratio{environment="docker",level="clients=10",metric="get"}`
	if got, want := one(t, s, contrast, last.Ended), p.Contrasts[len(p.Contrasts)/2].Ratio().Estimate; math.Abs(got-.9) > .01 {
		t.Errorf("the ratio is %v, want about 0.9 (%v)", got, want)
	}
	if got := one(t, s, `tare_contrast_verdict{environment="docker",level="clients=10",metric="get"} == 1`, last.Ended); got != 1 {
		t.Error("no verdict in the end")
	}
	if got := s.Query(t, contrast, metricstest.Began.Add(-time.Minute)); len(got) > 0 {
		t.Errorf("the contrast is known before the run: %v", got)
	}
}

func TestLooksAreShownWithTheirTimes(t *testing.T) {
	p := past()
	p.Trials = p.Trials[:2]
	p.Readings = func(trial rundir.Trial) ([]metrics.Watching, error) {
		var seen []usage.Reading
		for i := range 21 {
			seen = append(seen, metricstest.Reading(float64(i)/10))
		}
		return []metrics.Watching{{Began: trial.Started, Readings: seen}}, nil
	}
	s := stored(t, text(t, p))
	name := `tare_environment_disk_written_bytes_total{environment="native",workload="redis"}`
	for seconds, want := range map[float64]float64{0: 0, 1: .5, 1.5: .75, 2: 1, 4: 1.5, 5: 2} {
		if got := one(t, s, name, metricstest.Began.Add(time.Duration(seconds*float64(time.Second)))); got != want {
			t.Errorf("after %v s %v bytes were written, want %v", seconds, got, want)
		}
	}
	if got := one(t, s, `tare_environment_memory_bytes{environment="native"}`, metricstest.Began.Add(time.Second)); got != 1 {
		t.Errorf("memory is %v, want 1", got)
	}
}

func TestTheTextIsTheSameEachTimeAndEnds(t *testing.T) {
	a, b := text(t, past()), text(t, past())
	if a != b {
		t.Error("two texts of the same run differ")
	}
	if !strings.HasSuffix(a, "\n# EOF\n") {
		t.Errorf("the text ends in %q", a[len(a)-20:])
	}
}

func TestARunWithoutTimesIsRefused(t *testing.T) {
	p := past()
	p.Trials = nil
	if err := metrics.Text(&bytes.Buffer{}, p); err == nil || !strings.Contains(fmt.Sprint(err), "no trial") {
		t.Errorf("got %v", err)
	}
}

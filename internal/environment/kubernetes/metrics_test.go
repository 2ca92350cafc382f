package kubernetes

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/testing/clustertest"
	"tare/internal/testing/needs"
	"tare/internal/usage"
)

// As metrics-server answers.
const podMetrics = `{"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"name":"p","namespace":"tare","creationTimestamp":"2026-11-24T00:00:20Z"},
"timestamp":"2026-11-24T00:00:12Z","window":"15.25s","containers":[{"name":"workload","usage":{"cpu":"1500m","memory":"1024Ki"}},{"name":"other","usage":{"cpu":"250000000n","memory":"1Mi"}}]}`

func TestAWindowOfTheMetricsAPIIsTheSumOfItsContainers(t *testing.T) {
	w, err := readWindow([]byte(podMetrics))
	if err != nil || w.cores != 1.75 || w.workingSet != 2<<20 || w.length != 15250*time.Millisecond || !w.end.Equal(time.Date(2026, 11, 24, 0, 0, 12, 0, time.UTC)) {
		t.Errorf("%+v, %v", w, err)
	}
	for _, text := range []string{"", "{}", `{"timestamp": "2026-11-24T00:00:12Z", "window": "0s"}`, `{"timestamp": "2026-11-24T00:00:12Z", "window": "15s", "containers": []}`} {
		if _, err := readWindow([]byte(text)); err == nil {
			t.Errorf("%q is a window", text)
		}
	}
}

func TestOnlyWindowsWithinATrialCount(t *testing.T) {
	from := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	at := func(seconds int, cores float64) window {
		return window{end: from.Add(time.Duration(seconds) * time.Second), length: 15 * time.Second, cores: cores, workingSet: cores * 100}
	}
	absent := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
	for name, c := range map[string]struct {
		seen   []window
		took   time.Duration
		failed error
		cpu    float64
		why    string
	}{
		"most of the trial":        {[]window{at(5, 4), at(20, 1), at(35, 2), at(50, 8)}, 40 * time.Second, nil, 60, ""},
		"a trial of a window":      {[]window{at(15, 2)}, 15 * time.Second, nil, 30, ""},
		"a trial that is shorter":  {[]window{at(5, 4), at(20, 4)}, 10 * time.Second, nil, 0, "windows of up to 15s, and those within the 10s that were measured cover 0s"},
		"too little of the trial":  {[]window{at(20, 1)}, 40 * time.Second, nil, 0, "cover 15s of it"},
		"no window yet":            {nil, 20 * time.Second, absent, 0, "had nothing about the pod yet"},
		"a request that is failed": {nil, 20 * time.Second, errors.New("forbidden"), 0, "asking the metrics API: forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			used := ofWindows(c.seen, from, from.Add(c.took), c.failed)
			if cpu := used.CPU(); math.Abs(cpu.Value-c.cpu) > 1e-9 || (c.why == "") != (cpu.Missing == "") || !strings.Contains(cpu.Missing, c.why) {
				t.Errorf("CPU time %+v", cpu)
			}
			if c.why == "" && (math.Abs(used.Working().Value-100*c.cpu/c.took.Seconds()) > 1e-9 || len(used.Notes) != 1) {
				t.Errorf("%+v, notes %q", used.Working(), used.Notes)
			}
			for _, f := range []usage.Figure{used.CPUUser, used.CPUThrottled, used.MinorFaults, used.MemoryMean, used.MemorySeconds, used.DiskRead, used.NetSent} {
				if !strings.Contains(f.Missing, "the metrics API has only") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestWindowsOfAnotherClockAreNotUsed(t *testing.T) {
	after := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	before := after.Add(1500 * time.Millisecond)
	for offset, want := range map[time.Duration]bool{0: false, time.Second: false, -time.Second: false, time.Minute: true, -time.Minute: true} {
		why := clocksDiffer(after.Add(offset).Truncate(time.Second), after, before)
		if (why != "") != want || want && !strings.Contains(why, "by 5") && !strings.Contains(why, "by 1m") {
			t.Errorf("%v apart: %q", offset, why)
		}
	}
}

func TestAPodIsMeteredThroughTheMetricsAPI(t *testing.T) {
	s := setUp(t)
	needs.Cluster(t)
	needs.LongForm(t, "windows of metrics-server take 15 seconds")
	p := s.environment(t, func(o *Options) { o.Usage = "metrics" })
	state, findings := environment.Check(t.Context(), kind, &p.options)
	if last := findings[len(findings)-1]; state != environment.Missing || !strings.Contains(last.Fix.String(), "role-metrics.yaml") {
		t.Errorf("without the permission: %s, %+v", state, last)
	}
	kubectl(t, "", "apply", "-n", clustertest.Namespace, "-f", "../../../deploy/kubernetes/role-metrics.yaml")
	if state, findings = environment.Check(t.Context(), kind, &p.options); state == environment.Missing {
		t.Fatalf("%+v", findings)
	}
	r := s.request("averaged")
	r.Limits = environment.Limits{CPUs: 1, Memory: 256 << 20}
	i, err := p.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(t.Context())
	if _, err := environment.CheckLimits(t.Context(), i, r.Limits); err != nil {
		t.Error(err)
	}
	short := environment.Meter(i, usage.Options{})
	work(t, i)
	if cpu := short.Stop().CPU(); !strings.Contains(cpu.Missing, "the metrics API") {
		t.Errorf("of less than a window: %+v", cpu)
	}
	meter := environment.Meter(i, usage.Options{})
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"timeout", "50", "sh", "-c", "while :; do :; done"}})
	used := meter.Stop()
	if err != nil {
		t.Fatal(err)
	}
	took := (exit.User + exit.System).Seconds()
	t.Logf("%.1f s of %v: %+v, working set %+v, %q", took, exit.Elapsed(), used.CPU(), used.Working(), used.Notes)
	// The windows cover most of the loop, which does not get the same share all the time.
	if cpu := used.CPU(); cpu.Missing != "" || cpu.Value < .7*took || cpu.Value > 1.3*took {
		t.Errorf("a loop of %.1f s of CPU time took %+v", took, cpu)
	}
	if w := used.Working(); w.Missing != "" || w.Value < 1<<20 || w.Value > 256<<20 {
		t.Errorf("its working set is %+v", w)
	}
}

package study

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/workload"
)

func TestAWorkloadCanRestBetweenLevelsAndAScaleCanRestLess(t *testing.T) {
	text := "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis, clients: [1, 2], pause: 60s}]\nscales: {small: {workloads: {redis: {pause: 200ms}}}}\n"
	for scale, want := range map[string]time.Duration{"": time.Minute, "small": 200 * time.Millisecond} {
		plan, err := resolveText(t, text, Overrides{Scale: scale})
		if err != nil || plan.Workloads[0].Pause != want {
			t.Errorf("%q: %+v, %v; want %v", scale, plan, err, want)
		}
	}
	if _, err := resolveText(t, strings.Replace(text, "60s", "2h", 1), Overrides{}); err == nil || !strings.Contains(err.Error(), "pause: needs a time from 0s to 1h0m0s") {
		t.Error(err)
	}
}

func TestUseAsAWholeIsAMetricWhereTheStudyAsks(t *testing.T) {
	text := "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis}, {use: iozone}]\nsampling: {usage: USAGE}\n"
	for usage, want := range map[string]bool{"true": true, "false": false} {
		plan, err := resolveText(t, strings.Replace(text, "USAGE", usage, 1), Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range plan.Workloads {
			for _, name := range []string{"cpu_percent", "memory_peak", "bytes_read"} {
				if got := slices.ContainsFunc(w.Pack.Metrics, func(m workload.Metric) bool { return m.Name == name && m.Better == "lower" && !m.Primary }); got != want {
					t.Errorf("usage: %s: %s has %s: %v", usage, w.Name, name, got)
				}
			}
		}
	}
}

package schedule

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/workload/capacity"
)

// What runs at a share of the capacity comes after the search that finds it, whatever the
// order of the other workloads, and a search has a fixed number of rounds.
func TestASearchComesBeforeWhatItsCapacityIsFor(t *testing.T) {
	for _, fresh := range []string{"block", "trial"} {
		p := chosen(planOf(tenBlocks, []string{"native", "docker"}, "web-at-load:"+fresh, "cpu:"+fresh, "web:"+fresh))
		p.Workloads[0].Levels[0].Load = &study.AtLoad{Share: .7, Workload: "web"}
		p.Workloads[2].Find = &study.Find{}
		l := newLab(.01, .01)
		for _, name := range []string{"native", "docker"} {
			l.start[name], l.sample[name] = time.Second, time.Second
		}
		searched, loaded := 0, 0
		for _, one := range playRounds(t, schedule(t, p), l) {
			switch one.Workload {
			case "web":
				if searched++; len(one.Rounds) != capacity.Probes {
					t.Errorf("fresh: %s: a search of %d probes", fresh, len(one.Rounds))
				}
				if want := 2 * (one.Block - 1); loaded != want {
					t.Errorf("fresh: %s: in block %d the load comes before the search", fresh, one.Block)
				}
			case "web-at-load":
				loaded++
			}
		}
		if searched != 20 || loaded != 20 {
			t.Errorf("fresh: %s: %d searches and %d loads", fresh, searched, loaded)
		}
	}
}

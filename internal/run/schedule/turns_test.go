package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/verdict"
)

// inBlocks are the workloads and environments of each block, in the order of the
// plan.
func inBlocks(trials []rundir.Trial) map[int]string {
	blocks := map[int][]string{}
	for _, t := range trials {
		blocks[t.Block] = append(blocks[t.Block], t.Workload+"/"+t.Environment)
	}
	lines := map[int]string{}
	for n, names := range blocks {
		slices.Sort(names)
		lines[n] = strings.Join(names, " ")
	}
	return lines
}

// Only the workload that does not fit is split; the baseline is in each block.
func TestEnvironmentsThatDoNotFitTakeTurns(t *testing.T) {
	p := crowded(alternating(planOf(study.Blocks{Min: 3, Max: 3, Fixed: true}, []string{"a", "b", "c", "d"}, "cpu:block", "large:block")), 7)
	p.Workloads[1].Levels[0].Shape.Copies = 2
	s := schedule(t, p)
	e := s.Expected(nil)
	trials := play(t, s, newWorld(noise(1, .01, nil)))
	got := inBlocks(trials)
	odd, even := "cpu/a cpu/b cpu/c cpu/d large/a large/b large/c", "large/a large/d"
	want := map[int]string{1: odd, 2: even, 3: odd, 4: even, 5: odd, 6: even}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	if e.MinBlocks != 6 || e.MinTrials != len(trials) || s.Progress(0).MaxBlock != 6 || s.Progress(0).Open != 0 {
		t.Errorf("%+v expected, %d trials made, %+v", e, len(trials), s.Progress(0))
	}
	for _, c := range s.Contrasts() {
		if c.N != 3 || c.Open {
			t.Errorf("%s in %s has %d blocks, open: %t", c.Workload, c.Environment, c.N, c.Open)
		}
	}
	if !strings.HasPrefix(s.Why(), "all 6 blocks are done") {
		t.Error(s.Why())
	}
}

// A turn without an open verdict is left out, and those of others go on.
func TestTheTurnOfDecidedEnvironmentsIsLeftOut(t *testing.T) {
	p := crowded(alternating(planOf(study.Blocks{Min: 2, Max: 60}, []string{"a", "b", "c"}, "cpu:block")), 3)
	p.AvailableMemory = 2
	p.Environments[0].Limits.Memory, p.Environments[1].Limits.Memory, p.Environments[2].Limits.Memory = 0, 2, 2
	s := schedule(t, p)
	trials := play(t, s, newWorld(func(slot Slot) float64 {
		if slot.Environment == "b" {
			return noise(1, .001, map[string]float64{"b": .5})(slot)
		}
		return noise(1, .3, nil)(slot)
	}))
	last := map[string]int{}
	for _, trial := range trials {
		last[trial.Environment] = max(last[trial.Environment], trial.Block)
	}
	for _, c := range s.Contrasts() {
		if c.Open || c.Environment == "b" && c.Verdict == verdict.None {
			t.Errorf("%+v", c)
		}
	}
	if last["b"] >= last["c"] || last["c"] != last["a"] || last["c"]%2 != 0 {
		t.Errorf("the last blocks are %v", last)
	}
}

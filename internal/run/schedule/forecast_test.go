package schedule

import (
	"math/rand/v2"
	"testing"
	"time"

	"tare/internal/subject"
	"tare/internal/verdict"
)

func TestWhatABudgetIsLikelyToGiveIsSaidAfterTheFirstBlock(t *testing.T) {
	for budget, want := range map[time.Duration]string{
		10 * time.Minute: "planned from the first block: about 15 blocks of 38s in 10m0s; rounds of samples: 28",
		2 * time.Minute:  "planned from the first block: about 3 blocks of 32s in 2m0s; rounds of samples: 8; probably too little time for these, with what each would take: cpu in vm (3m30s), cpu in docker (5m30s)",
	} {
		p := chosen(planOf(upTo60, []string{"native", "docker", "vm"}, "cpu:block"))
		p.Design.Budget = budget
		l := newLab(.02, .02)
		for _, e := range p.Environments {
			l.start[e.Name], l.sample[e.Name] = 10*time.Second, 100*time.Millisecond
		}
		s := schedule(t, p)
		for block := 1; block < 3; {
			b, _ := s.NextBatch(l.now.Sub(began))
			block = b.Slots[0].Block + 1
			got, from := s.Forecast(l.now.Sub(began))
			if block == 2 && (got != "" || from != 0) || block == 3 && (got != want || from != 1) {
				t.Errorf("block %d: %s", block-1, got)
			}
			for _, trial := range l.make(b) {
				s.Record(trial)
			}
		}
	}
}

func TestABudgetIsNotProposedForMoreBlocksThanTheStudyAllows(t *testing.T) {
	p := chosen(planOf(upTo60, []string{"native", "docker", "vm"}, "cpu:block"))
	p.Design.Budget = time.Minute
	f := &forecast{Schedule: schedule(t, p)}
	docker, vm := subject.Cell{Environment: "docker", Workload: "cpu"}, subject.Cell{Environment: "vm", Workload: "cpu"}
	if got, want := f.tooLittleFor([]lacking{{docker, 95 * time.Second}, {vm, 0}}), "; probably too little time for these, with what each would take: cpu in docker (2m0s), cpu in vm (more than 60 blocks)"; got != want {
		t.Errorf("%s", got)
	}
}

// The first block tells how noisy rounds are, and the first ones how much blocks differ. What
// is said to lack time mostly does, and little else does.
func TestWhichVerdictsLackTimeIsForetold(t *testing.T) {
	type count struct{ lacked, said, right int }
	counts := map[int]*count{1: {}, 3: {}}
	for seed := range 40 {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		p := chosen(planOf(upTo60, []string{"native", "docker", "gvisor", "vm"}, "cpu:block", "redis:block"))
		p.Design.Budget, p.Seed = time.Duration(2+rng.IntN(8))*time.Minute, uint64(seed)
		noise := []float64{.003, .01, .03}[rng.IntN(3)]
		l := newLab(noise, noise*(1.5+4*rng.Float64()))
		l.rng, l.effect = rng, map[string]float64{"docker": .01, "gvisor": .06, "vm": 1}
		for _, e := range p.Environments {
			l.start[e.Name], l.sample[e.Name] = time.Second, 100*time.Millisecond
		}
		s := schedule(t, p)
		said := map[int]map[subject.Cell]bool{}
		for {
			b, ok := s.NextBatch(l.now.Sub(began))
			if !ok {
				break
			}
			if f := s.forecast(l.now.Sub(began)); f != nil && said[f.from] == nil {
				said[f.from] = map[subject.Cell]bool{}
				for _, one := range f.short() {
					said[f.from][one.Cell] = true
				}
			}
			for _, trial := range l.make(b) {
				s.Record(trial)
			}
		}
		for from, c := range counts {
			for _, k := range s.Contrasts() {
				lacks := !k.Precise || k.Verdict == verdict.Inconclusive || k.Verdict == verdict.None
				if lacks {
					c.lacked++
				}
				if said[from][k.Figure().Cell] {
					c.said++
					if lacks {
						c.right++
					}
				}
			}
		}
	}
	for from, c := range counts {
		t.Logf("from %d: %d of 240 lacked time; it was said of %d, and right for %d", from, c.lacked, c.said, c.right)
		if 2*c.right < c.lacked || 2*c.right < c.said {
			t.Errorf("from %d blocks: %+v", from, *c)
		}
	}
}

package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/image"
	"tare/internal/image/origin"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// planOf has the environments, the first of which is the baseline, and the
// workloads, each written name:fresh or name:fresh:startup.
func planOf(blocks study.Blocks, environments []string, workloads ...string) *study.Plan {
	p := &study.Plan{Baseline: environments[0], Seed: 7, Design: study.Design{Order: "interleaved", Blocks: blocks,
		Margin: .02, Confidence: .95, Precision: .25, Family: "metric", Drop: "decided"}}
	for _, e := range environments {
		p.Environments = append(p.Environments, study.Environment{Name: e})
	}
	for _, w := range workloads {
		f := strings.Split(w, ":")
		p.Workloads = append(p.Workloads, study.Workload{Name: f[0], Fresh: f[1], Levels: []study.Level{{}}, Pack: workload.Pack{Startup: len(f) > 2,
			Metrics: []workload.Metric{{Name: "time", Unit: "s", Better: "lower", Primary: true}}}})
	}
	return p
}

// alternating has four rounds in each block.
func alternating(p *study.Plan) *study.Plan {
	p.Design.Order, p.Design.Rounds, p.Design.Waiting = study.Alternating, 4, "idle"
	return p
}

func schedule(t fataler, p *study.Plan) *Schedule {
	t.Helper()
	var usable []string
	for _, e := range p.Environments {
		usable = append(usable, e.Name)
	}
	s, err := New(p, usable)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type fataler interface {
	Helper()
	Fatal(...any)
}

// world makes trials: how long something takes in an environment, and whether
// it fails. starts is how long a start takes; nil is no time.
type world struct {
	value  func(Slot) float64
	starts func(Slot) time.Duration
	fails  func(Slot) bool
	took   time.Duration
	now    time.Time
}

func (w *world) run(slot Slot) rundir.Trial {
	t := rundir.Trial{Block: slot.Block, Position: slot.Position, Environment: slot.Environment, Workload: slot.Workload, Level: slot.Level,
		Status: rundir.OK, Traced: slot.Traced, Started: w.now, Ended: w.now.Add(w.took)}
	w.now = t.Ended
	if w.fails != nil && w.fails(slot) {
		t.Status, t.Reason = rundir.Failed, "it broke"
		return t
	}
	t.Metrics = map[string]float64{"time": w.value(slot)}
	for n := range slot.Rounds {
		t.Rounds = append(t.Rounds, rundir.Round{Number: n + 1})
		if w.starts != nil {
			t.HostSeconds += w.starts(slot).Seconds()
		}
	}
	return t
}

var began = time.Unix(1_000_000_000, 0)

func newWorld(value func(Slot) float64) *world {
	return &world{value: value, took: time.Second, now: began}
}

// play runs a schedule to its end, from what was recorded before.
func play(t fataler, s *Schedule, w *world) []rundir.Trial {
	t.Helper()
	var journal []rundir.Trial
	for {
		batch, ok := s.NextBatch(w.now.Sub(began))
		if !ok {
			return journal
		}
		if again, _ := s.NextBatch(w.now.Sub(began)); !reflect.DeepEqual(again, batch) {
			t.Fatal("asked twice, NextBatch gave", batch, "and", again)
		}
		var trials []rundir.Trial
		for _, slot := range batch.Slots {
			trials = append(trials, w.run(slot))
		}
		for _, trial := range trials {
			s.Record(trial)
		}
		if journal = append(journal, trials...); len(journal) > 20000 {
			t.Fatal("the schedule does not end")
		}
	}
}

// noise is reproducible: the same trial takes the same time whenever it is run.
func noise(seed uint64, sd float64, effect map[string]float64) func(Slot) float64 {
	return func(s Slot) float64 {
		h := seed
		for _, r := range fmt.Sprint(s.Block, s.Environment, s.Workload, s.Level) {
			h = (h ^ uint64(r)) * 1099511628211
		}
		return math.Exp(effect[s.Environment] + sd*rand.New(rand.NewPCG(h, 1)).NormFloat64())
	}
}

func words(trials []rundir.Trial) string {
	var lines []string
	block := 0
	for _, t := range trials {
		if t.Block != block {
			lines, block = append(lines, fmt.Sprintf("%d:", t.Block)), t.Block
		}
		lines[len(lines)-1] += " " + t.Environment + "/" + t.Workload
	}
	return strings.Join(lines, "\n")
}

var two = study.Blocks{Min: 2, Max: 2, Fixed: true}

// These orders follow from the seed alone. If one changes, runs that were begun
// with an earlier version do not resume as they began.
func TestOrdersFollowFromTheSeed(t *testing.T) {
	three := []string{"native", "docker", "vm"}
	for _, c := range []struct {
		name string
		plan *study.Plan
		want string
	}{
		{"an instance a block, its start first", planOf(two, three, "start:block:startup", "cpu:block", "disk:block"), `
1: vm/start vm/disk vm/cpu native/start native/disk native/cpu docker/start docker/cpu docker/disk
2: native/start native/disk native/cpu vm/start vm/cpu vm/disk docker/start docker/disk docker/cpu`},
		{"an instance a trial, the environments of a cell adjacent", planOf(two, three, "cpu:trial", "disk:trial"), `
1: vm/cpu native/cpu docker/cpu vm/disk native/disk docker/disk
2: docker/cpu native/cpu vm/cpu vm/disk native/disk docker/disk`},
		{"mixed", planOf(two, three, "start:trial:startup", "cpu:block", "disk:block", "db:trial"), `
1: native/disk native/cpu vm/cpu vm/disk docker/disk docker/cpu vm/start native/start docker/start vm/db docker/db native/db
2: native/start vm/start docker/start docker/cpu docker/disk vm/cpu vm/disk native/disk native/cpu docker/db vm/db native/db`},
		{"one instance for all", planOf(two, three, "cpu:run", "disk:run"), `
1: vm/disk vm/cpu native/cpu native/disk docker/disk docker/cpu
2: native/disk native/cpu vm/cpu vm/disk docker/disk docker/cpu`},
		{"alternating, an instance a block", alternating(planOf(two, three, "start:block:startup", "cpu:block", "disk:block")), `
1: docker/start vm/start native/start docker/disk vm/disk native/disk docker/cpu native/cpu vm/cpu
2: native/start vm/start docker/start native/disk vm/disk docker/disk native/cpu docker/cpu vm/cpu`},
		{"alternating, mixed", alternating(planOf(two, three, "cpu:block", "disk:run", "db:trial")), `
1: docker/disk vm/disk native/disk native/db vm/db docker/db docker/cpu native/cpu vm/cpu
2: native/db vm/db docker/db native/disk vm/disk docker/disk native/cpu docker/cpu vm/cpu`},
		{"sequential", func() *study.Plan {
			p := planOf(two, three, "cpu:block", "disk:block")
			p.Design.Order = "sequential"
			return p
		}(), `
1: native/disk native/cpu
2: native/disk native/cpu
1: docker/disk docker/cpu
2: docker/disk docker/cpu
1: vm/cpu vm/disk
2: vm/disk vm/cpu`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := words(play(t, schedule(t, c.plan), newWorld(noise(1, .1, nil))))
			if got != strings.TrimSpace(c.want) {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

func TestWhatNeedsNoImageIsFirstInTheFirstBlock(t *testing.T) {
	p := planOf(study.Blocks{Min: 6, Max: 6, Fixed: true}, []string{"native", "docker"}, "first:block", "built:block", "second:block", "too:block")
	p = alternating(p)
	p.Images = map[string]image.Source{"own": {Reference: origin.Own}}
	for i := range p.Workloads {
		p.Workloads[i].Levels[0].Shape = study.Shape{Copies: 1, Together: true}
		if p.Workloads[i].Name == "first" || p.Workloads[i].Name == "second" {
			p.Workloads[i].Levels[0].Shape.Image = "own"
		}
	}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		p.Seed = seed
		slots := schedule(t, p).layout(stage{-1, 1})
		var names []string
		for _, s := range slots {
			names = append(names, s.Workload)
		}
		names = slices.Compact(names)
		if slices.Contains(names[:2], "built") || slices.Contains(names[:2], "too") {
			t.Errorf("seed %d: %v", seed, names)
		}
		orders[strings.Join(names, " ")] = true
	}
	if len(orders) < 3 {
		t.Errorf("the order is not random among them: %v", orders)
	}
}

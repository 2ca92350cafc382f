package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// lab makes batches with rounds: the instances of each environment start for some time,
// and each sample takes some. Times are made up, so nothing waits.
type lab struct {
	start, sample map[string]time.Duration       // of an environment; the start is that of a new block
	slow          map[subject.Cell]time.Duration // samples of a cell that take another time
	once          time.Duration                  // of preparation of each cell in its first block
	block, round  float64                        // standard deviations of the log values
	effect        map[string]float64
	rng           *rand.Rand
	now           time.Time
	started       map[string]int // the last block in which an environment was started
}

func newLab(block, round float64) *lab {
	return &lab{start: map[string]time.Duration{}, sample: map[string]time.Duration{}, block: block, round: round,
		rng: rand.New(rand.NewPCG(5, 3)), now: began, started: map[string]int{}}
}

func (l *lab) make(b Batch) (trials []rundir.Trial) {
	begin := l.now
	for _, slot := range b.Slots {
		trial := rundir.Trial{Block: slot.Block, Position: slot.Position, Environment: slot.Environment, Workload: slot.Workload, Level: slot.Level,
			Status: rundir.OK, Started: l.now, RoundsReason: b.Why}
		if start := l.start[slot.Environment]; l.started[slot.Environment] != slot.Block {
			l.started[slot.Environment] = slot.Block
			trial.Phases = []environment.Phase{{Name: "agent", Duration: start}}
			l.now = l.now.Add(start)
		}
		if slot.Block == 1 {
			trial.TookSeconds = l.once.Seconds()
			l.now = l.now.Add(l.once)
		}
		trials = append(trials, trial)
	}
	from, within := l.now, b.Slots[0].Within
	centres := make([]float64, len(b.Slots))
	for i := range centres {
		centres[i] = l.block * l.rng.NormFloat64()
	}
	past := func(took time.Duration) bool { return b.Left > 0 && l.now.Add(took).Sub(begin) > b.Left }
	for n := 1; n <= b.Rounds(); n++ {
		if took := l.now.Sub(from); n > 1 && (within > 0 && took+took/time.Duration(n-1) > within || past(took/time.Duration(n-1))) {
			break
		}
		for _, i := range b.Round(n) {
			slot := b.Slots[i]
			if len(trials[i].Rounds) == 0 && past(0) {
				continue
			}
			takes := cmp.Or(l.slow[slot.Cell()], l.sample[slot.Environment])
			l.now = l.now.Add(takes)
			v := math.Exp(l.effect[slot.Environment] + centres[i] + l.round*l.rng.NormFloat64())
			trials[i].Rounds = append(trials[i].Rounds, rundir.Round{Number: n, Metrics: map[string]float64{"time": v}})
			trials[i].Metrics = map[string]float64{"time": v}
			trials[i].HostSeconds += takes.Seconds()
		}
	}
	for i := range trials {
		trials[i].RoundsSeconds = l.now.Sub(from).Seconds()
		trials[i].TookSeconds += trials[i].HostSeconds
		for _, p := range trials[i].Phases {
			trials[i].TookSeconds += p.Duration.Seconds()
		}
		trials[i].Ended = l.now
	}
	return slices.DeleteFunc(trials, func(t rundir.Trial) bool { return len(t.Rounds) == 0 })
}

// playRounds plays a schedule to its end.
func playRounds(t fataler, s *Schedule, l *lab) (trials []rundir.Trial) {
	t.Helper()
	for {
		b, ok := s.NextBatch(l.now.Sub(began))
		if !ok {
			return trials
		}
		for _, trial := range l.make(b) {
			s.Record(trial)
			trials = append(trials, trial)
		}
	}
}

func chosen(p *study.Plan) *study.Plan {
	p = alternating(p)
	p.Design.Rounds, p.Design.RoundsChosen = 16, true
	return p
}

// numbers are how many rounds each cell had in each block, in the order of the blocks.
func numbers(trials []rundir.Trial, workload string) (n []int) {
	for _, t := range trials {
		if t.Workload == workload && t.Environment == "native" {
			n = append(n, len(t.Rounds))
		}
	}
	return n
}

var tenBlocks = study.Blocks{Min: 10, Max: 10, Fixed: true}

func TestTheFirstBlocksChooseTheNumberOfRounds(t *testing.T) {
	for _, c := range []struct {
		name          string
		start, sample time.Duration
		first, others int
	}{
		{"dear starts need many rounds", 5 * time.Second, 50 * time.Millisecond, 16, 28}, // sqrt(8·100)
		{"cheap starts need few rounds", 10 * time.Millisecond, 50 * time.Millisecond, 16, 8},
		{"few fit: no more than the rest of a block takes", 10 * time.Second, 2500 * time.Millisecond, 2, 4},
		{"seconds: as many as fit", time.Second, time.Second, 5, 5},
		{"long samples have a round a block", time.Second, time.Minute, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(.01, .01)
			for _, name := range []string{"native", "docker"} {
				l.start[name], l.sample[name] = c.start, c.sample
			}
			trials := playRounds(t, schedule(t, chosen(planOf(tenBlocks, []string{"native", "docker"}, "cpu:block"))), l)
			got := numbers(trials, "cpu")
			for i, n := range got {
				if i < 3 && n != c.first || i >= 3 && n != c.others {
					t.Fatalf("the blocks have %v rounds", got)
				}
			}
			if why := trials[0].RoundsReason; !strings.HasPrefix(why, "one of the first blocks, ") {
				t.Error(why)
			}
			if why := trials[len(trials)-1].RoundsReason; !strings.HasPrefix(why, "a round takes ") {
				t.Error(why)
			}
		})
	}
}

// A budget of two minutes for two workloads leaves 6 s to each of them in a block, and 2 s
// to each environment: three samples of docker's take that long.
func TestABudgetDividesTheTimeOfABlockAmongItsEnvironments(t *testing.T) {
	l := newLab(.001, .01)
	names := []string{"native", "docker", "gvisor"}
	for _, name := range names {
		l.start[name], l.sample[name] = 100*time.Millisecond, 100*time.Millisecond
	}
	l.sample["docker"] = 600 * time.Millisecond
	p := chosen(planOf(tenBlocks, names, "cpu:block", "disk:block"))
	p.Design.Budget, p.Design.Blocks = 2*time.Minute, upTo60
	s := schedule(t, p)
	trials := playRounds(t, s, l)
	of := map[string]int{}
	for _, trial := range trials {
		if trial.Block == 2 && trial.Workload == "cpu" {
			of[trial.Environment] = len(trial.Rounds)
		}
	}
	if of["native"] != 8 || of["gvisor"] != 8 || of["docker"] != 7 {
		t.Errorf("the second block has the rounds %v", of)
	}
	if why := trials[0].RoundsReason; why != "one of the first blocks, which have 16 rounds or as many as take 6s" {
		t.Error(why)
	}
}

// Whatever starts and samples take, a run with a budget ends at most a tenth after it, or
// one start and sample of each environment.
func TestABudgetIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"native", "docker", "gvisor", "vm"}
		p := chosen(planOf(upTo60, names, "cpu:block", "disk:block", "net:block"))
		p.Design.Budget = time.Duration(rapid.IntRange(10, 600).Draw(t, "budget")) * time.Second
		l := newLab(.02, .02)
		var slowest time.Duration
		for _, name := range names {
			l.start[name] = time.Duration(rapid.IntRange(1, 30000).Draw(t, "start")) * time.Millisecond
			l.sample[name] = time.Duration(rapid.IntRange(1, 20000).Draw(t, "sample")) * time.Millisecond
			slowest += l.start[name] + l.sample[name]
		}
		s := schedule(t, p)
		trials := playRounds(t, s, l)
		took := l.now.Sub(began)
		if most := p.Design.Budget + max(p.Design.Budget/10, slowest); took > most {
			t.Fatalf("it took %s", took)
		}
		rest := p.Design.Budget - took
		if open := s.Progress(took).Open; open > 0 && rest > slowest+p.Design.Budget/10 {
			t.Fatalf("%s are left, and %d verdicts open after %d trials: %s", rest, open, len(trials), s.Why())
		}
	})
}

// Two cells that share the starts of their block need fewer rounds than one alone.
func TestWorkloadsShareTheStartsOfTheirBlock(t *testing.T) {
	number := func(workloads ...string) int {
		l := newLab(.1, .001)
		for _, name := range []string{"native", "docker"} {
			l.start[name], l.sample[name] = 20*time.Second, 50*time.Millisecond
		}
		return numbers(playRounds(t, schedule(t, chosen(planOf(tenBlocks, []string{"native", "docker"}, workloads...))), l), "cpu")[9]
	}
	if one, four := number("cpu:block"), number("cpu:block", "a:block", "b:block", "c:block"); one != 57 || four != 28 {
		t.Errorf("%d rounds alone, %d with three others", one, four)
	}
}

// A resumed run has the journal alone, and chooses the same. The estimate has no part
// in it.
func TestTheChoiceOfRoundsFollowsFromTheJournal(t *testing.T) {
	p := chosen(planOf(study.Blocks{Min: 8, Max: 20}, []string{"native", "docker", "vm"}, "cpu:block", "disk:block"))
	setUp := func(effect map[string]float64) *lab {
		l := newLab(.02, .05)
		l.effect = effect
		for i, name := range []string{"native", "docker", "vm"} {
			l.start[name], l.sample[name] = time.Duration(1+i)*time.Second, 50*time.Millisecond
		}
		return l
	}
	l := setUp(nil)
	whole := playRounds(t, schedule(t, p), l)
	want := map[string]int{}
	for _, workload := range []string{"cpu", "disk"} {
		want[workload] = numbers(whole, workload)[3]
	}
	for at := 0; at < len(whole); at += 7 { // also within batches
		s := schedule(t, p)
		for _, trial := range whole[:at] {
			text, err := json.Marshal(trial)
			if err != nil {
				t.Fatal(err)
			}
			var read rundir.Trial
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			s.Record(read)
		}
		b, ok := s.NextBatch(0)
		if next := whole[at]; !ok || b.Slots[0].Block != next.Block || b.Slots[0].Workload != next.Workload {
			t.Fatalf("after %d trials comes %+v", at, b)
		} else if n := b.Slots[0].Rounds; next.Block > 3 && (n != want[next.Workload] || b.Why != next.RoundsReason) {
			t.Fatalf("after %d trials %s has %d rounds instead of %d: %s", at, next.Workload, n, want[next.Workload], b.Why)
		}
	}
	shifted := playRounds(t, schedule(t, p), setUp(map[string]float64{"docker": .5, "vm": -2}))
	for workload, n := range want {
		if got := numbers(shifted, workload)[3]; got != n {
			t.Errorf("%s has %d rounds, and %d if the environments differ", workload, n, got)
		}
	}
}

// The time of a block with another number of rounds follows from those that were made.
func TestTheBudgetKnowsTheChosenRounds(t *testing.T) {
	p := chosen(planOf(study.Blocks{Min: 8, Max: 60}, []string{"native", "docker"}, "cpu:block"))
	l := newLab(.1, .001)
	for _, name := range []string{"native", "docker"} {
		l.start[name], l.sample[name] = 10*time.Millisecond, 100*time.Millisecond
	}
	s := schedule(t, p)
	for range 3 {
		b, _ := s.NextBatch(0)
		for _, trial := range l.make(b) {
			s.Record(trial)
		}
	}
	b, _ := s.NextBatch(0)
	if got, want := s.pace.block(slices.Values(b.Slots)), 20*time.Millisecond+8*200*time.Millisecond; b.Rounds() != 8 || got != want {
		t.Errorf("a block of %d rounds is expected to take %s, and takes %s", b.Rounds(), got, want)
	}
}

func TestABatchSaysHowManyRoundsItHas(t *testing.T) {
	s := schedule(t, chosen(planOf(upTo60, []string{"native", "docker"}, "cpu:block")))
	b, _ := s.NextBatch(0)
	if got := BatchWords(b.Slots); !strings.HasSuffix(got, " alternating, 16 rounds or as many as take 10s") {
		t.Error(got)
	}
	e := s.Expected(nil)
	if got := fmt.Sprint(e.Rounds, e.FirstBlocks, strings.HasSuffix(e.Words(), "; rounds of samples: at first 16, or as many as take 10s, chosen after 3 blocks")); got != "16 3 true" {
		t.Errorf("%s: %s", got, e.Words())
	}
}

// A guest that takes 20 s to start leaves blocks to the others, which reach their
// verdicts within the budget.
func TestASlowEnvironmentDoesNotSpendTheBudgetOfOthers(t *testing.T) {
	for _, c := range []struct {
		start, sample, budget time.Duration
		gain                  float64 // at least
	}{
		{20 * time.Second, 100 * time.Millisecond, 5 * time.Minute, 1.4},
		{20 * time.Second, time.Second, 5 * time.Minute, 1.4},
		{5 * time.Second, time.Second, 3 * time.Minute, 1.1},
		{5 * time.Second, time.Second, 5 * time.Minute, .95},
		{time.Second, time.Second, 5 * time.Minute, .95},
	} {
		runs := paths(t, 40)
		play := func(rests bool) (decided, slow int) {
			for seed := range runs {
				p := chosen(planOf(upTo60, []string{"native", "docker", "gvisor", "vm"}, "cpu:block"))
				p.Design.Budget, p.Seed = c.budget, uint64(seed)
				l := newLab(.022, .03)
				l.rng = rand.New(rand.NewPCG(uint64(seed), 1))
				l.effect = map[string]float64{"docker": .025, "gvisor": .03, "vm": .03}
				for _, e := range p.Environments {
					l.start[e.Name], l.sample[e.Name] = 300*time.Millisecond, 100*time.Millisecond
				}
				l.start["vm"], l.sample["vm"] = c.start, c.sample
				s := schedule(t, p)
				if !rests {
					for from := 1; from <= study.FirstBlocks; from++ {
						s.parts[from] = map[subject.Cell]int{}
						for _, e := range p.Environments {
							s.parts[from][subject.Place{Workload: "cpu"}.In(e.Name)] = 1
						}
					}
				}
				playRounds(t, s, l)
				for _, k := range s.Contrasts() {
					if k.Verdict == verdict.Slower || k.Verdict == verdict.Equivalent {
						decided++
						if k.Environment == "vm" {
							slow++
						}
					}
				}
			}
			return decided, slow
		}
		with, slow := play(true)
		without, slowWithout := play(false)
		t.Logf("starts of %v, samples of %v, %v: %d (%d) of %d verdicts; if it is in all blocks: %d (%d)", c.start, c.sample, c.budget, with, slow, 3*runs, without, slowWithout)
		if float64(with) < c.gain*float64(without) {
			t.Errorf("%d verdicts, and %d if the slow one is in all blocks", with, without)
		}
	}
}

// A workload that takes minutes in a guest is out of reach of the budget there. It waits,
// and everything else has its verdicts, also what is cheap in the same guest.
func TestWhatIsOutOfReachWaitsForTheOthers(t *testing.T) {
	p := chosen(planOf(upTo60, []string{"native", "docker", "vm"}, "cpu:block", "pipeline:block"))
	p.Design.Budget = 10 * time.Minute
	l := newLab(.003, .01)
	l.effect = map[string]float64{"docker": .1, "vm": 2}
	for _, e := range p.Environments {
		l.start[e.Name], l.sample[e.Name] = time.Second, 100*time.Millisecond
	}
	l.slow = map[subject.Cell]time.Duration{
		{Environment: "native", Workload: "pipeline"}: 8 * time.Second,
		{Environment: "docker", Workload: "pipeline"}: 10 * time.Second,
		{Environment: "vm", Workload: "pipeline"}:     2 * time.Minute,
	}
	s := schedule(t, p)
	said := ""
	for {
		b, ok := s.NextBatch(l.now.Sub(began))
		if !ok {
			break
		}
		if text, from := s.Forecast(l.now.Sub(began)); from == 1 && said == "" {
			said = text
		}
		for _, trial := range l.make(b) {
			s.Record(trial)
		}
	}
	if want := "about 26 blocks of 18s in 10m0s; docker takes part in 1 of up to 2 blocks; pipeline in vm would take too long, and waits until the others have their verdicts; "; !strings.Contains(said, want) {
		t.Errorf("said: %s", said)
	}
	for _, c := range s.Contrasts() {
		if out := c.Workload == "pipeline" && c.Environment == "vm"; out != (c.Verdict == verdict.None || c.Verdict == verdict.Inconclusive) {
			t.Errorf("%s", verdict.Wording(c))
		}
	}
}

// The first block fills disks and caches. What that takes is not charged to the next ones.
func TestWhatIsPreparedOnceIsWithinReach(t *testing.T) {
	p := chosen(planOf(upTo60, []string{"native", "docker", "vm"}, "cpu:block", "disk:block", "server:block"))
	p.Design.Budget = 5 * time.Minute
	l := newLab(.003, .01)
	l.effect, l.once = map[string]float64{"docker": .1, "vm": 2}, 6*time.Second
	for _, e := range p.Environments {
		l.start[e.Name], l.sample[e.Name] = time.Second, 200*time.Millisecond
	}
	s := schedule(t, p)
	in := map[int]int{}
	for _, trial := range playRounds(t, s, l) {
		in[trial.Block]++
	}
	for _, block := range []int{2, 3, 4, 5, 6} {
		if in[block] != 9 {
			t.Errorf("block %d has %d of nine cells", block, in[block])
		}
	}
	for _, c := range s.Contrasts() {
		if c.Verdict == verdict.None || c.Verdict == verdict.Inconclusive {
			t.Errorf("%s", verdict.Wording(c))
		}
	}
}

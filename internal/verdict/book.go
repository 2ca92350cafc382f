package verdict

import (
	"cmp"
	"iter"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// Contrasts returns the contrasts of all trials of a run, in the order of the
// plan: workload, level, metric, environment. The manifest has the labels, the
// environments that are not usable, which have no contrast, and whether the run is over.
func Contrasts(plan *study.Plan, trials []rundir.Trial, m rundir.Manifest) []Contrast {
	all := NewBook(plan, usable(plan, m.Environments)).judged(trials, m)
	warnOfCarryOver(plan, trials, all)
	return all
}

// usable returns the environments of a plan that work.
func usable(plan *study.Plan, facts map[string]rundir.EnvironmentFacts) (names []string) {
	for _, e := range plan.Environments {
		if facts[e.Name].State != environment.Missing {
			names = append(names, e.Name)
		}
	}
	return names
}

// whole is the book of a whole run by its own plan.
func whole(plan *study.Plan, trials []rundir.Trial, m rundir.Manifest) *Book {
	b := NewBook(plan, usable(plan, m.Environments))
	b.judged(trials, m)
	return b
}

// judged enters all trials into the book and returns its contrasts.
func (b *Book) judged(trials []rundir.Trial, m rundir.Manifest) []Contrast {
	b.take(trials, m)
	return b.Contrasts()
}

// take enters all trials. Those that were made after the last analysis are left out: no
// error is left for them.
func (b *Book) take(trials []rundir.Trial, m rundir.Manifest) {
	for name, f := range m.Environments {
		b.Label(name, f.Label)
	}
	end, over := m.Over()
	for _, t := range trials {
		if end.IsZero() || !t.Started.After(end) {
			b.Add(t)
		} else {
			b.after = true
		}
	}
	if over {
		b.End()
	}
}

// Book holds the contrasts of a run while it executes. Adding a trial updates
// only the contrasts that it belongs to; the order of trials does not matter.
type Book struct {
	plan    *study.Plan
	turns   int // blocks that it takes until each environment had its turn
	labels  map[string]string
	series  map[subject.Cell][]*series // a metric each, in the order of metrics
	shares  map[subject.Cell]shares
	metrics map[string][]workload.Metric
	entries []*entry
	touched map[subject.Cell][]*entry // the contrasts that a cell is part of
	// abandoned is how many blocks will not be finished; see Abandon.
	abandoned int
	families  map[any]*family
	clock     clock
	over      bool
	after     bool // there are trials after the last analysis
	// leaves is the book whose verdicts environments left by; nil where it is this one.
	leaves *Book
}

// entry is a contrast with the series that it is computed from.
type entry struct {
	contrast    Contrast
	fresh       string
	of, over    []*series // the series of either side; joined into s and base
	ofCells     []subject.Cell
	overCells   []subject.Cell
	s, base     *series
	paired      paired
	stale       bool // the verdict is out of date
	undescribed bool // the verdict is up to date, the description is not
	family      *family
	cells       []subject.Cell // of the environments that stay for it
	course      stats.Course
	judged      stats.Judgement
	shown       shown
	open        stats.Decision // of a run that may end after any block
	openOf      []float64
	held        int  // the first block that is under way; 0: none is before another
	value       bool // over is 1 and no sample: see Values
}

// NewBook returns an empty book for the usable environments.
func NewBook(plan *study.Plan, usable []string) *Book { return newBook(plan, usable, nil) }

func newBook(plan *study.Plan, usable []string, leaves *Book) *Book {
	b := emptyBook(plan)
	b.turns, b.leaves = plan.Turns(usable), leaves
	compared := comparisons(plan, usable)
	primaries := 0
	for _, w := range plan.Workloads {
		for _, m := range b.metrics[w.Name] {
			if m.Primary {
				primaries += len(w.Levels)
			}
		}
	}
	for at, w := range places(plan) {
		for i, m := range b.metrics[w.Name] {
			for _, k := range compared {
				e := newEntry(b.blank(at.In(k.pairs[0].environment), m), w.Fresh)
				k.mark(&e.contrast)
				e.contrast.Family = k.family(compared)
				if plan.Design.Family == "study" && m.Primary {
					e.contrast.Family *= primaries
				}
				for _, p := range k.pairs {
					b.enter(e, i, at.In(p.environment), at.In(p.base))
				}
				key := familyKey{at.Of(m.Name), k.whole()}
				if plan.Design.Family == "study" && m.Primary {
					key = familyKey{whole: k.whole()}
				}
				b.join(e, key)
			}
		}
	}
	return b
}

// familyKey is the metric whose contrasts share an error rate, or none for all primary
// ones of a study. The total of a ladder is apart.
type familyKey struct {
	of    subject.Figure
	whole bool
}

// places are the workloads of a plan at each of their levels.
func places(plan *study.Plan) iter.Seq2[subject.Place, study.Workload] {
	return func(yield func(subject.Place, study.Workload) bool) {
		for _, w := range plan.Workloads {
			for _, l := range w.Levels {
				if !yield(subject.Place{Workload: w.Name, Level: l.Name}, w) {
					return
				}
			}
		}
	}
}

// emptyBook has no contrasts yet.
func emptyBook(plan *study.Plan) *Book {
	b := &Book{plan: plan, turns: 1, labels: map[string]string{}, series: map[subject.Cell][]*series{}, shares: map[subject.Cell]shares{},
		metrics: map[string][]workload.Metric{}, touched: map[subject.Cell][]*entry{},
		families: map[any]*family{}, clock: clock{spans: map[int][]timeSpan{}, looks: make([]int, len(stats.BudgetLooks()))}}
	for _, w := range plan.Workloads {
		b.metrics[w.Name] = metricsOf(w.Pack)
	}
	return b
}

func newEntry(c Contrast, fresh string) *entry {
	e := &entry{contrast: c, fresh: fresh, stale: true}
	e.family = &family{[]*entry{e}}
	return e
}

// enter adds two cells to a contrast of one metric, given by its index: one for
// either side.
func (b *Book) enter(e *entry, metric int, at, base subject.Cell) {
	e.of, e.over = append(e.of, b.at(at)[metric]), append(e.over, b.at(base)[metric])
	e.ofCells, e.overCells = append(e.ofCells, at), append(e.overCells, base)
	if e.cells = append(e.cells, at); b.byStep() || b.leaves != nil {
		e.cells = append(e.cells, base)
	}
	for _, p := range []subject.Cell{at, base} {
		if fed := b.touched[p]; len(fed) == 0 || fed[len(fed)-1] != e {
			b.touched[p] = append(fed, e)
		}
	}
}

// metricsOf returns the metrics of a pack that have contrasts. If a pack marks
// none as primary, all except costs are.
func metricsOf(p workload.Pack) []workload.Metric {
	metrics := slices.Clone(p.Metrics)
	if slices.ContainsFunc(metrics, func(m workload.Metric) bool { return m.Primary }) {
		return metrics
	}
	for i := range metrics {
		metrics[i].Primary = !cost.Named(metrics[i].Name)
	}
	return metrics
}

func (b *Book) blank(at subject.Cell, m workload.Metric) Contrast {
	c := Contrast{Workload: at.Workload, Level: at.Level, Metric: m.Name, Unit: m.Unit, Better: m.Better, Primary: m.Primary,
		Environment: at.Environment, Baseline: b.plan.Baseline, Margin: float64(b.plan.Design.Margin)}
	costed := func(other workload.Metric) bool { return other.Name == cost.CPU }
	if !cost.Named(m.Name) && slices.ContainsFunc(b.metrics[at.Workload], costed) {
		c.Companion = cost.CPU
	}
	return c
}

func (b *Book) at(p subject.Cell) []*series {
	if b.series[p] == nil {
		for range b.metrics[p.Workload] {
			b.series[p] = append(b.series[p], &series{lengths: map[int]stats.Logs{}, tried: map[string]int{}})
		}
	}
	return b.series[p]
}

// Hold lets the verdicts wait for a block that is under way, where others run beside it:
// the blocks after it count once it is complete. A look at n blocks then takes the first n
// that were begun; the first n to be complete would be those that were quick. The trials
// of a whole run need no hold.
func (b *Book) Hold(block int) {
	for _, e := range b.entries {
		from := min(block, e.held)
		later := func(s *series) bool { return s.last() > from }
		if e.held != block && (slices.ContainsFunc(e.of, later) || slices.ContainsFunc(e.over, later)) {
			e.outdate()
		}
		e.held = block
	}
}

// Abandon notes that a block will not be finished, and that one more follows the last one.
func (b *Book) Abandon() { b.abandoned++ }

// Label sets the label that is shown with every value of an environment.
func (b *Book) Label(environment, label string) {
	b.labels[environment] = label
	for _, e := range b.entries {
		e.stale = true
	}
}

// Add enters a trial, whatever its status. Traced trials, and trials of
// environments or workloads that the plan does not have, are ignored.
func (b *Book) Add(t rundir.Trial) {
	if t.Traced {
		return
	}
	at := t.Cell()
	if share, told := t.Metrics[workload.ErrorRatio]; told {
		if b.shares[at] == nil {
			b.shares[at] = shares{}
		}
		b.shares[at][t.Block] = append(b.shares[at][t.Block], share)
	}
	for i, m := range b.metrics[t.Workload] {
		v, ok, reason := valueOf(t, m.Name)
		s := b.at(at)[i]
		s.on(t)
		s.add(t.Block, t.Node, v, t.RoundLogs(m.Name), ok, t.Status == rundir.Skipped, reason)
		if w := b.plan.Workload(t.Workload); ok && hasLengthBias(w.Pack, m) && len(t.HalfRounds) > 0 {
			s.lengths[t.Block] = t.LengthLogs(m.Name)
		}
	}
	if b.plan.Design.Budget > 0 {
		b.clock.add(t)
	}
	for _, e := range b.touched[at] {
		e.outdate()
		e.paired.forget(t.Block)
	}
}

// Contrasts returns all contrasts, as of the trials so far.
func (b *Book) Contrasts() []Contrast {
	all := make([]Contrast, len(b.entries))
	for i, e := range b.entries {
		all[i] = b.current(e)
	}
	return all
}

// Verdicts are all contrasts, as of the trials so far, without what only describes them:
// the values of the sides, ranges, tails, the length bias and the nodes. A run of many
// blocks asks for them after each trial.
func (b *Book) Verdicts() []Contrast { return lists.Map(b.entries, b.verdict) }

// Of returns the contrasts that a cell is part of, as Verdicts does: with the baseline, or
// of its steps. A cell of the baseline is part of all contrasts with it.
func (b *Book) Of(at subject.Cell) []Contrast {
	return lists.Map(b.touched[at], b.verdict)
}

func (b *Book) verdict(e *entry) Contrast {
	b.refresh(e)
	return e.contrast
}

// Open reports whether a primary metric of this cell had no final verdict when
// the block began.
func (b *Book) Open(at subject.Cell, block int) bool {
	for _, e := range b.touched[at] {
		b.refresh(e)
		if c := &e.contrast; c.Primary && (c.Open || c.Block >= block) {
			return true
		}
	}
	return false
}

func (b *Book) refresh(e *entry) {
	if design := b.plan.Design; design.Budget > 0 && b.clock.tick(design.Budget, design.Blocks.Max*b.turns, cmp.Or(b.plan.Nodes.Parallel, b.plan.Nodes.Count, len(b.plan.Nodes.Names), 1)) {
		for _, other := range b.entries {
			other.stale = true
		}
	}
	if e.stale {
		b.evaluate(e.family)
	}
}

func (b *Book) current(e *entry) Contrast {
	b.refresh(e)
	if e.undescribed {
		e.describe()
		e.undescribed = false
	}
	return e.contrast
}

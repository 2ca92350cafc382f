package verdict

import (
	"slices"

	"tare/internal/cost"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// Contrasts judges all trials of a run, in the order of the plan: workload,
// level, metric, environment. facts name the environments that are not usable,
// which have no contrast, and the labels; they may be nil.
func Contrasts(plan *study.Plan, trials []rundir.Trial, facts map[string]rundir.EnvironmentFacts) []Contrast {
	return NewBook(plan, usable(plan, facts)).judged(trials, facts)
}

// usable are the environments that a plan has and that work.
func usable(plan *study.Plan, facts map[string]rundir.EnvironmentFacts) (names []string) {
	for _, e := range plan.Environments {
		if facts[e.Name].State != environment.Missing {
			names = append(names, e.Name)
		}
	}
	return names
}

// judged are the contrasts of a book when all trials have been entered.
func (b *Book) judged(trials []rundir.Trial, facts map[string]rundir.EnvironmentFacts) []Contrast {
	for name, f := range facts {
		b.Label(name, f.Label)
	}
	for _, t := range trials {
		b.Add(t)
	}
	return b.Contrasts()
}

// Book keeps the contrasts of a run that is under way: each trial costs only
// the contrasts that it belongs to. How the trials are ordered does not matter.
type Book struct {
	plan    *study.Plan
	labels  map[string]string
	series  map[place][]*series // a metric each, in the order of metrics
	metrics map[string][]workload.Metric
	entries []*entry
	touched map[place][]*entry // contrasts that a cell of an environment feeds
}

// place is a cell of an environment.
type place struct{ environment, workload, level string }

// entry is a contrast with what it is made from.
type entry struct {
	contrast Contrast
	fresh    string
	of, over []*series // what the two sides are made of, and below as one
	s, base  *series
	stale    bool // the verdict is not up to date
	bare     bool // the verdict is, the description is not
	memory   memory
}

// NewBook starts an empty book for the usable environments.
func NewBook(plan *study.Plan, usable []string) *Book {
	b := emptyBook(plan)
	compared := comparisons(plan, usable)
	primaries := 0
	for _, w := range plan.Workloads {
		for _, m := range b.metrics[w.Name] {
			if m.Primary {
				primaries += len(w.Levels)
			}
		}
	}
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			for i, m := range b.metrics[w.Name] {
				for _, k := range compared {
					e := &entry{contrast: b.blank(w, l.Name, m, k.pairs[0].environment), fresh: w.Fresh, stale: true}
					k.mark(&e.contrast)
					e.contrast.Family = k.family(compared)
					if plan.Design.Family == "study" && m.Primary {
						e.contrast.Family *= primaries
					}
					for _, p := range k.pairs {
						b.enter(e, i, place{p.environment, w.Name, l.Name}, place{p.base, w.Name, l.Name})
					}
					b.entries = append(b.entries, e)
				}
			}
		}
	}
	return b
}

// emptyBook has no contrasts yet.
func emptyBook(plan *study.Plan) *Book {
	b := &Book{plan: plan, labels: map[string]string{}, series: map[place][]*series{},
		metrics: map[string][]workload.Metric{}, touched: map[place][]*entry{}}
	for _, w := range plan.Workloads {
		b.metrics[w.Name] = metricsOf(w.Pack)
	}
	return b
}

// enter makes a contrast of one metric, by its number, stand on two places, and
// on those that it stands on already.
func (b *Book) enter(e *entry, metric int, at, base place) {
	e.of, e.over = append(e.of, b.at(at)[metric]), append(e.over, b.at(base)[metric])
	for _, p := range []place{at, base} {
		if fed := b.touched[p]; len(fed) == 0 || fed[len(fed)-1] != e {
			b.touched[p] = append(fed, e)
		}
	}
}

// metricsOf are the metrics of a pack that contrasts are made of. A pack that
// marks none as primary means all of its own.
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

func (b *Book) blank(w study.Workload, level string, m workload.Metric, name string) Contrast {
	c := Contrast{Workload: w.Name, Level: level, Metric: m.Name, Unit: m.Unit, Better: m.Better, Primary: m.Primary,
		Environment: name, Baseline: b.plan.Baseline, Margin: float64(b.plan.Design.Margin)}
	costed := func(other workload.Metric) bool { return other.Name == cost.CPU }
	if !cost.Named(m.Name) && slices.ContainsFunc(b.metrics[w.Name], costed) {
		c.Companion = cost.CPU
	}
	return c
}

func (b *Book) at(p place) []*series {
	if b.series[p] == nil {
		for range b.metrics[p.workload] {
			b.series[p] = append(b.series[p], &series{})
		}
	}
	return b.series[p]
}

// Label sets what must stand beside the figures of an environment.
func (b *Book) Label(environment, label string) {
	b.labels[environment] = label
	for _, e := range b.entries {
		e.stale = true
	}
}

// Add takes a trial, whatever its status. Trials of environments or workloads
// that the plan does not have are passed over, and so are traced ones.
func (b *Book) Add(t rundir.Trial) {
	if t.Traced {
		return
	}
	at := place{t.Environment, t.Workload, t.Level}
	for i, m := range b.metrics[t.Workload] {
		v, ok, reason := valueOf(t, m.Name)
		b.at(at)[i].add(t.Block, v, ok, t.Status == rundir.Skipped, reason)
	}
	for _, e := range b.touched[at] {
		e.stale = true
	}
}

// Contrasts are all contrasts as the trials so far have them.
func (b *Book) Contrasts() []Contrast {
	all := make([]Contrast, len(b.entries))
	for i, e := range b.entries {
		all[i] = b.current(e)
	}
	return all
}

// Of are the contrasts of one cell that an environment is in: against the
// baseline, or of its steps. The baseline is in all that are made with it.
func (b *Book) Of(environment, workload, level string) []Contrast {
	var all []Contrast
	for _, e := range b.touched[place{environment, workload, level}] {
		all = append(all, b.current(e))
	}
	return all
}

// Open says whether a verdict on a primary metric of this cell was still to
// come when the block began.
func (b *Book) Open(environment, workload, level string, block int) bool {
	for _, e := range b.touched[place{environment, workload, level}] {
		b.refresh(e)
		if c := &e.contrast; c.Primary && (c.Open || c.Block >= block) {
			return true
		}
	}
	return false
}

func (b *Book) refresh(e *entry) {
	if e.stale {
		b.judge(e)
		e.stale, e.bare = false, true
	}
}

func (b *Book) current(e *entry) Contrast {
	b.refresh(e)
	if e.bare {
		e.describe()
		e.bare = false
	}
	return e.contrast
}

package verdict

import (
	"tare/internal/bundle"
	"tare/internal/environment"
	"tare/internal/study"
	"tare/internal/workload"
)

// Contrasts judges all trials of a run, in the order of the plan: workload,
// level, metric, environment. facts name the environments that are not usable,
// which have no contrast, and the labels; they may be nil.
func Contrasts(plan *study.Plan, trials []bundle.Trial, facts map[string]bundle.EnvironmentFacts) []Contrast {
	return NewBook(plan, usable(plan, facts)).judged(trials, facts)
}

// usable are the environments that a plan has and that work.
func usable(plan *study.Plan, facts map[string]bundle.EnvironmentFacts) (names []string) {
	for _, e := range plan.Environments {
		if facts[e.Name].State != environment.Missing {
			names = append(names, e.Name)
		}
	}
	return names
}

// judged are the contrasts of a book when all trials have been entered.
func (b *Book) judged(trials []bundle.Trial, facts map[string]bundle.EnvironmentFacts) []Contrast {
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
	operate map[string]string // workload → metric that counts operations
	entries []*entry
	touched map[place][]*entry // contrasts that a cell of an environment feeds
}

// place is a cell of an environment.
type place struct{ environment, workload, level string }

// entry is a contrast with what it is made from.
type entry struct {
	contrast Contrast
	fresh    string
	s, base  *series
	stale    bool // the verdict is not up to date
	bare     bool // the verdict is, the description is not
	memory   memory
}

// NewBook starts an empty book for the usable environments.
func NewBook(plan *study.Plan, usable []string) *Book {
	b := emptyBook(plan)
	works := map[string]bool{}
	for _, name := range usable {
		works[name] = true
	}
	var others []string
	for _, e := range plan.Environments {
		if works[e.Name] && e.Name != plan.Baseline {
			others = append(others, e.Name)
		}
	}
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
				for _, name := range others {
					e := &entry{contrast: b.blank(w, l.Name, m, name), fresh: w.Fresh, stale: true}
					e.contrast.Family = len(others)
					if plan.Design.Family == "study" && m.Primary {
						e.contrast.Family = primaries * len(others)
					}
					b.enter(e, i, place{name, w.Name, l.Name}, place{plan.Baseline, w.Name, l.Name})
				}
			}
		}
	}
	return b
}

// emptyBook has no contrasts yet.
func emptyBook(plan *study.Plan) *Book {
	b := &Book{plan: plan, labels: map[string]string{}, series: map[place][]*series{},
		metrics: map[string][]workload.Metric{}, operate: map[string]string{}, touched: map[place][]*entry{}}
	for _, w := range plan.Workloads {
		b.metrics[w.Name], b.operate[w.Name] = metricsOf(w.Pack), w.Pack.Operations
	}
	return b
}

// enter takes in a contrast of one metric, by its number, between two places.
func (b *Book) enter(e *entry, metric int, at, base place) {
	e.s, e.base = b.at(at)[metric], b.at(base)[metric]
	b.entries = append(b.entries, e)
	b.touched[at] = append(b.touched[at], e)
	b.touched[base] = append(b.touched[base], e)
}

// metricsOf are the metrics of a pack that contrasts are made of. A pack that
// marks none as primary means all of its own.
func metricsOf(p workload.Pack) []workload.Metric {
	metrics := append([]workload.Metric(nil), p.Metrics...)
	marked, derived := false, p.Operations != ""
	for _, m := range metrics {
		marked = marked || m.Primary
		derived = derived && m.Name != CPUPerOperation
	}
	if !marked {
		for i := range metrics {
			metrics[i].Primary = true
		}
	}
	if derived {
		metrics = append(metrics, workload.Metric{Name: CPUPerOperation, Unit: "s", Better: "lower", About: "CPU time of the whole environment for one operation"})
	}
	return metrics
}

func (b *Book) blank(w study.Workload, level string, m workload.Metric, name string) Contrast {
	c := Contrast{Workload: w.Name, Level: level, Metric: m.Name, Unit: m.Unit, Better: m.Better, Primary: m.Primary,
		Environment: name, Baseline: b.plan.Baseline, Margin: float64(b.plan.Design.Margin)}
	if m.Name != CPUPerOperation {
		for _, other := range b.metrics[w.Name] {
			if other.Name == CPUPerOperation {
				c.Companion = CPUPerOperation
			}
		}
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
// that the plan does not have are passed over.
func (b *Book) Add(t bundle.Trial) {
	at := place{t.Environment, t.Workload, t.Level}
	for i, m := range b.metrics[t.Workload] {
		v, ok, reason := valueOf(t, m.Name, b.operate[t.Workload])
		b.at(at)[i].add(t.Block, v, ok, t.Status == bundle.Skipped, reason)
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

// Of are the contrasts of one cell of one environment against the baseline; of
// the baseline itself, all of the cell.
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

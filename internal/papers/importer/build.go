package importer

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// built is what an import adds to a run before anything is written.
type built struct {
	contents []*content
	trials   []rundir.Trial // those of contents, in their order
	files    []rundir.ImportedFile
}

// build turns contents into trials. Their blocks continue after those of the same
// cell that the run already has.
func (r *Request) build(contents []*content, had []rundir.Trial) (*built, error) {
	b := &built{contents: inOrder(contents)}
	type cell struct{ environment, workload, level string }
	type place struct {
		cell
		block int
	}
	counts, taken := map[cell]int{}, map[place]string{}
	for _, t := range had {
		k := cell{t.Environment, t.Workload, t.Level}
		counts[k] = max(counts[k], t.Block)
		at := place{k, t.Block}
		taken[at] = "a result of the run"
		if t.Source != nil {
			taken[at] = t.Source.File + " of the run"
		}
	}
	for _, c := range b.contents {
		file := rundir.ImportedFile{File: c.Path, SHA256: c.sum, Tool: c.batch.Tool, Environment: c.Environment, Workload: c.batch.Workload,
			Level: c.Level, Taken: c.Taken, Place: c.Place, Results: len(c.results)}
		for n, one := range c.results {
			k := cell{c.Environment, c.batch.Workload, one.level}
			t := rundir.Trial{Environment: c.Environment, Workload: c.batch.Workload, Level: one.level, Status: rundir.OK,
				Source: c.source(n), Metrics: one.metrics, Missing: one.missing}
			switch {
			case !one.taken.IsZero():
				t.Started = one.taken
				if file.Taken.IsZero() {
					file.Taken = one.taken
				}
			case n == 0:
				t.Started = c.Taken
			}
			t.Ended = t.Started
			if one.failed != "" {
				t.Status, t.Reason = rundir.Failed, fmt.Sprintf("result %d of %s, line %d: %s", n+1, filepath.Base(c.Path), one.line, one.failed)
			}
			t.Block = counts[k] + 1
			if c.Block > 0 {
				t.Block = c.Block
			}
			counts[k] = t.Block
			at := place{k, t.Block}
			if first, twice := taken[at]; twice {
				return nil, fmt.Errorf("%s and %s are both block %d of %s in %s", first, c.Path, t.Block, c.batch.Workload, c.Environment)
			}
			taken[at] = c.Path
			b.trials = append(b.trials, t)
		}
		b.files = append(b.files, file)
	}
	return b, nil
}

// inOrder sorts by time and place, and keeps the order of those that have neither.
func inOrder(contents []*content) []*content {
	sorted := slices.Clone(contents)
	slices.SortStableFunc(sorted, func(x, y *content) int {
		if x.when().IsZero() || y.when().IsZero() {
			if x.Place == 0 || y.Place == 0 {
				return 0
			}
			return x.Place - y.Place
		}
		return x.when().Compare(y.when())
	})
	return sorted
}

func (c *content) when() time.Time {
	if len(c.results) > 0 && !c.results[0].taken.IsZero() {
		return c.results[0].taken
	}
	return c.Taken
}

// plan adds the request to a plan, which may be empty.
func (r *Request) plan(p *study.Plan, contents []*content) error {
	if p.Format == 0 {
		*p = study.Plan{Format: 1, Study: r.Title, Name: directoryName(r.Title), Origin: orElse(r.Origin, "tare import"),
			Design: study.Design{Margin: r.Margin, Confidence: r.Confidence, Family: "metric", Drop: "never"}}
	}
	for _, name := range r.names() {
		if !slices.ContainsFunc(p.Environments, func(e study.Environment) bool { return e.Name == name }) {
			e, _ := r.environment(name)
			p.Environments = append(p.Environments, e)
		}
	}
	for at := range r.Batches {
		b := &r.Batches[at]
		i := slices.IndexFunc(p.Workloads, func(w study.Workload) bool { return w.Name == b.Workload })
		if i < 0 {
			i = len(p.Workloads)
			p.Workloads = append(p.Workloads, study.Workload{Name: b.Workload, Pack: b.Pack, Fresh: r.Fresh})
		}
		w := &p.Workloads[i]
		if err := same(w.Pack, b.Pack); err != nil {
			return fmt.Errorf("workload %s: %w", b.Workload, err)
		}
		if w.Fresh != r.Fresh {
			w.Fresh = unknownFresh
		}
		for _, c := range contents {
			for _, one := range c.results {
				if c.batch == b && !slices.ContainsFunc(w.Levels, func(l study.Level) bool { return l.Name == one.level }) {
					w.Levels = append(w.Levels, study.Level{Name: one.level, Parameters: one.parameters})
				}
			}
		}
	}
	if r.Baseline != "" {
		p.Baseline = r.Baseline
	}
	if p.Baseline == "" {
		p.Baseline = p.Environments[0].Name
	}
	if !slices.ContainsFunc(p.Environments, func(e study.Environment) bool { return e.Name == p.Baseline }) {
		names := lists.Map(p.Environments, func(e study.Environment) string { return e.Name })
		return fmt.Errorf("the baseline %s has no results; there are results of %s", p.Baseline, strings.Join(names, ", "))
	}
	return nil
}

// same refuses an import that changes the metrics or the parser of a workload.
func same(was, now workload.Pack) error {
	a, _ := json.Marshal(was.Metrics)
	b, _ := json.Marshal(now.Metrics)
	if string(a) != string(b) || was.Parser.Name != now.Parser.Name {
		return fmt.Errorf("the run has it with other metrics or another parser: use the same --tool and --metric, or choose another name with --workload")
	}
	return nil
}

// design sets the design of the plan from the order that was found.
func design(p *study.Plan, order string, trials []rundir.Trial) {
	most := 1
	for _, t := range trials {
		most = max(most, t.Block)
	}
	p.Design.Order, p.Design.Blocks = "unpaired", study.Blocks{Min: most, Max: most, Fixed: true}
	if order == rundir.ImportInterleaved {
		p.Design.Order = "interleaved"
	}
}

// positions numbers the trials within their blocks: by time if every trial of the
// block has one, else in the order of environments in the plan. Trials that the run
// already had come first.
func positions(p *study.Plan, trials, had []rundir.Trial) {
	index := map[string]int{}
	for i, e := range p.Environments {
		index[e.Name] = i
	}
	type block struct {
		workload, level string
		number          int
	}
	members, before := map[block][]int{}, map[block]int{}
	for _, t := range had {
		before[block{t.Workload, t.Level, t.Block}]++
	}
	for i, t := range trials {
		k := block{t.Workload, t.Level, t.Block}
		members[k] = append(members[k], i)
	}
	for k, list := range members {
		slices.SortFunc(list, func(i, j int) int {
			a, b := trials[i], trials[j]
			if c := a.Started.Compare(b.Started); c != 0 && !a.Started.IsZero() && !b.Started.IsZero() {
				return c
			}
			return index[a.Environment] - index[b.Environment]
		})
		for at, i := range list {
			trials[i].Position = before[k] + at + 1
		}
	}
}

// facts updates what the manifest says about the environments.
func (r *Request) facts(m *rundir.Manifest) {
	if m.Environments == nil {
		m.Environments = map[string]rundir.EnvironmentFacts{}
	}
	for _, name := range r.names() {
		_, about := r.environment(name)
		f, known := m.Environments[name]
		if !known {
			f = rundir.EnvironmentFacts{State: environment.Usable}
		}
		f.Label = orElse(about.Label, f.Label)
		if about.About != "" && !slices.Contains(f.Notes, about.About) {
			f.Notes = append(f.Notes, about.About)
		}
		m.Environments[name] = f
	}
}

// directoryName makes a name that is safe for a directory.
func directoryName(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9')
	})
	if len(words) == 0 {
		return "import"
	}
	return strings.Join(words, "-")
}

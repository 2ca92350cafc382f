package importer

import (
	"cmp"
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
	"tare/internal/subject"
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
	type place struct {
		subject.Cell
		block int
	}
	counts, taken := map[subject.Cell]int{}, map[place]string{}
	for _, t := range had {
		counts[t.Cell()] = max(counts[t.Cell()], t.Block)
		at := place{t.Cell(), t.Block}
		taken[at] = "a result of the run"
		if t.Source != nil {
			taken[at] = t.Source.File + " of the run"
		}
	}
	for _, c := range b.contents {
		file := rundir.ImportedFile{File: c.Path, SHA256: c.sum, Tool: c.batch.Tool, Environment: c.Environment, Workload: c.batch.Workload,
			Level: c.Level, Taken: c.Taken, Place: c.Place, Results: len(c.results)}
		for n, one := range c.results {
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
			t.Block = cmp.Or(one.block, c.Block, counts[t.Cell()]+1)
			counts[t.Cell()] = t.Block
			at := place{t.Cell(), t.Block}
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

// unsure says of which workloads runs may have been interrupted, and why.
func (b *built) unsure() (all []string) {
	for _, c := range b.contents {
		text := fmt.Sprintf("%s: was a run interrupted? The outputs do not tell: %s", c.batch.Workload, c.unsure)
		if c.unsure != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
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
		*p = study.Plan{Format: 1, Study: r.Title, Name: study.DirectoryName(r.Title, "import"), Origin: cmp.Or(r.Origin, "tare import"),
			Design: study.Design{Margin: r.Margin, Confidence: r.Confidence, Family: "metric", Drop: "never"}}
	}
	for _, name := range r.names() {
		if p.Environment(name) == nil {
			e, _ := r.environment(name)
			p.Environments = append(p.Environments, e)
		}
	}
	for at := range r.Batches {
		b := &r.Batches[at]
		w := p.Workload(b.Workload)
		if w == nil {
			p.Workloads = append(p.Workloads, study.Workload{Name: b.Workload, Pack: b.Pack, Fresh: r.Fresh})
			w = &p.Workloads[len(p.Workloads)-1]
		}
		if err := same(w.Pack, b.Pack); err != nil {
			return fmt.Errorf("workload %s: %w", b.Workload, err)
		}
		if w.Fresh != r.Fresh {
			w.Fresh = unknownFresh
		}
		for _, c := range contents {
			for _, one := range c.results {
				if _, known := w.Level(one.level); c.batch == b && !known {
					w.Levels = append(w.Levels, study.Level{Name: one.level, Parameters: one.parameters})
				}
			}
		}
	}
	if p.Baseline = cmp.Or(r.Baseline, p.Baseline, p.Environments[0].Name); p.Environment(p.Baseline) == nil {
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

// block is one of a workload at a level.
type block struct {
	subject.Place
	number int
}

func blockOf(t rundir.Trial) block { return block{t.Cell().Place(), t.Block} }

// positions numbers the trials within their blocks: by time if every trial of the
// block has one, else in the order of environments in the plan. Trials that the run
// already had come first.
func positions(p *study.Plan, trials, had []rundir.Trial) {
	index := map[string]int{}
	for i, e := range p.Environments {
		index[e.Name] = i
	}
	members, before := map[block][]int{}, map[block]int{}
	for _, t := range had {
		before[blockOf(t)]++
	}
	for i, t := range trials {
		members[blockOf(t)] = append(members[blockOf(t)], i)
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
		f.Label = cmp.Or(about.Label, f.Label)
		if about.About != "" && !slices.Contains(f.Notes, about.About) {
			f.Notes = append(f.Notes, about.About)
		}
		m.Environments[name] = f
	}
}

// stretch is a sequence of results of one environment, at a time or place.
type stretch struct {
	subject.Cell
	at    time.Time
	place int
}

// orderOf determines in which order the results were taken: from the times in the
// results, else from those of their files, else from the places in the manifest. If
// one file has none of them, the order is unknown.
func orderOf(trials []rundir.Trial, files []rundir.ImportedFile) (order, known string) {
	var all []stretch
	timed, placed, own := true, true, true
	for _, f := range files {
		timed, placed = timed && !f.Taken.IsZero(), placed && f.Place > 0
		all = append(all, stretch{subject.Cell{Environment: f.Environment, Workload: f.Workload, Level: f.Level}, f.Taken, f.Place})
	}
	var each []stretch
	for _, t := range trials {
		own = own && t.Source != nil && t.Source.Timed
		each = append(each, stretch{t.Cell(), t.Started, 0})
	}
	switch {
	case own && len(each) > 0:
		all, known = each, "the times in the results"
	case timed && len(all) > 0:
		known = "the times of the files"
	case placed && len(all) > 0:
		known = "the places in the manifest"
	default:
		return rundir.ImportUnknown, ""
	}
	slices.SortStableFunc(all, func(a, b stretch) int { return cmp.Or(a.at.Compare(b.at), a.place-b.place) })
	return alternation(all), known
}

// alternation is sequential if every workload took all results of one environment
// before the next environment.
func alternation(all []stretch) string {
	last, seen := map[subject.Place]string{}, map[subject.Cell]bool{}
	for _, s := range all {
		if last[s.Place()] != s.Environment && seen[s.Cell] {
			return rundir.ImportMixed
		}
		last[s.Place()], seen[s.Cell] = s.Environment, true
	}
	return rundir.ImportSequential
}

// contradicts is an error if the times of results show that they were not
// interleaved: one of a block came after one of the next block. Without times of all
// results it is nil.
func contradicts(trials []rundir.Trial) error {
	first, last := map[block]rundir.Trial{}, map[block]rundir.Trial{}
	for _, t := range trials {
		k := blockOf(t)
		if t.Started.IsZero() {
			return nil
		}
		if f, ok := first[k]; !ok || t.Started.Before(f.Started) {
			first[k] = t
		}
		if l, ok := last[k]; !ok || t.Started.After(l.Started) {
			last[k] = t
		}
	}
	for k, l := range last {
		next, ok := first[block{k.Place, k.number + 1}]
		if ok && l.Started.After(next.Started) {
			return fmt.Errorf("interleaved: the times contradict it: in %s, %s of block %d was taken at %s, and %s of block %d before it, at %s",
				strings.TrimSuffix(k.Workload+", "+k.Level, ", "), l.Environment, k.number, l.Started.Format(time.RFC3339), next.Environment, k.number+1, next.Started.Format(time.RFC3339))
		}
	}
	return nil
}

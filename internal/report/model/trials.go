package model

import (
	"fmt"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/subject"
)

// Skipped is an environment that did not take part, with the findings that say why.
type Skipped struct {
	Environment Environment
	Findings    []environment.Finding
}

// Failure groups trials that failed for one reason.
type Failure struct {
	Shown, Workload, Level, Reason string // Shown: the environment with its label
	Output                         string // of the first of them
	Blocks                         []int
}

// count counts the trials and groups those without a result by reason, in the order
// of the journal.
func (v *Report) count() {
	type key struct {
		status rundir.Status
		subject.Cell
		reason string
	}
	index := map[key]int{}
	for _, t := range v.Trials {
		v.Blocks = max(v.Blocks, t.Block)
		list := &v.Known
		switch t.Status {
		case rundir.OK:
			v.OK++
			continue
		case rundir.Failed:
			v.Bad++
			list = &v.Failed
		default:
			v.Out++
		}
		k := key{t.Status, t.Cell(), t.Reason}
		i, seen := index[k]
		if !seen {
			i = len(*list)
			index[k] = i
			*list = append(*list, Failure{Shown: v.ShownName(t.Environment), Workload: t.Workload, Level: t.Level, Reason: t.Reason, Output: t.Output})
		}
		(*list)[i].Blocks = append((*list)[i].Blocks, t.Block)
	}
}

// NeedingFix returns the findings other than usable.
func NeedingFix(findings []environment.Finding) []environment.Finding {
	return lists.Filter(findings, func(f environment.Finding) bool { return f.State != environment.Usable })
}

// BlockAnchor is where a page has the blocks of a level, by its name; "" if it has none.
func (v *Report) BlockAnchor(at subject.Place) string {
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			primary := slices.ContainsFunc(l.Metrics, func(m Metric) bool { return m.Primary })
			ran := slices.ContainsFunc(v.Trials, func(t rundir.Trial) bool { return t.Cell().Place() == at })
			if l.Place(w) == at && primary && ran {
				return LevelAnchor(w, l)
			}
		}
	}
	return ""
}

// LevelAnchor is where a page has the blocks of a level.
func LevelAnchor(w Workload, l Level) string { return fmt.Sprintf("b%d-%d", w.Index, l.Index) }

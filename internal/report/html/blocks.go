package html

import (
	"slices"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/subject"
)

// mostBlocks is how many rows a table of blocks has: more than anybody reads one by one.
// The list of all trials has the rest.
const mostBlocks = 500

// blockTable is one primary metric at one level, block by block. Each value leads to its
// trial.
type blockTable struct {
	Anchor       string // of the level; in its first table
	Place        string
	Metric       model.Metric
	Environments []model.Environment
	Rows         []blockRow
	Left         int // rows that are left out
}

type blockRow struct {
	Block int
	Cells []blockCell
}

// blockCell is what one trial gave.
type blockCell struct {
	Trial  int // its number among all trials, from 1; 0 for none
	Value  string
	Change string // against the baseline in the same block: what the contrast is estimated from
}

// trialIndex finds the numbers of trials: by level and environment, and then by block.
type trialIndex map[subject.Cell]map[int]int

func newTrialIndex(trials []rundir.Trial) trialIndex {
	index := trialIndex{}
	for i, t := range trials {
		if index[t.Cell()] == nil {
			index[t.Cell()] = map[int]int{}
		}
		index[t.Cell()][t.Block] = i + 1
	}
	return index
}

// BlockTables are the tables of a workload.
func (p *page) BlockTables(w model.Workload) (tables []blockTable) {
	for _, l := range w.Levels {
		anchor := model.LevelAnchor(w, l)
		for _, m := range l.Metrics {
			if !m.Primary {
				continue
			}
			if t := p.blockTable(w, l, m); len(t.Rows) > 0 {
				t.Anchor, anchor = anchor, ""
				tables = append(tables, t)
			}
		}
	}
	return tables
}

func (p *page) blockTable(w model.Workload, l model.Level, m model.Metric) blockTable {
	t := blockTable{Place: model.LevelTitle(w.Name, l.Name), Metric: m}
	of := func(e model.Environment) map[int]int { return p.index[l.Place(w).In(e.Name)] }
	t.Environments = lists.Filter(append([]model.Environment{p.Base}, lists.Filter(p.Environments, func(e model.Environment) bool { return !e.Baseline })...),
		func(e model.Environment) bool { return len(of(e)) > 0 })
	var blocks []int
	for _, e := range t.Environments {
		for block := range of(e) {
			blocks = append(blocks, block)
		}
	}
	slices.Sort(blocks)
	blocks = slices.Compact(blocks)
	if len(blocks) > mostBlocks {
		t.Left, blocks = len(blocks)-mostBlocks, blocks[:mostBlocks]
	}
	changes := map[string]map[int]float64{}
	for environment, ratios := range p.BlockRatios(w.Name, l.Name, m.Name) {
		changes[environment] = map[int]float64{}
		for _, r := range ratios {
			changes[environment][r.Block] = r.Log
		}
	}
	for _, block := range blocks {
		row := blockRow{Block: block}
		for _, e := range t.Environments {
			c := blockCell{Trial: of(e)[block]}
			if c.Trial > 0 {
				c.Value = valueText(&p.Trials[c.Trial-1], m)
			}
			// A rung of a ladder is compared with the one below it.
			if d, paired := changes[e.Name][block]; paired && e.Compared() {
				c.Change = typeset(model.Change(d))
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// valueText is the value of a trial, or what became of it.
func valueText(t *rundir.Trial, m model.Metric) string {
	if x, ok := model.Value(t, m.Name); ok {
		return model.ShortFigure(x, m.Unit) // the heading has the noun of a rate
	}
	if t.Status != rundir.OK {
		return string(t.Status)
	}
	return model.Missing
}

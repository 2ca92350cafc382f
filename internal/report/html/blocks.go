package html

import (
	"fmt"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/report/section"
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// mostBlocks is how many rows a table of blocks has: more than anybody reads one by one.
// The list of all trials has the rest.
const mostBlocks = 500

// trialIndex finds the numbers of trials, from 1: by cell, and then by block.
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

// BlockTables are the primary metrics of a workload block by block. Each value leads to
// its trial.
func (p *page) BlockTables(w model.Workload) (tables []partOf) {
	for _, l := range w.Levels {
		anchor := model.LevelAnchor(w, l)
		for _, m := range l.Metrics {
			if !m.Primary {
				continue
			}
			place := model.LevelTitle(w.Name, l.Name)
			t := p.blockTable(w, l, m)
			t.About = m.Title() + " of " + place + ", block by block"
			if len(t.Rows) > 0 {
				tables = append(tables, partOf{Anchor: anchor, Part: section.Part{Title: place + ": " + m.Heading(), Table: t}})
				anchor = ""
			}
		}
	}
	return tables
}

func (p *page) blockTable(w model.Workload, l model.Level, m model.Metric) *section.Table {
	t := &section.Table{Class: "blocks", Columns: []section.Column{{Head: "block", Number: true, Key: true}}}
	of := func(e model.Environment) map[int]int { return p.index[l.Place(w).In(e.Name)] }
	environments := lists.Filter(append([]model.Environment{p.Base}, lists.Filter(p.Environments, func(e model.Environment) bool { return !e.Baseline })...),
		func(e model.Environment) bool { return len(of(e)) > 0 })
	changes := map[subject.Cell]map[int]float64{}
	for environment, ratios := range p.BlockRatios(l.Place(w).Of(m.Name)) {
		at := map[int]float64{}
		for _, r := range ratios {
			at[r.Block] = r.Log
		}
		changes[l.Place(w).In(environment)] = at
	}
	var blocks []int
	for _, e := range environments {
		t.Columns = append(t.Columns, section.Column{Head: e.Shown, Number: true})
		for block := range of(e) {
			blocks = append(blocks, block)
		}
	}
	slices.Sort(blocks)
	blocks = slices.Compact(blocks)
	for _, block := range blocks[:min(mostBlocks, len(blocks))] {
		row := section.Line(block)
		for _, e := range environments {
			var cell section.Cell
			if trial := of(e)[block]; trial > 0 {
				cell = section.Cell{{Text: valueText(&p.Trials[trial-1], m), Link: fmt.Sprintf("t%d", trial)}}
			}
			// A rung of a ladder is compared with the one below it.
			if d, paired := changes[l.Place(w).In(e.Name)][block]; paired && e.Compared() {
				cell = append(cell, section.Text{Text: " "}, section.Text{Text: verdict.Change(d), Style: section.Ends})
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	if left := len(blocks) - mostBlocks; left > 0 {
		t.Rows = append(t.Rows, section.Line(fmt.Sprintf("%d further blocks: in the list of all trials", left)))
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

// Package sheet applies the same procedure as to a run to measurements in tables.
//
// It must not print anything.
package sheet

import (
	"fmt"
	"slices"
	"strconv"

	"tare/internal/papers/table"
	"tare/internal/subject"
)

// Sheet is a table that has been read.
type Sheet struct {
	Name         string
	Environments []string // in the order of their first rows
	Paired       bool     // it has a block column
	Unused       []string // unknown columns
	Remarks      []string // about the files
	rounds       bool     // it has a round column
	rows         []row
	blocks       int
}

type row struct {
	subject.Figure
	block int    // from 1, in the order of the blocks; 0 without
	round string // of the block; "" without
	value float64
	// better is the direction that the table says; "" for none.
	better string
}

// group is the metric of the workload, at all levels and in all environments.
func (r row) group() subject.Figure { return subject.Place{Workload: r.Workload}.Of(r.Metric) }

// Read reads tables. Errors carry the name, the line and the column.
func Read(files []table.File, columns table.Columns) (*Sheet, error) {
	records, err := table.Read(files, columns)
	if err != nil {
		return nil, err
	}
	s := &Sheet{Name: records.Name, Paired: records.Blocks, rounds: records.Rounds, Unused: records.Unused, Remarks: records.Remarks}
	var blocks []string
	type sample struct {
		block, round string
		subject.Figure
	}
	taken := map[sample]bool{}
	for _, one := range records.All {
		at := subject.Place{Workload: one.Workload, Level: one.Level}.In(one.Environment)
		if !slices.Contains(s.Environments, one.Environment) {
			s.Environments = append(s.Environments, one.Environment)
		}
		if one.None {
			continue
		}
		r := row{Figure: at.Of(one.Metric), round: one.Round, value: one.Value, better: one.Better}
		if key := (sample{one.Block, one.Round, r.Figure}); s.rounds {
			if taken[key] {
				return nil, fmt.Errorf("%s:%d:%d: a second value of %s in round %s of block %s: a round has one sample of each environment", records.File(one), one.Line, one.Column, one.Environment, one.Round, one.Block)
			}
			taken[key] = true
		}
		blocks = append(blocks, one.Block)
		s.rows = append(s.rows, r)
	}
	if len(s.rows) == 0 {
		return nil, fmt.Errorf("%s has no value", s.Name)
	}
	if s.Paired {
		s.number(blocks)
	}
	return s, nil
}

// number puts the blocks into the order in time, which interim analyses depend
// on: by number if all are integers, else by their first row.
func (s *Sheet) number(blocks []string) {
	order := map[string]int{}
	var names []string
	for _, b := range blocks {
		if _, known := order[b]; !known {
			order[b] = 0
			names = append(names, b)
		}
	}
	numbers := make(map[string]int, len(names))
	for _, b := range names {
		if n, err := strconv.Atoi(b); err == nil {
			numbers[b] = n
		}
	}
	if len(numbers) == len(names) {
		slices.SortStableFunc(names, func(a, b string) int { return numbers[a] - numbers[b] })
	}
	for i, b := range names {
		order[b] = i + 1
	}
	for i, b := range blocks {
		s.rows[i].block = order[b]
	}
	s.blocks = len(names)
}

// Package sheet applies the same procedure as to a run to measurements in tables.
//
// It must not print anything.
package sheet

import (
	"fmt"

	"tare/internal/base/lists"
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
	type sample struct {
		block, round string
		subject.Figure
	}
	taken := map[sample]bool{}
	numbers := records.Numbers()
	s.blocks = len(numbers)
	for _, one := range records.All {
		at := subject.Place{Workload: one.Workload, Level: one.Level}.In(one.Environment)
		s.Environments = lists.Add(s.Environments, one.Environment)
		if one.None {
			continue
		}
		r := row{Figure: at.Of(one.Metric), round: one.Round, value: one.Value, better: one.Better, block: numbers[one.Block]}
		if key := (sample{one.Block, one.Round, r.Figure}); s.rounds {
			if taken[key] {
				return nil, fmt.Errorf("%s:%d:%d: a second value of %s in round %s of block %s: a round has one sample of each environment", records.File(one), one.Line, one.Column, one.Environment, one.Round, one.Block)
			}
			taken[key] = true
		}
		s.rows = append(s.rows, r)
	}
	if len(s.rows) == 0 {
		return nil, fmt.Errorf("%s has no value", s.Name)
	}
	return s, nil
}

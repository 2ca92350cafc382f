package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/verdict"
)

// NodesRow is one primary comparison by the nodes that its blocks ran on.
type NodesRow struct {
	Workload, Level, Metric string
	Environment             *Environment
	Lines                   []NodeLine
	Omitted                 int // nodes without a line
}

// NodeLine is the comparison on one node, or their mean.
type NodeLine struct {
	Node                     string
	Blocks                   int
	Change, Interval, Remark string
}

// mostNodes is how many nodes have a line each. Of more, those that differ and those
// with the least and the largest change have one.
const mostNodes = 12

// NodesRows of all primary comparisons whose blocks ran on several nodes.
func (v *Report) NodesRows() (rows []NodesRow) {
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, m := range l.Metrics {
				if !m.Primary {
					continue
				}
				for _, c := range m.Ran() {
					if c.Contrast != nil && c.Contrast.Nodes != nil {
						row := NodesRow{Workload: w.Name, Level: l.Name, Metric: m.Title(), Environment: c.Environment}
						row.fill(c.Contrast.Nodes)
						rows = append(rows, row)
					}
				}
			}
		}
	}
	return rows
}

func (r *NodesRow) fill(n *verdict.Nodes) {
	shown := n.Each
	if len(shown) > mostNodes {
		rising := slices.SortedStableFunc(slices.Values(n.Each), func(a, b verdict.Node) int { return cmp.Compare(a.Interval.Estimate, b.Interval.Estimate) })
		ends := slices.Concat(rising[:mostNodes/4], rising[len(rising)-mostNodes/4:])
		for _, one := range rising {
			if one.Differs && len(ends) < mostNodes && !slices.Contains(ends, one) {
				ends = append(ends, one)
			}
		}
		shown = lists.Filter(n.Each, func(one verdict.Node) bool { return slices.Contains(ends, one) })
		r.Omitted = len(n.Each) - len(shown)
	}
	blocks := 0
	for _, one := range n.Each {
		blocks += one.N
	}
	for _, one := range shown {
		texts, remark := Changes(one.Interval.Estimate, one.Interval.Low, one.Interval.High), ""
		if one.Differs {
			remark = "differs from the others"
		}
		r.Lines = append(r.Lines, NodeLine{one.Name, one.N, texts[0], Interval(one.Interval.Low, one.Interval.High), remark})
	}
	mean := NodeLine{Node: "mean of nodes", Blocks: blocks, Change: Missing, Interval: "too few nodes or blocks"}
	if !math.IsNaN(n.Spread) {
		mean.Change, mean.Interval = Change(n.Mean.Estimate), Interval(n.Mean.Low, n.Mean.High)
		mean.Remark = fmt.Sprintf("standard deviation %.1f%%, ", 100*math.Expm1(n.Spread))
	}
	if n.P < 1 || mean.Remark != "" {
		mean.Remark += fmt.Sprintf("p = %.2g", n.P)
	}
	r.Lines = append(r.Lines, mean)
}

// OmittedText says how many nodes have no line; "" if all have one.
func (r NodesRow) OmittedText() string {
	if r.Omitted == 0 {
		return ""
	}
	return fmt.Sprintf("%d more nodes, with changes in between", r.Omitted)
}

// onNodes says on how many nodes the blocks ran, and how many on each; "" for one.
func (v *Report) onNodes() string {
	blocks := map[string]map[int]bool{}
	for _, t := range v.Trials {
		if blocks[t.Node] == nil {
			blocks[t.Node] = map[int]bool{}
		}
		blocks[t.Node][t.Block] = true
	}
	delete(blocks, "")
	if len(blocks) < 2 {
		return ""
	}
	var counts []int
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		counts = append(counts, len(blocks[name]))
	}
	each := strings.Join(lists.Map(counts, strconv.Itoa), ", ")
	if len(counts) > mostNodes {
		each = fmt.Sprintf("%d to %d each", slices.Min(counts), slices.Max(counts))
	}
	return fmt.Sprintf(" on %d nodes (%s)", len(counts), each)
}

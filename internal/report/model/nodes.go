package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/verdict"
)

// mostNodes is how many nodes have a line each. Of more, those that differ and those
// with the least and the largest change have one.
const mostNodes = 12

// Notable are the nodes of a comparison that have a line.
func Notable(n *verdict.Nodes) []verdict.Node {
	if len(n.Each) <= mostNodes {
		return n.Each
	}
	rising := slices.SortedStableFunc(slices.Values(n.Each), func(a, b verdict.Node) int { return cmp.Compare(a.Interval.Estimate, b.Interval.Estimate) })
	ends := slices.Concat(rising[:mostNodes/4], rising[len(rising)-mostNodes/4:])
	for _, one := range rising {
		if one.Differs && len(ends) < mostNodes && !slices.Contains(ends, one) {
			ends = append(ends, one)
		}
	}
	return lists.Filter(n.Each, func(one verdict.Node) bool { return slices.Contains(ends, one) })
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
	counts := lists.Map(slices.Sorted(maps.Keys(blocks)), func(name string) int { return len(blocks[name]) })
	each := strings.Join(lists.Map(counts, strconv.Itoa), ", ")
	if len(counts) > mostNodes {
		each = fmt.Sprintf("%d to %d each", slices.Min(counts), slices.Max(counts))
	}
	return fmt.Sprintf(" on %d nodes (%s)", len(counts), each)
}

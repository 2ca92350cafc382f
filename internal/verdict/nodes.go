package verdict

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/stats"
)

// Nodes compares the nodes that the blocks of a contrast ran on. It is read once, at
// the end: no verdict depends on it.
type Nodes struct {
	Each []Node // by name
	// P is the probability of nodes that differ as much if they are equal in truth; 1
	// where there are too few blocks to tell.
	P float64
	// Spread is the standard deviation between nodes, as a log ratio, and Mean their
	// mean with a 95% interval for all nodes like these; NaN where there are too few
	// nodes or blocks.
	Spread float64
	Mean   stats.Interval
}

// Node is what a contrast is on one node.
type Node struct {
	Name string
	N    int // blocks
	// Interval is a log ratio. Those of all nodes hold together at 95%.
	Interval stats.Interval
	Differs  bool // from the other nodes
}

// nodesDiffer is the probability of a false remark that the nodes of a contrast differ.
const nodesDiffer = .05

// Different reports whether the nodes differ more than blocks of one node do.
func (n Nodes) Different() bool { return n.P <= nodesDiffer }

// Named are the nodes that differ from the others.
func (n Nodes) Named() (names []string) {
	for _, one := range n.Each {
		if one.Differs {
			names = append(names, one.Name)
		}
	}
	return names
}

// nodesOf compares differences by the nodes of their blocks; nil if there are not at
// least two nodes.
func nodesOf(d []float64, nodes []string) *Nodes {
	groups := map[string][]float64{}
	for i, name := range nodes {
		groups[name] = append(groups[name], d[i])
	}
	if len(groups) < 2 {
		return nil
	}
	names := slices.Sorted(maps.Keys(groups))
	var values [][]float64
	for _, name := range names {
		values = append(values, groups[name])
	}
	v := stats.CompareNodes(values)
	n := &Nodes{P: v.P, Spread: v.Spread, Mean: v.Mean}
	for i, name := range names {
		n.Each = append(n.Each, Node{name, len(values[i]), v.Each[i], slices.Contains(v.Differ, i)})
	}
	return n
}

// describeNodes adds the nodes of a contrast, with a warning if they differ, or if the
// verdict is not that of each node.
func (e *entry) describeNodes(d []float64, blocks []int) {
	if len(e.of[0].nodes) == 0 {
		return
	}
	c, nodes := &e.contrast, make([]string, len(blocks))
	for i, b := range blocks {
		nodes[i] = e.of[0].nodes[b]
	}
	if c.Nodes = nodesOf(d, nodes); c.Nodes == nil || !c.Primary {
		return
	}
	if c.Nodes.Different() {
		c.warn(Warning{Code: NodesDiffer, Nodes: c.Nodes})
	}
	if against := lists.Filter(c.Nodes.Each, func(n Node) bool { return c.contradicts(n.Interval) }); len(against) > 0 {
		c.warn(Warning{Code: NotEachNode, Against: against})
	}
}

// contradicts reports whether the interval of one node excludes the verdict.
func (c *Contrast) contradicts(v stats.Interval) bool {
	switch c.Verdict {
	case Slower, Faster:
		return c.Estimate > 0 && v.High < 0 || c.Estimate < 0 && v.Low > 0
	case Equivalent:
		return v.Low > c.logMargin() || v.High < -c.logMargin()
	}
	return false
}

type nodeFields struct {
	Node string `json:"node"`
	N    int    `json:"n"`
	span
	Differs bool `json:"differs,omitempty"`
}

type nodesFields struct {
	Each   []nodeFields `json:"each"`
	P      float64      `json:"p"`
	Spread *float64     `json:"spread"`
	Mean   span         `json:"mean"`
}

func spanOf(v stats.Interval) span { return span{finite(v.Estimate), finite(v.Low), finite(v.High)} }

func (s span) interval() stats.Interval {
	return stats.Interval{Estimate: orElse(s.Estimate, math.NaN()), Low: orElse(s.Low, math.Inf(-1)), High: orElse(s.High, math.Inf(1))}
}

// MarshalJSON writes null where JSON has no number.
func (n Nodes) MarshalJSON() ([]byte, error) {
	out := nodesFields{P: n.P, Spread: finite(n.Spread), Mean: spanOf(n.Mean)}
	for _, one := range n.Each {
		out.Each = append(out.Each, nodeFields{one.Name, one.N, spanOf(one.Interval), one.Differs})
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Nodes) UnmarshalJSON(data []byte) error {
	var in nodesFields
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*n = Nodes{P: in.P, Spread: orElse(in.Spread, math.NaN()), Mean: in.Mean.interval()}
	for _, one := range in.Each {
		n.Each = append(n.Each, Node{one.Node, one.N, one.interval(), one.Differs})
	}
	return nil
}

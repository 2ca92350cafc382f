package parity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/lists"
)

// Nodes says what differs between the nodes of a run.
type Nodes struct {
	Names  []string   `json:"names,omitempty"` // that have fingerprints
	Differ []NodeFact `json:"differ,omitempty"`
}

// NodeFact is a fact in which nodes differ, in these environments.
type NodeFact struct {
	Fact         string      `json:"fact"`
	Environments []string    `json:"environments"`
	Values       []NodeValue `json:"values"`
}

// NodeValue is what some nodes have.
type NodeValue struct {
	Value string   `json:"value"`
	Nodes []string `json:"nodes"`
}

// AcrossNodes compares fingerprints of one environment with one workload, which each
// element of pairs has, between the nodes. differ returns the facts in which two of them
// differ. A node that does not expose a fact does not differ in it.
func AcrossNodes(pairs [][]Fingerprint, differ func(a, b Fingerprint) []string) (n Nodes) {
	for _, prints := range pairs {
		facts := map[string]bool{}
		for _, p := range prints {
			if p.Node != "" && !slices.Contains(n.Names, p.Node) {
				n.Names = append(n.Names, p.Node)
			}
			for _, fact := range differ(prints[0], p) {
				facts[fact] = true
			}
		}
		for fact := range facts {
			one := NodeFact{Fact: fact, Environments: []string{prints[0].Environment}, Values: valuesOn(prints, fact)}
			if same := lists.Find(n.Differ, func(f *NodeFact) bool { return f.compare(one) == 0 }); same == nil {
				n.Differ = append(n.Differ, one)
			} else if !slices.Contains(same.Environments, one.Environments[0]) {
				same.Environments = append(same.Environments, one.Environments[0])
			}
		}
	}
	slices.Sort(n.Names)
	slices.SortFunc(n.Differ, func(a, b NodeFact) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), a.compare(b))
	})
	return n
}

// rank puts facts about the nodes themselves first.
func (f NodeFact) rank() int {
	if strings.HasPrefix(f.Fact, "node[") {
		return 0
	}
	return 1
}

// compare orders differences by the fact, and then by what the nodes have.
func (f NodeFact) compare(other NodeFact) int {
	return cmp.Or(cmp.Compare(f.Fact, other.Fact), slices.CompareFunc(f.Values, other.Values, func(a, b NodeValue) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), slices.Compare(a.Nodes, b.Nodes))
	}))
}

// valuesOn are the values of a fact, that of most nodes first.
func valuesOn(prints []Fingerprint, fact string) (values []NodeValue) {
	nodes := map[string][]string{}
	for _, p := range prints {
		if f := p.fact(fact); f.Missing == "" {
			nodes[f.Value] = append(nodes[f.Value], p.Node)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(nodes)) {
		values = append(values, NodeValue{readable(value), nodes[value]})
	}
	slices.SortStableFunc(values, func(a, b NodeValue) int { return len(b.Nodes) - len(a.Nodes) })
	return values
}

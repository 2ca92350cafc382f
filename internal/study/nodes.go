package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/workload"
)

// Nodes are what blocks run on, side by side. The zero value leaves them to the
// environments: this machine, or one node of a cluster.
type Nodes struct {
	// Names of hosts of the study, or of nodes of a cluster; A+B is a pair.
	Names []string `json:"names,omitempty"`
	// All nodes of the cluster, or so many of them.
	All   bool `json:"all,omitempty"`
	Count int  `json:"count,omitempty"`
	// Parallel is how many of them work at the same time; 0 is all.
	Parallel int `json:"parallel,omitempty"`
}

// Set reports whether a study names nodes.
func (n Nodes) Set() bool { return n.All || n.Count > 0 || len(n.Names) > 0 }

// Words say which nodes work, and how many at the same time.
func (n Nodes) Words() string {
	text := strings.Join(n.Names, ", ")
	switch {
	case n.All:
		text = "all of the cluster"
	case n.Count > 0:
		text = fmt.Sprintf("%d of the cluster", n.Count)
	}
	if n.Parallel > 0 {
		text += fmt.Sprintf("; at most %d at the same time", n.Parallel)
	}
	return text
}

// OfNode returns the machine of the measured instances of a node, and that of the roles
// on the host: the same one, unless it is a pair A+B.
func OfNode(node string) (measured, beside string) {
	measured, beside, pair := strings.Cut(node, "+")
	if !pair {
		beside = measured
	}
	return measured, beside
}

// OnHosts reports whether the nodes are hosts of the study.
func (p *Plan) OnHosts() bool {
	if len(p.Nodes.Names) == 0 {
		return false
	}
	first, _ := OfNode(p.Nodes.Names[0])
	_, host := p.Hosts[first]
	return host
}

// On is the plan of the blocks on a node. Where that is a host, the environments are on
// it, and the roles on the host of a pair are on its second one.
func (p *Plan) On(node string) *Plan {
	if !p.OnHosts() {
		return p
	}
	measured, beside := OfNode(node)
	there := *p
	there.Environments = slices.Clone(p.Environments)
	for i := range there.Environments {
		there.Environments[i].Host = measured
	}
	if measured == beside {
		return &there
	}
	there.Workloads = slices.Clone(p.Workloads)
	for i := range there.Workloads {
		levels := slices.Clone(there.Workloads[i].Levels)
		for l := range levels {
			levels[l].Shape = levels[l].Shape.withHost(beside)
		}
		there.Workloads[i].Levels = levels
	}
	return &there
}

// withHost is the shape with the roles on the host on this one.
func (s Shape) withHost(name string) Shape {
	s.Roles = slices.Clone(s.Roles)
	for i := range s.Roles {
		if s.Roles[i].OnHost {
			s.Roles[i].Hosts = []string{name}
		}
	}
	if s.Neighbours != nil {
		neighbours := s.Neighbours.withHost(name)
		s.Neighbours = &neighbours
	}
	return s
}

// nodesSection is the word all, a number, or a list of names.
type nodesSection struct{ Nodes }

// DecodeNode reads one of the three.
func (s *nodesSection) DecodeNode(n strictyaml.Node) {
	text, scalar := n.Scalar()
	switch {
	case text == "all":
		s.All = true
	case scalar:
		if n.Decode(&s.Count); s.Count < 1 {
			n.Problemf("nodes: must be at least 1, or all, or a list of names")
		}
	default:
		if n.Decode(&s.Names); len(s.Names) == 0 {
			n.Problemf("nodes: names no node; leave it out to run on this machine")
		}
	}
}

// resolveNodes checks that blocks of the plan can run on the nodes.
func resolveNodes(root strictyaml.Node, s nodesSection, parallel *int, plan *Plan) {
	at := root.At("nodes")
	plan.Nodes = s.Nodes
	if parallel != nil {
		if plan.Nodes.Parallel = *parallel; *parallel < 1 {
			root.At("parallel").Problemf("parallel: must be at least 1")
		} else if !s.Set() {
			root.At("parallel").ProblemAtKey("parallel: is how many nodes work at the same time, so it needs nodes:")
		}
	}
	if !s.Set() {
		return
	}
	hosts, others := checkNodeNames(at, s.Names, plan.Hosts)
	if (len(s.Names) > 1 || s.All || s.Count > 1) && plan.Design.Order == "sequential" {
		root.At("design", "order").Problemf("order: sequential runs all blocks of an environment before the next, so they cannot run side by side on several nodes")
	}
	for _, e := range plan.Environments {
		_, known := environment.Lookup(e.Kind)
		placed := environment.CapabilitiesOf(e.Kind, nil).Placed
		of := root.At("environments", e.Name)
		switch {
		case !known: // said already
		case hosts == 0 && others == 0 && len(s.Names) > 0:
		case hosts > 0 && placed:
			of.ProblemAtKey("%s: kind %s runs on nodes of its cluster, and nodes: names hosts", e.Name, e.Kind)
		case hosts > 0 && e.Host != "":
			of.At("host").ProblemAtKey("host: nodes: puts all environments of a block onto one host; leave host: out")
		case hosts > 0 && e.Inside != nil:
			of.At("inside").ProblemAtKey("inside: only instances that are started on this machine can contain others, and nodes: names hosts")
		case hosts == 0 && !placed:
			of.ProblemAtKey("%s: kind %s does not run on nodes of a cluster: name hosts of the study in nodes: (hosts: says how to reach them)", e.Name, e.Kind)
		}
	}
	plan.checkNodeRoles(root)
}

// checkNodeNames counts the names of hosts and the others, and reports those that fit
// neither, and those that come twice.
func checkNodeNames(at strictyaml.Node, names []string, known map[string]Host) (hosts, others int) {
	seen := map[string]bool{}
	for i, name := range names {
		measured, beside := OfNode(name)
		both := []string{measured}
		if beside != measured {
			both = append(both, beside)
		}
		for _, one := range both {
			_, host := known[one]
			switch {
			case one == "" || strings.ContainsAny(one, "+ ") || strings.Count(name, "+") == len(both):
				at.At(i).Problemf("nodes: %q is neither a name nor a pair of two, such as h1+h2", name)
				return 0, 0
			case seen[one]:
				at.At(i).Problemf("nodes: %s is listed twice, and would run two blocks at the same time", one)
				return 0, 0
			case host:
				hosts++
			default:
				others++
			}
			seen[one] = true
			if hosts > 0 && others > 0 {
				at.At(i).Problemf("nodes: are hosts of the study or nodes of a cluster, and not both: the hosts are %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
				return 0, 0
			}
		}
	}
	return hosts, others
}

// checkNodeRoles reports workloads whose roles have a place that blocks side by side
// cannot share, and pairs whose second node is not used.
func (p *Plan) checkNodeRoles(root strictyaml.Node) {
	pair := slices.ContainsFunc(p.Nodes.Names, func(name string) bool { return strings.Contains(name, "+") })
	roles := 0
	for i, w := range p.Workloads {
		at := root.At("workloads", i)
		for _, role := range w.Pack.RoleNames() {
			if on := w.Pack.Roles[role].Hosts; len(on) > 0 {
				at.Problemf("place: role %s of workload %s is on %s, and with nodes: several blocks would use it at the same time; place it on host, and name pairs of hosts: nodes: [h1+%[3]s]", role, w.Name, strings.Join(on, ", "))
				return
			}
			if w.Pack.Place(role) == workload.OnHost {
				roles++
			}
		}
		for _, l := range w.Levels {
			if many := slices.IndexFunc(l.Shape.Roles, func(r RoleShape) bool { return r.OnHost && r.Count > 1 }); pair && many >= 0 && p.OnHosts() {
				at.Problemf("place: role %s of workload %s has %d instances on the host, and the second host of a pair has one address for them", l.Shape.Roles[many].Name, w.Name, l.Shape.Roles[many].Count)
				return
			}
		}
	}
	if pair && roles == 0 {
		root.At("nodes").Problemf("nodes: the second node of a pair is for roles on the host, and no workload has any: add place: {driver: host}")
	}
}

// SetParallel replaces how many nodes work at the same time.
func (p *Plan) SetParallel(n int) error {
	if !p.Nodes.Set() {
		return fmt.Errorf("parallel: is how many nodes work at the same time, and the study has no nodes:")
	}
	p.Nodes.Parallel = n
	return nil
}

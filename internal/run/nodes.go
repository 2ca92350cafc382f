package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/study"
)

// openNodes connects to the hosts that blocks run on. One that is not reached gets no
// blocks.
func (e *execution) openNodes(ctx context.Context) error {
	e.gone = map[string]string{}
	if !e.Plan.OnHosts() {
		return nil
	}
	e.nodes, e.elsewhere = e.Plan.Nodes.Names, true
	e.run.Manifest.Nodes = e.nodes
	for _, node := range e.nodes {
		measured, beside := study.OfNode(node)
		for _, name := range unique([]string{measured, beside}) {
			if r := e.openHost(ctx, name); r.err != nil && e.gone[node] == "" {
				e.gone[node] = fmt.Sprintf("host %s, with a tare on it: %v", name, r.err)
			}
		}
	}
	e.noteElsewhere()
	return e.needNode()
}

func (e *execution) noteElsewhere() {
	text := "blocks run on other machines than this one: trials have neither the pressure on the machine nor its canary"
	if e.Plan.Design.Quiet > 0 {
		text += ", and quiet: does not wait until they are idle"
	}
	e.events(Event{Kind: Noted, Message: text})
}

// needNode is the error of a run without a node to run on.
func (e *execution) needNode() error {
	if len(e.nodes) == 0 || len(e.working()) > 0 {
		return nil
	}
	reasons := lists.Map(e.nodes, func(node string) string { return node + ": " + e.gone[node] })
	return fmt.Errorf("no node can be used; %s", strings.Join(reasons, "; "))
}

// working are the nodes that get blocks.
func (e *execution) working() []string {
	return lists.Filter(e.nodes, func(node string) bool { return e.gone[node] == "" })
}

// firstNode is a node on which an environment can be looked at.
func (e *execution) firstNode() string {
	if working := e.working(); len(working) > 0 {
		return working[0]
	}
	return ""
}

// placedOn is the node for an instance of an environment that is placed on nodes.
func (e *execution) placedOn(in environment.Environment) (node string) {
	if _, placed := in.(environment.Placed); placed {
		node, _ = study.OfNode(e.firstNode())
	}
	return node
}

// checkOnNodes checks an environment on each host that blocks run on. One that does not
// work on all of them is left out.
func (e *execution) checkOnNodes(ctx context.Context, p study.Environment) (first environment.Environment, facts rundir.EnvironmentFacts, err error) {
	for _, node := range e.working() {
		name, _ := study.OfNode(node)
		env, there, err := e.checkOn(ctx, p, name)
		if err != nil || env == nil {
			return nil, there, err
		}
		e.slots[instances.HostSlot{Environment: p.Name, Host: name}] = instances.HostEnvironment{Environment: env}
		if first == nil {
			first, facts.State = env, there.State
		}
		facts.Findings = append(facts.Findings, there.Findings...)
	}
	return first, facts, nil
}

// goneWith takes the blocks from the node with a host; false where no other is left.
func (e *execution) goneWith(host string, err error) bool {
	for _, node := range e.working() {
		if measured, beside := study.OfNode(node); measured == host || beside == host {
			e.gone[node] = err.Error()
		}
	}
	return e.needNode() == nil
}

// place finds the nodes of environments that are placed on nodes of a cluster.
func (e *execution) place(ctx context.Context) error {
	placed := map[string]environment.Placed{}
	var available []string
	for _, name := range e.usable {
		p, is := e.prepared[name].(environment.Placed)
		if !is {
			continue
		}
		nodes, err := p.Nodes(ctx)
		if err != nil {
			return fmt.Errorf("the nodes that %s can run on: %w", name, err)
		}
		if len(placed) > 0 {
			nodes = lists.Filter(available, func(node string) bool { return slices.Contains(nodes, node) })
		}
		placed[name], available = p, nodes
	}
	if len(placed) == 0 {
		return nil
	}
	if err := e.chooseNodes(slices.Sorted(maps.Keys(placed)), available); err != nil {
		return err
	}
	if onHost(e.Plan) {
		e.beside = map[string]environment.Environment{}
		for name, p := range placed {
			e.beside[name] = p.Beside()
		}
	}
	if e.elsewhere = len(placed) == len(e.usable); e.elsewhere {
		e.noteElsewhere()
	}
	return e.needNode()
}

// chooseNodes says which of the available nodes blocks run on: those of the study, and
// when the run is resumed those that it began with.
func (e *execution) chooseNodes(names, available []string) error {
	wanted := e.Plan.Nodes
	e.nodes = e.run.Manifest.Nodes
	switch {
	case len(e.nodes) > 0: // resumed
	case len(available) == 0:
		return fmt.Errorf("no node can run %s", strings.Join(names, ", "))
	case len(wanted.Names) > 0:
		e.nodes = wanted.Names
	case wanted.All:
		e.nodes = available
	case wanted.Count > len(available):
		return fmt.Errorf("nodes: %d, and %s can run on %d: %s", wanted.Count, strings.Join(names, ", "), len(available), strings.Join(available, ", "))
	default:
		e.nodes = available[:max(1, wanted.Count)]
		if !wanted.Set() {
			e.events(Event{Kind: Noted, Message: fmt.Sprintf("all blocks run on node %s, one of %d: nodes: in the study names others", e.nodes[0], len(available))})
		}
	}
	e.run.Manifest.Nodes = e.nodes
	for _, node := range e.nodes {
		measured, beside := study.OfNode(node)
		for _, name := range []string{measured, beside} {
			if !slices.Contains(available, name) {
				e.gone[node] = fmt.Sprintf("%s cannot run on %s now", strings.Join(names, ", "), name)
			}
		}
	}
	return nil
}

// retireGone tells the schedule which nodes get no more blocks, and says which it gives
// none.
func (e *execution) retireGone() {
	for _, node := range e.nodes {
		e.deciding.Lock()
		if reason := e.gone[node]; reason != "" {
			e.schedule.Retire(node, reason)
		}
		reason := e.schedule.Retired(node)
		e.deciding.Unlock()
		m := &e.run.Manifest
		session := &m.Sessions[len(m.Sessions)-1]
		if reason = e.secrets.Mask(reason); reason == "" || session.Gone[node] != "" {
			continue
		}
		if session.Gone == nil {
			session.Gone = map[string]string{}
		}
		e.gone[node], session.Gone[node] = reason, reason
		e.events(Event{Kind: Noted, Message: fmt.Sprintf("node %s gets no more blocks: %s", node, reason)})
	}
}

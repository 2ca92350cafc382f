package study

import (
	"slices"

	"tare/internal/base/strictyaml"
	"tare/internal/workload"
)

// NeighbourRole is the entry of pin: that applies to all steps of neighbours;
// without it the entries of their own roles apply.
const NeighbourRole = "neighbour"

// HasNeighbours says whether any level has neighbours.
func (w Workload) HasNeighbours() bool {
	return slices.ContainsFunc(w.Levels, func(l Level) bool { return l.Neighbours > 0 })
}

// resolveNeighbour resolves what the neighbours run: the workload that the entry
// names, or the measured one.
func (w *Workload) resolveNeighbour(entry strictyaml.Node, pairs []strictyaml.Pair, file *File, problems *strictyaml.Problems) {
	var at strictyaml.Node
	if i := slices.IndexFunc(pairs, func(p strictyaml.Pair) bool { return p.Key == "neighbour" }); i >= 0 {
		at = pairs[i].Value
	}
	if !w.HasNeighbours() {
		if at.Exists() {
			at.Problemf("neighbour: has no effect without neighbours: set their number, such as neighbours: 2")
		}
		return
	}
	same := w.Pack
	w.Neighbour = &same // unless another one is named
	switch {
	case w.Pack.FromStart():
		entry.Problemf("neighbours: workload %s measures the start of instances, so it cannot have neighbours", w.Pack.Name)
		return
	case !at.Exists():
		for i := range w.Levels {
			if w.Levels[i].Neighbours > 0 {
				w.Levels[i].Neighbour = w.Levels[i].Parameters
			}
		}
		return
	}
	pack := packOf(at, file, problems)
	if pack == nil {
		return
	}
	if pack.Startup {
		at.Problemf("neighbour: workload %s has no driver that could run as a neighbour", pack.Name)
		return
	}
	var own []strictyaml.Pair
	for _, p := range at.Pairs() {
		if p.Key != "use" && slices.Contains(workload.Reserved, p.Key) {
			p.Value.ProblemAtKey("neighbour: %s: not possible for neighbours: their pack defines how they run, and neighbours: their number", p.Key)
			continue
		}
		own = append(own, p)
	}
	levels := resolveLevels(own, pack)
	if len(levels) != 1 {
		at.Problemf("neighbour: has several levels; give each of its parameters one value, and sweep only neighbours:")
		return
	}
	for i := range w.Levels {
		if w.Levels[i].Neighbours > 0 {
			w.Levels[i].Neighbour = levels[0].Parameters
		}
	}
	w.Neighbour = pack
}

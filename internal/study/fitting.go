package study

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
)

// spareMemory is the part of the available memory that the instances of a block
// leave to the drivers, the engines and the page cache.
const spareMemory = 10 // a tenth

// Groups says which of these environments are in the same blocks for a workload
// at a level, apart from the baseline, which is in all of them. Where samples
// alternate, the instances of a block live at the same time: environments whose
// limits of memory exceed what was available when the run began take turns. An
// environment that does not even fit beside the baseline has a turn of its own.
func (p *Plan) Groups(w Workload, l Level, usable []string) [][]string {
	others := slices.DeleteFunc(slices.Clone(usable), func(name string) bool { return name == p.Baseline })
	if p.AvailableMemory == 0 || !p.together(w, l) || len(p.Steps) > 0 || w.Fresh == "run" {
		return [][]string{others} // a ladder compares neighbours; a run's instances live on
	}
	free := p.AvailableMemory - p.AvailableMemory/spareMemory - p.memoryOf(p.Baseline, l)
	var groups [][]string
	var left quantity.Bytes
	for _, name := range others {
		needs := p.memoryOf(name, l)
		if len(groups) == 0 || needs > left {
			groups, left = append(groups, nil), free
		}
		last := len(groups) - 1
		groups[last], left = append(groups[last], name), left-needs
	}
	if groups == nil {
		return [][]string{nil}
	}
	return groups
}

// Turns is how many blocks it takes until each of these environments had its turn
// in all workloads.
func (p *Plan) Turns(usable []string) int {
	turns := 1
	for _, w := range p.Workloads {
		for _, l := range w.Levels {
			turns = max(turns, len(p.Groups(w, l, usable)))
		}
	}
	return turns
}

// Fitting says which of these environments take turns, and which need more memory
// in one block than was available; nothing where all of them fit.
func (p *Plan) Fitting(usable []string) (remarks []string) {
	add := func(format string, values ...any) {
		if text := fmt.Sprintf(format, values...); !slices.Contains(remarks, text) {
			remarks = append(remarks, text)
		}
	}
	for _, w := range p.Workloads {
		for _, l := range w.Levels {
			if p.AvailableMemory == 0 || !p.together(w, l) {
				continue
			}
			groups := p.Groups(w, l, usable)
			if len(groups) > 1 {
				words := lists.Map(groups, func(names []string) string { return strings.Join(names, ", ") })
				add("%s: the limits of memory of all environments exceed the %s that is available, so they take turns of a block each beside %s: %s",
					strings.TrimSpace(w.Name+" "+l.Name), p.AvailableMemory, p.Baseline, strings.Join(words, "; "))
			}
			for _, group := range groups {
				needs := p.memoryOf(p.Baseline, l)
				for _, name := range group {
					needs += p.memoryOf(name, l)
				}
				if needs > p.AvailableMemory {
					add("%s: %s may use up to %s at the same time, and %s is available: set a smaller limits: memory, or order: interleaved",
						strings.TrimSpace(w.Name+" "+l.Name), strings.Join(append([]string{p.Baseline}, group...), ", "), needs, p.AvailableMemory)
				}
			}
		}
	}
	return remarks
}

// together says whether the instances of all environments of a block live at the
// same time: the last ones of a workload that starts several also serve the block's
// other workloads.
func (p *Plan) together(w Workload, l Level) bool {
	return p.Rounds(w, l) > 0 && w.Fresh != "trial"
}

// memoryOf is the limit of memory of all instances of an environment on this
// machine; 0 where they have none.
func (p *Plan) memoryOf(name string, l Level) quantity.Bytes {
	e := p.Environment(name)
	if e.Inside != nil {
		e = e.Inside
	}
	if e.Host != "" {
		return 0
	}
	return e.Limits.Memory * quantity.Bytes(l.Shape.here())
}

// here is how many instances there are on the environment's own host.
func (s Shape) here() (n int) {
	if s.Together {
		n++
	}
	for _, r := range s.Roles {
		if !r.OnHost && len(r.Hosts) == 0 {
			n += r.Count
		}
	}
	n *= s.Copies
	if s.Neighbours != nil {
		n += s.Neighbours.here()
	}
	return n
}

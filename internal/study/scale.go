package study

import (
	"slices"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

// scale is a variant of the study in another size: its values replace those of the
// study at the same keys.
type scale struct {
	Limits       section `yaml:"limits"`
	Environments section `yaml:"environments"`
	Workloads    section `yaml:"workloads"`
	Design       section `yaml:"design"`
}

// resolveScale finds a scale by its name. All scales are decoded, so that a problem
// in one shows at once.
func resolveScale(scales section, name string) (scale, error) {
	var chosen scale
	var names []string
	for _, p := range scales.Pairs() {
		names = append(names, p.Key)
		var s scale
		p.Value.Decode(&s)
		if p.Key == name {
			chosen = s
		}
	}
	if name != "" && !slices.Contains(names, name) {
		if len(names) == 0 {
			return chosen, &unknownScale{"the study has no scales: run it without --scale"}
		}
		return chosen, &unknownScale{strictyaml.Unknown("scale", name, names)}
	}
	return chosen, nil
}

// unknownScale is an error of the command line, not of the file.
type unknownScale struct{ message string }

func (e *unknownScale) Error() string { return "scale: " + e.message }

// pairsOver are the entries of a mapping, with those of another one replacing the
// same keys or added at the end.
func pairsOver(entry, over strictyaml.Node) []strictyaml.Pair {
	pairs := entry.Pairs()
	if !over.Exists() || over.IsNull() {
		return pairs
	}
	for _, p := range over.Pairs() {
		at := slices.IndexFunc(pairs, func(own strictyaml.Pair) bool { return own.Key == p.Key })
		if at < 0 {
			pairs = append(pairs, p)
		} else {
			pairs[at] = p
		}
	}
	return pairs
}

// at is the node of a scale for a name; the zero Node where it has none.
func (s section) at(name string) strictyaml.Node {
	if found, given := s.Get(name); given {
		return found
	}
	return strictyaml.Node{}
}

// checkScales reports names in any scale that the study does not have.
func checkScales(scales section, plan *Plan) {
	for _, p := range scales.Pairs() {
		var s scale
		p.Value.Decode(&s) // problems of form are reported by resolveScale
		s.Environments.checkNames("environment", environmentNames(plan.Environments))
		s.Workloads.checkNames("workload", lists.Map(plan.Workloads, func(w Workload) string { return w.Name }))
	}
}

// checkNames reports names in a scale that the study does not have.
func (s section) checkNames(what string, known []string) {
	if !s.Exists() || s.IsNull() {
		return
	}
	for _, p := range s.Pairs() {
		if !slices.Contains(known, p.Key) {
			p.Value.ProblemAtKey("%s", strictyaml.Unknown(what, p.Key, known))
		}
	}
}

package study

import (
	"slices"

	"tare/internal/strictyaml"
)

// scale is the study in another size: what it says stands in place of what the
// study says at the same key. Workloads are named; what a scale does not name
// stays as it is.
type scale struct {
	Limits       section `yaml:"limits"`
	Environments section `yaml:"environments"`
	Workloads    section `yaml:"workloads"`
	Design       section `yaml:"design"`
}

// resolveScale finds the scale that was asked for; all of them are read, so
// that a mistake in one shows before anybody needs it.
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
			return chosen, &unknownScale{"the study has no scales: it runs as it is written, without --scale"}
		}
		return chosen, &unknownScale{strictyaml.Unknown("scale", name, names)}
	}
	return chosen, nil
}

// unknownScale is about the command line, not about the file.
type unknownScale struct{ message string }

func (e *unknownScale) Error() string { return "scale: " + e.message }

// pairsOver are the entries of a mapping with those of another one in place of
// the same keys, and what only the other one has at the end.
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

// at is the part of a scale about one name; nothing where it says nothing.
func (s section) at(name string) strictyaml.Node {
	if found, given := s.Get(name); given {
		return found
	}
	return strictyaml.Node{}
}

// checkNames finds names in a scale that the study does not have.
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

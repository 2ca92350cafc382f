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

// settings are the entries of a mapping.
type settings []strictyaml.Pair

// at is the value of a key; the zero Node where it is not there.
func (s settings) at(key string) (value strictyaml.Node) {
	if p := lists.Find(s, func(p *strictyaml.Pair) bool { return p.Key == key }); p != nil {
		value = p.Value
	}
	return value
}

// over are the settings, with those of another mapping replacing the same keys or added at
// the end.
func (s settings) over(other strictyaml.Node) settings {
	for _, p := range other.Pairs() {
		if own := lists.Find(s, func(own *strictyaml.Pair) bool { return own.Key == p.Key }); own != nil {
			*own = p
		} else {
			s = append(s, p)
		}
	}
	return s
}

// checkScales reports names in any scale that the study does not have.
func checkScales(scales section, plan *Plan) {
	for _, p := range scales.Pairs() {
		var s scale
		p.Value.Decode(&s) // problems of form are reported by resolveScale
		s.Environments.checkNames("environment", environmentNames(plan.Environments))
		s.Workloads.checkNames("workload", plan.workloadNames())
	}
}

// checkNames reports names in a scale that the study does not have.
func (s section) checkNames(what string, known []string) {
	for _, p := range s.Pairs() {
		if !slices.Contains(known, p.Key) {
			p.Value.ProblemAtKey("%s", strictyaml.Unknown(what, p.Key, known))
		}
	}
}

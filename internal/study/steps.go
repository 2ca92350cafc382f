package study

import "slices"

// Rung says whether an environment is between the two ends of a ladder: it is
// compared with the environments next to it, not with the baseline.
func (p *Plan) Rung(name string) bool {
	if len(p.Steps) == 0 || name == p.Baseline {
		return false
	}
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Part == "" && s.Environment == name })
}

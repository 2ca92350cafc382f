package study

// Rung says whether an environment is between the two ends of a ladder: it is
// compared with the environments next to it, not with the baseline.
func (p *Plan) Rung(name string) bool {
	if len(p.Steps) == 0 || name == p.Baseline {
		return false
	}
	for _, s := range p.Steps {
		if s.Part == "" && s.Environment == name {
			return false
		}
	}
	return true
}

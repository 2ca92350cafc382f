package study

// Rung says whether an environment stands on a ladder between its two ends: it
// is compared with its neighbours alone, and not with the baseline.
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

package published

// Ratio is one printed figure relative to that of a baseline.
type Ratio struct {
	Table       *Table
	Level       Level // nil for a table without levels
	Environment *Environment
	Baseline    *Environment

	Value     float64 // environment over baseline
	Low, High float64 // for figures that round to the printed ones
}

// Ratios are over the study's own baseline; none where it has none.
func (s *Study) Ratios() []Ratio { return s.RatiosOver(s.Baseline) }

// RatiosOver are over any of its environments.
func (s *Study) RatiosOver(baseline string) []Ratio {
	base := s.environmentByID(baseline)
	if base == nil {
		return nil
	}
	var list []Ratio
	for i := range s.Tables {
		t := &s.Tables[i]
		for _, row := range t.rows() {
			b, ok := row.Cells[baseline]
			if !ok || b.Empty {
				continue
			}
			for j := range s.Environments {
				e := &s.Environments[j]
				c, ok := row.Cells[e.ID]
				if !ok || c.Empty || e == base {
					continue
				}
				if r, ok := c.Value.span().over(b.Value.span()); ok {
					list = append(list, Ratio{t, row.At, e, base, r.mid, r.low, r.high})
				}
			}
		}
	}
	return list
}

package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/papers/published"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Against compares one run or several with a published study: ratios to the baseline only,
// since the hardware differs.
type Against struct {
	Study      *published.Study
	Baseline   string // the study's name of the counterpart of the run's baseline
	Rows       []AgainstRow
	Absent     []string // environments of the study that the run does not have
	Unmeasured []string // printed, with a counterpart in tare that this run did not measure
	Gaps       []string // printed, and compared with no run, with the reason
	Cautions   []string
	Claims     []published.ClaimResult // judged by this run
}

// AgainstRow is one printed ratio with the measured one.
type AgainstRow struct {
	Workload, Metric, Level string
	Environment             string  // of the run
	Name                    string  // of the study
	Table, Place            string  // of the study
	Published               float64 // log ratio
	Measured, Low, High     float64 // log ratios
	Bounded                 bool    // Low and High are there
	Levels                  int     // of the run that Measured is taken of
	Taken                   string  // mean, best, worst or widest, of several levels
	Differs                 string  // what is not as it was printed: the technology, an option
	Label                   string  // "tcg"
	Confound                string  // what besides the layer differs, of one level
	Unit                    string
}

// Compared describes the measured ratio relative to the printed one.
func (r AgainstRow) Compared() string {
	switch {
	case r.Bounded && r.Low <= r.Published && r.Published <= r.High:
		return "inside the interval"
	case r.Bounded && r.Low < 0 && r.High > 0:
		return "outside the interval; no change measured"
	case r.Published*r.Measured > 0:
		return "same direction"
	case r.Published == 0:
		return "no change published"
	case r.Measured == 0:
		return "no change measured"
	}
	return "opposite direction"
}

// Interval is the measured interval, or "" where there is none.
func (r AgainstRow) Interval() string {
	if !r.Bounded {
		return ""
	}
	return verdict.EndsText(r.Measured, r.Low, r.High)
}

// ComparePublished compares runs with everything that a study printed: a ratio with the
// first run that measured it.
func ComparePublished(s *published.Study, runs ...Input) *Against {
	a := &Against{Study: s, Claims: Claims(s, runs...)}
	found, measured := map[string]bool{}, map[string]bool{} // environments and ratios of the study
	compared := 0                                           // runs
	for _, in := range runs {
		one, comparable := &Against{Study: s}, false
		for i := range s.Tables {
			t := &s.Tables[i]
			pairs := in.pairings(s, t)
			base := ""
			for id, p := range pairs {
				found[id] = true
				if p.mine == in.Plan.Baseline {
					base = id
				}
			}
			if base != "" {
				a.Baseline, comparable = s.Name(base), true
				one.compare(in, t, pairs, s.RatiosOf(t, base))
			}
		}
		for _, r := range one.Rows {
			if key := fmt.Sprint(r.Table, r.Level, r.Name, r.Published); !measured[key] {
				measured[key] = true
				a.Rows = append(a.Rows, r)
			}
		}
		if !comparable {
			continue
		}
		if compared++; compared > 1 { // what no run measured
			one.Unmeasured = lists.Filter(one.Unmeasured, func(text string) bool { return slices.Contains(a.Unmeasured, text) })
		}
		a.Unmeasured, a.Gaps = one.Unmeasured, one.Gaps
		a.Cautions = append(a.Cautions, lists.Filter(one.Cautions, func(text string) bool { return !slices.Contains(a.Cautions, text) })...)
	}
	for _, e := range s.Environments {
		if !found[e.ID] {
			a.Absent = append(a.Absent, strings.TrimSuffix(e.Name+": "+e.Gap, ": "))
		}
	}
	return a
}

// compare adds the ratios of one table.
func (a *Against) compare(in Input, t *published.Table, pairs map[string]pairing, printed []published.Ratio) {
	var gaps []string // levels that the run does not have
	begun, comparable := false, false
	for _, r := range printed {
		p, paired := pairs[r.Environment.ID]
		if !paired || len(t.Measures) == 0 || t.Unlike[r.Environment.ID]+t.Unlike[r.Baseline.ID] != "" {
			continue
		}
		comparable = true
		row, caution, ok := in.counterpart(r, p.mine)
		if !ok {
			if level := r.Level.String(); !slices.Contains(gaps, level) {
				gaps = append(gaps, level)
			}
			continue
		}
		begun = true
		row.Differs = differing(r, p, pairs[r.Baseline.ID])
		a.Rows = append(a.Rows, row)
		if caution = t.Metric + ": " + caution; !strings.HasSuffix(caution, ": ") && !slices.Contains(a.Cautions, caution) {
			a.Cautions = append(a.Cautions, caution)
		}
	}
	at := t.Metric + " (" + t.Place + ")"
	switch {
	case begun && len(gaps) > 0 && len(t.Rows) > 0:
		a.Unmeasured = append(a.Unmeasured, t.Metric+" at "+strings.Join(gaps, ", at ")+" ("+t.Place+")")
	case begun:
	case t.Gap != "":
		a.Gaps = append(a.Gaps, at+": "+t.Gap)
	case comparable:
		a.Unmeasured = append(a.Unmeasured, at)
	}
}

// differing says what of the two environments of a ratio differs from the printed ones.
func differing(r published.Ratio, p, base pairing) string {
	said := slices.Clone(p.differs)
	for _, d := range base.differs {
		if !slices.Contains(said, d) {
			said = append(said, r.Baseline.Name+" "+d)
		}
	}
	return strings.Join(said, "; ")
}

// counterpart is the first of what measures a table that the run has.
func (in Input) counterpart(r published.Ratio, environment string) (AgainstRow, string, bool) {
	for _, m := range r.Table.Measures {
		if row, ok := in.measured(m, r, environment); ok {
			return row, m.Caution, true
		}
	}
	return AgainstRow{}, "", false
}

// measured is the ratio of the run. A printed figure without a level is compared
// with all levels of the run, as the counterpart takes them.
func (in Input) measured(m published.Counterpart, r published.Ratio, environment string) (AgainstRow, bool) {
	row := AgainstRow{Environment: environment, Name: r.Environment.Name, Metric: m.Metric, Table: r.Table.ID, Place: r.Table.Place, Published: math.Log(r.Value)}
	if !(r.Value > 0) {
		return row, false
	}
	var found []*verdict.Contrast
	for i := range in.Contrasts {
		c := &in.Contrasts[i]
		if c.Environment == environment && c.Metric == m.Metric && c.Part == "" && c.N > 0 && in.alike(c, m, r.Level) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return row, false
	}
	row.Workload, row.Level, row.Label, row.Unit, row.Levels = found[0].Workload, found[0].Level, found[0].Label, found[0].Unit, len(found)
	if len(found) == 1 {
		c := found[0]
		if row.Measured = c.Point(); c.IntervalN > 0 {
			row.Measured, row.Low, row.High = c.Estimate, c.Low, c.High
			row.Bounded = c.Bounded()
		}
		row.Confound = confoundOf(c)
		return row, true
	}
	for _, c := range found {
		if c.Workload == row.Workload {
			continue
		}
		if m.Take == "" {
			return row, false // ambiguous: two workloads fit
		}
		row.Workload = m.Workload
	}
	row.Taken = cmp.Or(m.Take, "mean")
	row.Level = fmt.Sprintf("%s of %d levels", row.Taken, len(found))
	if all := in.levels(found, m, r.Level); all > len(found) {
		row.Level = fmt.Sprintf("%s of %d of %d levels", row.Taken, len(found), all)
	}
	var ok bool
	row.Measured, ok = taken(row.Taken, found)
	return row, ok
}

// confoundOf says why a contrast has †; "" where it has none.
func confoundOf(c *verdict.Contrast) string {
	if c.Withheld() {
		return c.Reason.String()
	}
	for _, w := range c.Warnings {
		if w.Code == verdict.Confound {
			return w.String()
		}
	}
	return ""
}

// taken is one ratio of several levels.
func taken(how string, found []*verdict.Contrast) (ratio float64, ok bool) {
	value, base := found[0].Values.Median, found[0].Base.Median
	pick := func(a, b float64) float64 {
		if (how == "best") == (found[0].Better == "lower") {
			return min(a, b)
		}
		return max(a, b)
	}
	for _, c := range found[1:] {
		switch {
		case how == "mean":
			value, base = value+c.Values.Median, base+c.Base.Median
		case how != "widest":
			value, base = pick(value, c.Values.Median), pick(base, c.Base.Median)
		case math.Abs(math.Log(c.Values.Median/c.Base.Median)) > math.Abs(math.Log(value/base)):
			value, base = c.Values.Median, c.Base.Median
		}
	}
	return math.Log(value / base), value > 0 && base > 0
}

// alike reports whether a contrast has the workload, the parameters and the level
// that were printed.
func (in Input) alike(c *verdict.Contrast, m published.Counterpart, at published.Level) bool {
	for _, w := range in.Plan.Workloads {
		if w.Name != c.Workload || w.Name != m.Workload && w.Pack.Name != m.Workload {
			continue
		}
		for _, l := range w.Levels {
			if l.Name == c.Level {
				return printedAt(w, l, m, at)
			}
		}
	}
	return false
}

// printedAt reports whether a level has the parameters of a counterpart and the printed
// ones.
func printedAt(w study.Workload, l study.Level, m published.Counterpart, at published.Level) bool {
	for name, want := range m.With {
		if l.Parameters[name] != want {
			return false
		}
	}
	for name, want := range at {
		if row, said := m.Rows[name]; said {
			if row != want {
				return false
			}
			continue
		}
		mine := cmp.Or(m.Levels[name], name)
		has := l.Parameters[mine]
		if mine == "instances" {
			has = fmt.Sprint(max(l.Instances, 1))
		}
		if normal, err := w.Pack.Parameters[mine].Normalize(want); err == nil {
			want = normal
		}
		if has != want {
			return false
		}
	}
	return true
}

// levels counts those of the workloads that a printed figure is about.
func (in Input) levels(found []*verdict.Contrast, m published.Counterpart, at published.Level) (n int) {
	for _, w := range in.Plan.Workloads {
		if !slices.ContainsFunc(found, func(c *verdict.Contrast) bool { return c.Workload == w.Name }) {
			continue
		}
		for _, l := range w.Levels {
			if printedAt(w, l, m, at) {
				n++
			}
		}
	}
	return n
}

// AgainstLead describes what is compared, or why nothing is.
func (v *Report) AgainstLead() string {
	a := v.Against
	switch {
	case a.Baseline == "":
		return fmt.Sprintf("The baseline %s matches no environment of %s, so there is nothing to compare.", v.Base.Shown, a.Study.Study)
	case len(a.Rows) == 0:
		return fmt.Sprintf("%s published nothing that this run measured.", a.Study.Study)
	}
	return fmt.Sprintf("Ratios to the baseline: %s in the study, %s in this run. Absolute values are not compared, since the hardware differs. Intervals are those of this run; published ratios have none.", a.Baseline, v.Base.Shown)
}

// AgainstName is the name of a row: the environment, and its name in the study where
// that differs.
func (v *Report) AgainstName(r AgainstRow) string {
	shown := v.ShownName(r.Environment)
	if strings.EqualFold(r.Environment, r.Name) {
		return shown
	}
	return shown + " (" + r.Name + ")"
}

// AgainstRemarks stand below the rows.
func (v *Report) AgainstRemarks() []string {
	remarks := slices.Clone(v.Against.Cautions)
	for _, how := range []struct{ taken, remark string }{
		{"mean", "a mean over levels is the ratio of the mean medians; it has no interval"},
		{"best", "the best of several levels is the best median of each environment; it has no interval"},
		{"worst", "the worst of several levels is the worst median of each environment; it has no interval"},
		{"widest", "the widest of several levels is the ratio that is furthest from no change; it has no interval"},
	} {
		if slices.ContainsFunc(v.Against.Rows, func(r AgainstRow) bool { return r.Levels > 1 && r.Taken == how.taken }) {
			remarks = append(remarks, how.remark)
		}
	}
	if a := v.Against.Absent; len(a) > 0 {
		remarks = append(remarks, "environments not in this run: "+strings.Join(a, "; "))
	}
	if u := v.Against.Unmeasured; len(u) > 0 {
		remarks = append(remarks, "not measured in this run: "+strings.Join(u, "; "))
	}
	if g := v.Against.Gaps; len(g) > 0 {
		remarks = append(remarks, "compared with no run: "+strings.Join(g, "; "))
	}
	return remarks
}

package model

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/papers/published"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Against compares a run with a published study: ratios to the baseline only,
// since the hardware differs.
type Against struct {
	Study      *published.Study
	Baseline   string // the study's name of the counterpart of the run's baseline
	Rows       []AgainstRow
	Absent     []string // environments of the study that the run does not have
	Unmeasured []string // printed, with a counterpart in tare that this run did not measure
	Cautions   []string
}

// AgainstRow is one printed ratio with the measured one.
type AgainstRow struct {
	Workload, Metric, Level string
	Environment             string // of the run
	Name                    string // of the study
	Place                   string
	Published               float64 // log ratio
	Measured, Low, High     float64 // log ratios
	Bounded                 bool    // Low and High are there
	Levels                  int     // of the run that Measured is the mean of
	Label                   string  // "tcg"
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
	return "[" + strings.Join(verdict.Changes(r.Low, r.High), ", ") + "]"
}

// ComparePublished compares a run with everything that a study printed.
func ComparePublished(in Input, s *published.Study) *Against {
	a := &Against{Study: s}
	pairs := counterparts(in, s)
	var base string
	for id, name := range pairs {
		if name == in.Plan.Baseline {
			base = id
		}
	}
	a.Baseline = s.Name(base)
	for _, e := range s.Environments {
		if e.ID != base && pairs[e.ID] == "" {
			a.Absent = append(a.Absent, e.Name)
		}
	}
	gaps := map[*published.Table][]string{} // levels that the run does not have
	begun := map[*published.Table]bool{}
	var tables []*published.Table
	for _, r := range s.RatiosOver(base) {
		if len(r.Table.Measures) == 0 || pairs[r.Environment.ID] == "" {
			continue
		}
		if !slices.Contains(tables, r.Table) {
			tables = append(tables, r.Table)
		}
		row, caution, ok := in.counterpart(r, pairs[r.Environment.ID])
		if !ok {
			if level := r.Level.String(); !slices.Contains(gaps[r.Table], level) {
				gaps[r.Table] = append(gaps[r.Table], level)
			}
			continue
		}
		begun[r.Table] = true
		a.Rows = append(a.Rows, row)
		if caution = r.Table.Metric + ": " + caution; !strings.HasSuffix(caution, ": ") && !slices.Contains(a.Cautions, caution) {
			a.Cautions = append(a.Cautions, caution)
		}
	}
	for _, t := range tables {
		switch {
		case !begun[t]:
			a.Unmeasured = append(a.Unmeasured, t.Metric+" ("+t.Place+")")
		case len(gaps[t]) > 0 && len(t.Rows) > 0:
			a.Unmeasured = append(a.Unmeasured, t.Metric+" at "+strings.Join(gaps[t], ", at ")+" ("+t.Place+")")
		}
	}
	return a
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

// counterparts maps the study's environments to the run's by kind and options,
// where several fit by name. What was imported has a name alone.
func counterparts(in Input, s *published.Study) map[string]string {
	pairs, taken := map[string]string{}, map[string]bool{}
	for _, byName := range []bool{true, false} {
		for _, e := range s.Environments {
			if pairs[e.ID] != "" {
				continue
			}
			for _, mine := range in.Plan.Environments {
				named := strings.EqualFold(mine.Name, e.ID) || strings.EqualFold(mine.Name, e.Name)
				same := named || !byName
				if in.Manifest.Import == nil {
					same = same && e.Kind != "" && fits(mine, e)
				} else {
					same = named
				}
				if same && !taken[mine.Name] && !in.Plan.Rung(mine.Name) {
					pairs[e.ID], taken[mine.Name] = mine.Name, true
					break
				}
			}
		}
	}
	return pairs
}

// fits reports whether an environment of the run has the kind and the options of an
// environment of the study.
func fits(mine study.Environment, e published.Environment) bool {
	options := map[string]any{}
	_ = json.Unmarshal(mine.Options, &options) // kinds without options have none to compare
	outer := ""
	if mine.Inside != nil {
		outer = mine.Inside.Kind
	}
	if mine.Kind != e.Kind || outer != e.Inside {
		return false
	}
	for key, want := range e.With {
		if fmt.Sprint(options[key]) != want {
			return false
		}
	}
	return true
}

// measured is the ratio of the run. A printed figure without a level is compared
// with the mean over all levels of the run.
func (in Input) measured(m published.Counterpart, r published.Ratio, environment string) (AgainstRow, bool) {
	row := AgainstRow{Environment: environment, Name: r.Environment.Name, Metric: m.Metric, Place: r.Table.Place, Published: math.Log(r.Value)}
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
	row.Workload, row.Level, row.Label, row.Levels = found[0].Workload, found[0].Level, found[0].Label, len(found)
	if len(found) == 1 {
		c := found[0]
		if row.Measured = PointEstimate(c); c.IntervalN > 0 {
			row.Measured, row.Low, row.High = c.Estimate, c.Low, c.High
			row.Bounded = c.Bounded()
		}
		return row, true
	}
	row.Level = fmt.Sprintf("mean of %d levels", len(found))
	if all := in.levels(row.Workload, m); all > len(found) {
		row.Level = fmt.Sprintf("mean of %d of %d levels", len(found), all)
	}
	values, bases := 0.0, 0.0
	for _, c := range found {
		if c.Workload != row.Workload {
			return row, false // ambiguous: two workloads fit
		}
		values, bases = values+c.Values.Median, bases+c.Base.Median
	}
	row.Measured = math.Log(values / bases)
	return row, values > 0 && bases > 0
}

// alike reports whether a contrast has the workload, the parameters and the level
// that were printed.
func (in Input) alike(c *verdict.Contrast, m published.Counterpart, at published.Level) bool {
	for _, w := range in.Plan.Workloads {
		if w.Name != c.Workload || w.Name != m.Workload && w.Pack.Name != m.Workload {
			continue
		}
		for _, l := range w.Levels {
			if l.Name != c.Level || !has(l, m.With) {
				continue
			}
			same := true
			for name, want := range at {
				if mine := m.Levels[name]; mine != "" {
					name = mine
				}
				same = same && l.Parameters[name] == want
			}
			return same
		}
	}
	return false
}

func has(l study.Level, parameters map[string]string) bool {
	for name, want := range parameters {
		if l.Parameters[name] != want {
			return false
		}
	}
	return true
}

// levels counts those of a workload that a printed mean is about.
func (in Input) levels(workload string, m published.Counterpart) (n int) {
	for _, w := range in.Plan.Workloads {
		for _, l := range w.Levels {
			if w.Name == workload && has(l, m.With) {
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
	if slices.ContainsFunc(v.Against.Rows, func(r AgainstRow) bool { return r.Levels > 1 }) {
		remarks = append(remarks, "a mean over levels is the ratio of the mean medians; it has no interval")
	}
	if a := v.Against.Absent; len(a) > 0 {
		remarks = append(remarks, "environments not in this run: "+strings.Join(a, ", "))
	}
	if u := v.Against.Unmeasured; len(u) > 0 {
		remarks = append(remarks, "not measured in this run: "+strings.Join(u, "; "))
	}
	return remarks
}

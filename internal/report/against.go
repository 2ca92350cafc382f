package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/published"
	"tare/internal/study"
	"tare/internal/verdict"
)

//go:embed against.tmpl
var againstText string

// Against puts a run beside what a study printed: ratios to the baseline
// alone, since the hardware differs.
type Against struct {
	Study      *published.Study
	Baseline   string // the study's name of what stands for the run's baseline
	Rows       []AgainstRow
	Absent     []string // environments of the study that the run does not have
	Unmeasured []string // what was printed and has a counterpart in tare, and not in this run
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

// Compared says how the two stand to each other.
func (r AgainstRow) Compared() string {
	switch {
	case r.Bounded && r.Low <= r.Published && r.Published <= r.High:
		return "inside the interval"
	case r.Bounded && r.Low < 0 && r.High > 0:
		return "outside; no change shown here"
	case r.Published*r.Measured > 0:
		return "same direction"
	}
	return "other direction"
}

func (r AgainstRow) interval() string {
	if !r.Bounded {
		return ""
	}
	return "[" + verdict.Change(r.Low) + ", " + verdict.Change(r.High) + "]"
}

// Beside finds the run's counterparts of everything that a study printed.
func Beside(in Input, s *published.Study) *Against {
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
		row, caution, ok := in.beside(r, pairs[r.Environment.ID])
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

// beside is the first of what measures a table that the run has.
func (in Input) beside(r published.Ratio, environment string) (AgainstRow, string, bool) {
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
					same = same && e.Kind != "" && fits(in.Plan, mine, e)
				} else {
					same = named
				}
				if same && !taken[mine.Name] {
					pairs[e.ID], taken[mine.Name] = mine.Name, true
					break
				}
			}
		}
	}
	return pairs
}

// fits says whether an environment of the run is what the study compared.
func fits(p *study.Plan, mine study.Environment, e published.Environment) bool {
	options := map[string]any{}
	json.Unmarshal(mine.Options, &options) // kinds without options have none to compare
	outer, _ := options["inside"].(string)
	if i := slices.IndexFunc(p.Environments, func(o study.Environment) bool { return outer != "" && o.Name == outer }); i >= 0 {
		outer = p.Environments[i].Kind
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

// measured is the run's own ratio. A printed figure without a level stands
// beside the mean over all levels that the run has.
func (in Input) measured(m published.Counterpart, r published.Ratio, environment string) (AgainstRow, bool) {
	row := AgainstRow{Environment: environment, Name: r.Environment.Name, Metric: m.Metric, Place: r.Table.Place, Published: math.Log(r.Value)}
	if !(r.Value > 0) {
		return row, false
	}
	var found []*contrast
	for i := range in.Contrasts {
		c := &in.Contrasts[i]
		if c.Environment == environment && c.Metric == m.Metric && c.N > 0 && !withoutRatio(c) && in.alike(c, m, r.Level) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return row, false
	}
	row.Workload, row.Level, row.Label, row.Levels = found[0].Workload, found[0].Level, found[0].Label, len(found)
	if len(found) == 1 {
		c := found[0]
		if row.Measured = middle(c); c.IntervalN > 0 {
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
			return row, false // two workloads fit: which one is meant cannot be told
		}
		values, bases = values+c.Values.Median, bases+c.Base.Median
	}
	row.Measured = math.Log(values / bases)
	return row, values > 0 && bases > 0
}

// alike says whether a contrast is of the workload, the parameters and the
// level that were printed.
func (in Input) alike(c *contrast, m published.Counterpart, at published.Level) bool {
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

// againstLead says what is compared, or why nothing is.
func (v *view) againstLead() string {
	a := v.Against
	switch {
	case a.Baseline == "":
		return fmt.Sprintf("The baseline %s is none of the environments of %s, so there is nothing to compare.", v.Base.Shown, a.Study.Study)
	case len(a.Rows) == 0:
		return fmt.Sprintf("%s printed nothing that this run has measured.", a.Study.Study)
	}
	return fmt.Sprintf("Ratios to %s there and to %s here. Figures themselves are not compared: the hardware differs. An interval is this run's; the printed ratio has none.", a.Baseline, v.Base.Shown)
}

func (v *view) againstShown(r AgainstRow) string {
	shown := v.shown(r.Environment)
	if strings.EqualFold(r.Environment, r.Name) {
		return shown
	}
	return shown + " (" + r.Name + ")"
}

// againstRemarks stand below the rows.
func (v *view) againstRemarks() []string {
	remarks := slices.Clone(v.Against.Cautions)
	if slices.ContainsFunc(v.Against.Rows, func(r AgainstRow) bool { return r.Levels > 1 }) {
		remarks = append(remarks, "a mean of levels is that of the medians over the baseline's; it has no interval")
	}
	if a := v.Against.Absent; len(a) > 0 {
		remarks = append(remarks, "environments that this run does not have: "+strings.Join(a, ", "))
	}
	if u := v.Against.Unmeasured; len(u) > 0 {
		remarks = append(remarks, "not measured in this run: "+strings.Join(u, "; "))
	}
	return remarks
}

// against prints a row an environment below its workload and metric.
func (t *terminal) against(v *view) {
	if v.Against == nil {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, "Against "+v.Against.Study.Study))
	t.wrap(2, v.againstLead())
	last, width := "", 0
	for _, r := range v.Against.Rows {
		width = max(width, ansi.StringWidth(v.againstShown(r)))
	}
	for _, r := range v.Against.Rows {
		if heading := place(r.Workload, r.Level) + ": " + r.Metric + " (" + r.Place + ")"; heading != last {
			t.wrap(2, t.paint(dim, heading))
			last = heading
		}
		name := v.againstShown(r)
		t.wrap(4, fmt.Sprintf("%s%s  published %s, here %s; %s", name, strings.Repeat(" ", width-ansi.StringWidth(name)),
			verdict.Change(r.Published), strings.TrimSpace(verdict.Change(r.Measured)+" "+r.interval()), r.Compared()))
	}
	for _, remark := range v.againstRemarks() {
		t.wrap(2, remark)
	}
}

func markdownAgainst(b *strings.Builder, v *view) {
	if v.Against == nil {
		return
	}
	fmt.Fprintf(b, "\n## Against %s\n\n%s\n", escape(v.Against.Study.Study), escape(v.againstLead()))
	if len(v.Against.Rows) > 0 {
		b.WriteString("\n| workload | metric | environment | published | here | | |\n|---|---|---|---:|---:|---|---|\n")
	}
	for _, r := range v.Against.Rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", escape(place(r.Workload, r.Level)), escape(r.Metric), escape(v.againstShown(r)),
			verdict.Change(r.Published), verdict.Change(r.Measured), escape(r.interval()), r.Compared())
	}
	if remarks := v.againstRemarks(); len(remarks) > 0 {
		b.WriteString("\n")
		for _, remark := range remarks {
			fmt.Fprintf(b, "- %s\n", escape(remark))
		}
	}
}

// AgainstLead, AgainstRemarks and AgainstRows are for the page.
func (p *page) AgainstLead() string      { return p.againstLead() }
func (p *page) AgainstRemarks() []string { return p.againstRemarks() }

// AgainstRows are the cells of the page's table.
func (p *page) AgainstRows() [][]string {
	var rows [][]string
	for _, r := range p.Against.Rows {
		rows = append(rows, []string{place(r.Workload, r.Level), r.Metric, p.againstShown(r), typeset(verdict.Change(r.Published)),
			typeset(verdict.Change(r.Measured)), typeset(r.interval()), r.Compared(), r.Place})
	}
	return rows
}

package model

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/papers/published"
	"tare/internal/verdict"
)

// Claims judges the claims of a study by what runs measured; the first that measured a
// figure is asked.
func Claims(s *published.Study, runs ...Input) []published.ClaimResult {
	return s.Replicate(&again{s, runs, map[overKey]Input{}})
}

// again answers what runs measured of printed figures.
type again struct {
	study *published.Study
	runs  []Input
	over  map[overKey]Input
}

// overKey names the contrasts of a run with a baseline, or the values of an environment.
type overKey struct {
	run         int
	environment string
	values      bool
}

// Margin is that of the first run.
func (a *again) Margin() float64 { return float64(a.runs[0].Plan.Design.Margin) }

// measuredIn is a figure in a run: the environment, and its value.
type measuredIn struct {
	run   int
	mine  string
	value AgainstRow // the logarithm of the value
}

func (a *again) in(run int, environment string, values bool) Input {
	key := overKey{run, environment, values}
	in, known := a.over[key]
	if known {
		return in
	}
	in = a.runs[run]
	switch {
	case values:
		in.Contrasts = verdict.Values(environment, in.Plan, in.Trials, in.Manifest)
	case environment != in.Plan.Baseline:
		in.Contrasts = verdict.With(environment, in.Plan, in.Trials, in.Manifest)
	}
	a.over[key] = in
	return in
}

func (a *again) find(at published.Spot) (found measuredIn, err error) {
	e := a.study.Environment(at.Environment)
	if len(at.Table.Measures) == 0 {
		reason := at.Table.Gap
		if reason == "" {
			reason = "tare has no equivalent metric"
		}
		return found, errors.New(at.Table.Metric + ": " + reason)
	}
	if what := at.Table.Unlike[e.ID]; what != "" {
		return found, fmt.Errorf("%s of %s: %s", at.Table.Metric, e.Name, what)
	}
	err = fmt.Errorf("%s is not in the run", e.Name)
	if e.Gap != "" {
		err = errors.New(e.Name + ": " + e.Gap)
	}
	for i, in := range a.runs {
		p, paired := in.pairings(a.study, at.Table)[at.Environment]
		if !paired {
			continue
		}
		facts := in.Manifest.Environments[p.mine]
		if environment.Emulated(facts.Label) {
			return found, fmt.Errorf("%s ran under software emulation here, which says nothing about hardware", e.Name)
		}
		if facts.State == environment.Missing {
			err = fmt.Errorf("%s does not work here%s", e.Name, lacking(facts.Findings))
			continue
		}
		err = fmt.Errorf("%s of %s was not measured%s", at.Table.Metric, e.Name, strings.TrimSuffix(" at "+at.At.String(), " at "))
		if row, _, ok := a.in(i, p.mine, true).counterpart(published.Ratio{Table: at.Table, Level: at.At, Environment: e, Value: 1}, p.mine); ok {
			return measuredIn{i, p.mine, row}, nil
		}
	}
	return found, err
}

// lacking is what an environment needs first of what is not there.
func lacking(findings []environment.Finding) string {
	for _, f := range findings {
		if f.State == environment.Missing {
			return ": it needs " + f.What
		}
	}
	return ""
}

// Figure is the value in the run.
func (a *again) Figure(at published.Spot) (string, error) {
	found, err := a.find(at)
	if err != nil {
		return "", err
	}
	return ShortFigure(math.Exp(found.value.Measured), found.value.Unit), nil
}

// Ratio is paired by blocks where both were measured at the same level; otherwise it is
// that of two values.
func (a *again) Ratio(of, to published.Spot) (m published.Measured, err error) {
	if base := of.Table.Relative; base != "" && of.At.String() != to.At.String() {
		return m, fmt.Errorf("each figure is printed as a part of that of %s at the same level", a.study.Name(base))
	}
	x, err := a.find(of)
	y, err2 := a.find(to)
	if err := errors.Join(err, err2); err != nil {
		return m, err
	}
	ends := verdict.Ends{Low: x.value.Low, High: x.value.High}.Over(verdict.Ends{Low: y.value.Low, High: y.value.High})
	row := AgainstRow{Measured: x.value.Measured - y.value.Measured, Low: ends.Low, High: ends.High, Bounded: x.value.Bounded && y.value.Bounded}
	if of.Table == to.Table && of.At.String() == to.At.String() && x.run == y.run {
		paired, _, ok := a.in(x.run, y.mine, false).counterpart(published.Ratio{Table: of.Table, Level: of.At, Environment: a.study.Environment(of.Environment), Value: 1}, x.mine)
		if ok {
			row = paired
		}
	}
	switch {
	case row.Confound != "":
		return m, fmt.Errorf("the %s of %s has no answer here (†): %s", of.Table.Metric, row.Name, row.Confound)
	case row.Levels > 1:
		return m, fmt.Errorf("%s is the %s of %d levels here, which has no interval", of.Table.Metric, row.Taken, row.Levels)
	case !row.Bounded:
		return m, fmt.Errorf("too few blocks for an interval of %s", of.Table.Metric)
	}
	return published.Measured{Low: math.Exp(row.Low), Ratio: math.Exp(row.Measured), High: math.Exp(row.High), Text: verdict.Change(row.Measured) + " " + row.Interval()}, nil
}

// ClaimLine is a claim in a line: what decides it, of all that was found about it.
type ClaimLine struct {
	Says, Place string
	Claimed     string
	Here        string
	Outcome     published.Outcome
}

// ClaimLines are the claims of the study in its order, those that cannot be asked last,
// with what was measured of them nevertheless.
func (a *Against) ClaimLines() (lines []ClaimLine) {
	asked := func(l ClaimLine) bool { return l.Outcome != published.CannotBeAsked }
	for _, c := range a.Claims {
		line := ClaimLine{Says: c.Says, Place: c.Place, Outcome: c.Outcome}
		count, beside := map[published.Outcome]int{}, ""
		for _, f := range c.Findings {
			if f.Outcome != c.Outcome && !asked(line) && f.Found != "" && beside == "" {
				beside = "; " + strings.TrimPrefix(f.Figures+": ", ": ") + f.Found
			}
			count[f.Outcome]++
			if f.Outcome != c.Outcome || count[f.Outcome] > 1 {
				continue
			}
			parts := []string{f.Found, f.Off, f.Reason}
			if f.Found != "" && f.Where != "" {
				parts[0] = f.Found + " (" + f.Where + ")"
			}
			line.Claimed = f.Claimed
			line.Here = strings.Join(slices.DeleteFunc(parts, func(text string) bool { return text == "" }), "; ")
		}
		if len(count) > 1 {
			var all []string
			for _, o := range slices.Sorted(maps.Keys(count)) {
				all = append(all, fmt.Sprintf("%d %s", count[o], o))
			}
			line.Here += beside + "; of " + quantity.Counted(len(c.Findings), "figure", "figures") + " " + strings.Join(all, ", ")
		}
		lines = append(lines, line)
	}
	return append(lists.Filter(lines, asked), lists.Filter(lines, func(l ClaimLine) bool { return !asked(l) })...)
}

package sheet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// Options are the settings of the analysis.
type Options struct {
	Baseline   string
	Better     string // lower or higher; "" is what the table says, or lower
	Margin     quantity.Share
	Confidence quantity.Share
	Precision  quantity.Share
	// Budget: the time was fixed in advance, and blocks took about as long as each other.
	Budget bool
	// Fixed: the number of blocks was fixed in advance, and there is one analysis.
	// Otherwise there are interim analyses, as in a run.
	Fixed bool
}

// Contrasts returns the contrasts of the table.
func (s *Sheet) Contrasts(o Options) ([]verdict.Contrast, error) {
	switch {
	case !slices.Contains(s.Environments, o.Baseline):
		return nil, fmt.Errorf("%s has no environment %q to compare with: it has %s", s.Name, o.Baseline, strings.Join(s.Environments, ", "))
	case len(s.Environments) < 2:
		return nil, fmt.Errorf("%s has only the baseline %q: there is nothing to compare", s.Name, o.Baseline)
	}
	s.direct(o)
	if len(s.rows) == 0 {
		return nil, fmt.Errorf("%s says of none of its values whether lower or higher is better: say it with --better", s.Name)
	}
	all := s.unpaired
	if s.Paired {
		all = s.paired
	}
	contrasts := all(o)
	if len(contrasts) == 0 {
		return nil, fmt.Errorf("%s has nothing that both %s and another environment have: workloads, levels and metrics differ; name with --environment what differs between those that are compared", s.Name, o.Baseline)
	}
	return contrasts, nil
}

// direct gives each row its direction. Where a table says it of some metrics only, the others
// are left out.
func (s *Sheet) direct(o Options) {
	says := o.Better == "" && slices.ContainsFunc(s.rows, func(r row) bool { return r.better != "" })
	s.rows = slices.DeleteFunc(s.rows, func(r row) bool {
		remark := r.Metric + ": whether lower or higher is better is not known, so it is not compared; --better says it"
		if says && r.better == "" && !slices.Contains(s.Remarks, remark) {
			s.Remarks = append(s.Remarks, remark)
		}
		return says && r.better == ""
	})
	if !says && o.Better == "" {
		s.Remarks = append(s.Remarks, "nothing says whether lower or higher is better: lower is assumed, as for times; --better says it")
	}
	for i := range s.rows {
		s.rows[i].better = cmp.Or(o.Better, s.rows[i].better, "lower")
	}
}

// paired puts the rows into the form of a run. Each group becomes a workload of
// its own, since a row says nothing about other metrics.
func (s *Sheet) paired(o Options) []verdict.Contrast {
	plan := &study.Plan{Baseline: o.Baseline, Design: study.Design{Order: "interleaved", Margin: o.Margin, Confidence: o.Confidence, Precision: o.Precision, Family: "metric"}}
	for _, e := range s.Environments {
		plan.Environments = append(plan.Environments, study.Environment{Name: e})
	}
	names, groups := s.groups(plan)
	trials := s.trials(names)
	last := map[subject.Cell]int{}
	for _, t := range trials {
		last[t.Cell()] = max(last[t.Cell()], t.Block)
	}
	plan.Design.Blocks = study.Blocks{Min: stats.LeastLook, Max: stats.MostLook}
	// Without a budget the rows may be of a run that goes on.
	m := rundir.Manifest{Sessions: []rundir.Session{{Over: o.Budget}}}
	switch {
	case o.Budget:
		plan.Design.Blocks.Max, plan.Design.Budget = s.blocks, time.Duration(math.MaxInt64) // the blocks are the time
	case o.Fixed:
		plan.Design.Blocks = study.Blocks{Min: s.blocks, Max: s.blocks, Fixed: true}
		for _, b := range last {
			plan.Design.Blocks.Max = min(plan.Design.Blocks.Max, b)
		}
	}
	var all []verdict.Contrast
	for _, c := range verdict.Contrasts(plan, trials, m) {
		if last[c.Figure().Cell] == 0 {
			continue // no rows: this environment, or this level of the group, is not in the table
		}
		c.Workload = groups[c.Workload].Workload
		all = append(all, c)
	}
	return all
}

// trials are the rows as trials: one each or, if there are rounds, one for all rounds
// of an environment in a block.
func (s *Sheet) trials(names map[subject.Figure]string) (all []rundir.Trial) {
	type side struct {
		block int
		subject.Cell
	}
	numbers, index := map[side]map[string]int{}, map[side]int{}
	var values [][]float64
	for _, r := range s.rows {
		t := rundir.Trial{Block: r.block, Environment: r.Environment, Workload: names[r.group()], Level: r.Level,
			Status: rundir.OK, Metrics: map[string]float64{r.Metric: r.value}}
		of := side{r.block, t.Cell()}
		at := side{r.block, of.In("")} // of all environments
		if !s.rounds {
			all = append(all, t)
			continue
		}
		if numbers[at] == nil {
			numbers[at] = map[string]int{}
		}
		if numbers[at][r.round] == 0 {
			numbers[at][r.round] = len(numbers[at]) + 1
		}
		i, known := index[of]
		if !known {
			i = len(all)
			index[of], all, values = i, append(all, t), append(values, nil)
		}
		all[i].Rounds = append(all[i].Rounds, rundir.Round{Number: numbers[at][r.round], Metrics: map[string]float64{r.Metric: r.value}})
		values[i] = append(values[i], r.value)
	}
	for i, v := range values {
		for metric := range all[i].Metrics {
			all[i].Metrics[metric] = stats.Median(v)
		}
	}
	return all
}

func (s *Sheet) groups(plan *study.Plan) (map[subject.Figure]string, map[string]subject.Figure) {
	names, groups := map[subject.Figure]string{}, map[string]subject.Figure{}
	for _, r := range s.rows {
		g := r.group()
		if _, known := names[g]; !known {
			name := fmt.Sprint(len(names))
			names[g], groups[name] = name, g
			plan.Workloads = append(plan.Workloads, study.Workload{Name: name, Pack: workload.Pack{
				Metrics: []workload.Metric{{Name: r.Metric, Better: r.better, Primary: true}}}})
		}
		for i := range plan.Workloads {
			w := &plan.Workloads[i]
			if w.Name == names[g] && !slices.ContainsFunc(w.Levels, func(l study.Level) bool { return l.Name == r.Level }) {
				w.Levels = append(w.Levels, study.Level{Name: r.Level})
			}
		}
	}
	return names, groups
}

// unpaired describes a table without blocks: medians, ranges and the shift
// between the sides, without a verdict.
func (s *Sheet) unpaired(o Options) []verdict.Contrast {
	values := map[subject.Figure][]float64{}
	better := map[subject.Figure]string{}
	var order []subject.Figure
	for _, r := range s.rows {
		better[r.Figure] = r.better
		if _, known := values[r.Figure]; !known {
			order = append(order, r.Figure)
		}
		values[r.Figure] = append(values[r.Figure], r.value)
	}
	var all []verdict.Contrast
	place := map[subject.Figure]int{} // one thing after another, in the order of the rows
	for i, at := range order {
		if _, known := place[at.In("")]; !known {
			place[at.In("")] = i
		}
	}
	slices.SortStableFunc(order, func(a, b subject.Figure) int { return place[a.In("")] - place[b.In("")] })
	for _, at := range order {
		base := values[at.In(o.Baseline)]
		if at.Environment == o.Baseline || len(base) == 0 {
			continue
		}
		own := values[at]
		c := verdict.Contrast{Workload: at.Workload, Level: at.Level, Metric: at.Metric, Better: better[at], Primary: true,
			Environment: at.Environment, Baseline: o.Baseline, Margin: float64(o.Margin), Confidence: float64(o.Confidence),
			Values: verdict.SideOf(own), Base: verdict.SideOf(base), Verdict: verdict.None,
			Reason:   verdict.Reason{Code: verdict.Unpaired},
			Estimate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Middle: math.NaN(), Least: math.NaN(), Most: math.NaN(),
			Warnings: []verdict.Warning{{Code: verdict.Unpaired}}}
		if c.Values.Least > 0 && c.Base.Least > 0 {
			shift := stats.Shift(logs(own), logs(base), 1-c.Confidence)
			c.Alpha = 1 - c.Confidence
			c.Estimate, c.Low, c.High = shift.Estimate, shift.Low, shift.High
		} else {
			c.Warnings = append(c.Warnings, verdict.Warning{Code: verdict.NotPositive})
		}
		all = append(all, c)
	}
	return all
}

func logs(values []float64) []float64 {
	l := make([]float64, len(values))
	for i, v := range values {
		l[i] = math.Log(v)
	}
	return l
}

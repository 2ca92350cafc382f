package rundir

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/study"
)

// A run directory can be anybody's: what the evaluation and the reports rely on is
// checked when the run is opened.

// changed ends the error about a file that tare did not write so.
const changed = "the run was changed after it was written: restore it"

// checkPlan refuses a plan without what every plan has.
func checkPlan(directory string, p *study.Plan) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s; "+changed, filepath.Join(directory, planFile), fmt.Sprintf(format, args...))
	}
	environments := lists.Map(p.Environments, func(e study.Environment) string { return e.Name })
	workloads := lists.Map(p.Workloads, func(w study.Workload) string { return w.Name })
	switch {
	case p.Format > Format:
		return wrong("it has format %d, and this version of tare reads format %d", p.Format, Format)
	case len(environments) == 0:
		return wrong("it has no environments")
	case len(workloads) == 0:
		return wrong("it has no workloads")
	case !slices.Contains(environments, p.Baseline):
		return wrong("the baseline %q is not one of its environments", p.Baseline)
	}
	for _, names := range [][]string{environments, workloads} {
		slices.Sort(names)
		for i := range len(names) - 1 {
			if names[i] == names[i+1] {
				return wrong("two of its environments or workloads have the name %q", names[i])
			}
		}
	}
	for _, w := range p.Workloads {
		if len(w.Levels) == 0 {
			return wrong("the workload %s has no level", w.Name)
		}
		for _, m := range w.Pack.Metrics {
			if m.Better != "lower" && m.Better != "higher" {
				return wrong("of the metric %s %q is better, and not lower or higher", m.Name, m.Better)
			}
		}
	}
	return nil
}

// check refuses a trial with numbers of rounds that no run gives, which are indices, with
// a status that does not exist, or with numbers that nobody measures.
func (t Trial) check() error {
	for _, r := range slices.Concat(t.Rounds, t.HalfRounds) {
		if r.Number < 1 || r.Number > study.MostRounds {
			return fmt.Errorf("round %d is not between 1 and %d", r.Number, study.MostRounds)
		}
	}
	if !slices.Contains([]Status{OK, Failed, Skipped}, t.Status) {
		return fmt.Errorf("its status is %q, not %s, %s or %s", t.Status, OK, Failed, Skipped)
	}
	return checkNumbers(reflect.ValueOf(t))
}

// checkNumbers refuses numbers of which a ratio or a sum is none, wherever in a value.
func checkNumbers(v reflect.Value) (err error) {
	switch v.Kind() {
	case reflect.Float64:
		if !quantity.Measured(v.Float()) {
			return fmt.Errorf("%g is out of range: numbers are 0, or between %g and %g", v.Float(), quantity.Least, quantity.Most)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			err = checkNumbers(v.Elem())
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Uint8 || k == reflect.String {
			return nil
		}
		for i := 0; i < v.Len() && err == nil; i++ {
			err = checkNumbers(v.Index(i))
		}
	case reflect.Map:
		for all := v.MapRange(); err == nil && all.Next(); {
			if err = checkNumbers(all.Value()); err != nil {
				err = fmt.Errorf("%v: %w", all.Key(), err)
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i := 0; i < v.NumField() && err == nil; i++ {
			if err = checkNumbers(v.Field(i)); err != nil {
				err = fmt.Errorf("%s: %w", v.Type().Field(i).Name, err)
			}
		}
	}
	return err
}

// checkTrials refuses trials of what the plan does not have: no report would show them.
func checkTrials(p *study.Plan, trials []Trial) error {
	for i, t := range trials {
		w := p.Workload(t.Workload)
		switch {
		case !slices.ContainsFunc(p.Environments, func(e study.Environment) bool { return e.Name == t.Environment }):
			return fmt.Errorf("trial %d is of the environment %q, which the plan does not have; "+changed, i+1, t.Environment)
		case w == nil:
			return fmt.Errorf("trial %d is of the workload %q, which the plan does not have; "+changed, i+1, t.Workload)
		case !slices.ContainsFunc(w.Levels, func(l study.Level) bool { return l.Name == t.Level }):
			return fmt.Errorf("trial %d is of the level %q of %s, which the plan does not have; "+changed, i+1, t.Level, t.Workload)
		}
	}
	return nil
}

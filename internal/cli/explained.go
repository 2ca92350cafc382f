package cli

import (
	"path/filepath"
	"slices"

	"tare/internal/prices"
	"tare/internal/report/model"
	"tare/internal/run"
	"tare/internal/run/doctor"
	"tare/internal/rundir"
	"tare/internal/study"
)

// mostSearched is how many runs of the home are looked at for ladders, and mostExplained how
// many are told of.
const mostSearched, mostExplained = 100, 6

// explained finds the newest runs over ladders of what a run compares, of the same machine,
// and what they say. The files of a run have nothing of other runs; what is printed has.
func (a *App) explained(in model.Input) (all []model.Explained) {
	if len(in.Plan.Steps) > 0 || in.Manifest.Import != nil {
		return nil
	}
	runs, _, err := rundir.Newest(run.Runs(a.Home), mostSearched)
	if err != nil {
		return nil // it is no part of what was asked for
	}
	for _, r := range runs {
		i := slices.IndexFunc(r.Plan.Steps, func(s study.Step) bool { return s.Part == "" })
		if i < 0 || len(r.Plan.Workloads) != 1 || len(all) == mostExplained || !sameMachine(r.Manifest.Machine, in.Manifest.Machine) {
			continue
		}
		whole, workload := r.Plan.Steps[i], r.Plan.Workloads[0].Name
		known := slices.ContainsFunc(all, func(e model.Explained) bool { return e.Workload == workload && e.Environment == whole.Environment })
		if known || in.Plan.Workload(workload) == nil || whole.Base != in.Plan.Baseline || !comparable(in.Plan, r.Plan, whole.Environment) {
			continue
		}
		directory := filepath.Join(run.Runs(a.Home), r.Manifest.Run)
		ladder, err := rundir.Open(directory)
		if err != nil {
			continue
		}
		says := model.New(model.Of(ladder, model.Contrasts(ladder))).LargestPart()
		if says == "" {
			continue
		}
		says += a.pricesExplain(ladder, whole.Environment)
		all = append(all, model.Explained{Run: run.Name(a.Home, directory), Workload: workload, Environment: whole.Environment, Says: says})
	}
	return all
}

// pricesExplain is the end of a sentence on an environment of a run: the share of what it adds
// that the price list of the home explains; "" where that is not known.
func (a *App) pricesExplain(r *rundir.Run, environment string) string {
	list, err := prices.Load(prices.File(a.Home), doctor.Machine())
	if err != nil {
		return ""
	}
	gaps, _ := list.Gaps(r)
	for _, g := range gaps {
		if g.Environment == environment && g.Explained != nil {
			return "; the prices of system calls explain " + model.Percent(*g.Explained) + " of the CPU time that it adds"
		}
	}
	return ""
}

// comparable reports whether an environment is of one kind in two plans.
func comparable(a, b *study.Plan, environment string) bool {
	kind := func(p *study.Plan) string {
		if i := slices.IndexFunc(p.Environments, func(e study.Environment) bool { return e.Name == environment }); i >= 0 {
			return p.Environments[i].Kind
		}
		return ""
	}
	return kind(a) != "" && kind(a) == kind(b)
}

func sameMachine(a, b rundir.Machine) bool {
	return a.CPU == b.CPU && a.Cores == b.Cores && a.Kernel == b.Kernel
}

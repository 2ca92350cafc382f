package rundir

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tare/internal/study"
)

// SameStudy is an error where two runs cannot be compared, because they are of
// different studies or have different baselines.
func SameStudy(a, b *Run) error {
	if studied(a) == studied(b) && a.Plan.Baseline == b.Plan.Baseline {
		return nil
	}
	return fmt.Errorf("%s is a run of %s with baseline %s, %s is a run of %s with baseline %s: only runs of the same study can be compared",
		a.Manifest.Run, studied(a), a.Plan.Baseline, b.Manifest.Run, studied(b), b.Plan.Baseline)
}

// studied tells the study of a run from others. Those of all command lines have one name.
func studied(r *Run) string {
	if r.Plan.Origin == study.CommandLine {
		return r.Plan.Study
	}
	return r.Plan.Name
}

// Differences are the facts that differ between two runs and may explain a
// change of their results.
func Differences(a, b *Run) (list []string) {
	add := func(what, x, y string) {
		if x != y {
			list = append(list, fmt.Sprintf("%s: %s, then %s", what, x, y))
		}
	}
	add("tare", a.Manifest.Tare, b.Manifest.Tare)
	add("image", a.Manifest.Image.Digest, b.Manifest.Image.Digest)
	for _, run := range []*Run{a, b} {
		for _, name := range slices.Sorted(maps.Keys(run.Manifest.Images)) {
			if _, seen := a.Manifest.Images[name]; run == a || !seen {
				add("image of "+run.Plan.UsersOf(name), cmp.Or(a.Manifest.Images[name].Digest, "none"), cmp.Or(b.Manifest.Images[name].Digest, "none"))
			}
		}
	}
	add("kernel", a.Manifest.Machine.Kernel, b.Manifest.Machine.Kernel)
	add("CPU", a.Manifest.Machine.CPU, b.Manifest.Machine.CPU)
	add("order", a.Plan.Design.OrderWords(), b.Plan.Design.OrderWords())
	add("pin", cmp.Or(a.Plan.Pinned(), "none"), cmp.Or(b.Plan.Pinned(), "none"))
	add("cores", fmt.Sprint(a.Manifest.Machine.Cores), fmt.Sprint(b.Manifest.Machine.Cores))
	for _, e := range a.Plan.Environments {
		x, y := a.Manifest.Environments[e.Name], b.Manifest.Environments[e.Name]
		add(e.Name, string(x.State), string(y.State))
		for _, program := range slices.Sorted(maps.Keys(x.Versions)) {
			add(e.Name+" "+program, x.Versions[program], y.Versions[program])
		}
		for _, f := range b.Plan.Environments {
			if f.Name == e.Name {
				add(e.Name+" options", string(e.Options), string(f.Options))
			}
		}
	}
	return list
}

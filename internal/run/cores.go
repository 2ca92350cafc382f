package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/study"
)

// TooWide is the error of a plan that gives environments more CPUs than the machine
// has, or pins a role to a core that it lacks; nil where it does neither. An engine
// refuses such a limit at each start, and elsewhere the quota has no effect. What
// runs on another machine or in another environment is not checked: its cores are
// those.
func TooWide(plan *study.Plan, cores int) error {
	var names []string
	widest, here := 0.0, false
	for _, e := range plan.Environments {
		if e.Inside != nil || e.Host != "" || plan.OnHosts() || environment.CapabilitiesOf(e.Kind, nil).Placed {
			continue
		}
		here = true
		if e.Limits.CPUs <= float64(cores) {
			continue
		}
		names = append(names, e.Name)
		widest = max(widest, e.Limits.CPUs)
	}
	if len(names) == 0 {
		if here {
			return beyond(plan.Pin, cores)
		}
		return nil
	}
	who := strings.Join(names, ", ")
	if len(names) > 1 && len(names) == len(plan.Environments) {
		who = "all environments"
	}
	smaller := fmt.Sprintf("limits: {cpus: %d}", cores)
	if slices.Contains(plan.Scales, "small") && plan.Scale != "small" {
		smaller = "--scale small, or " + smaller
	}
	return fmt.Errorf("limits: cpus: the study gives %s %g CPUs, and this machine has %d: run it on a machine that has as many, or with less: %s",
		who, widest, cores, smaller)
}

// beyond says which role is pinned to a core that the machine does not have.
func beyond(pin map[string][]int, cores int) error {
	for _, role := range slices.Sorted(maps.Keys(pin)) {
		if most := slices.Max(append([]int{0}, pin[role]...)); most >= cores {
			return fmt.Errorf("limits: pin: %s is pinned to core %d, and this machine has %d, numbered from 0: pin it to another one, or run the study on a machine that has as many", role, most, cores)
		}
	}
	return nil
}

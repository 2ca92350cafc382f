package run

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/study"
)

// TooWide says which environments of a plan are limited to more CPUs than the
// machine has, and what to do; nil where none is. An engine refuses such a limit
// at each start, and elsewhere it is a quota that nothing can use up. What runs on
// another machine or inside of another environment has that one's cores.
func TooWide(plan *study.Plan, cores int) error {
	var names []string
	widest := 0.0
	for _, e := range plan.Environments {
		if e.Inside != nil || e.Host != "" || e.Limits.CPUs <= float64(cores) {
			continue
		}
		names = append(names, e.Name)
		widest = max(widest, e.Limits.CPUs)
	}
	if len(names) == 0 {
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

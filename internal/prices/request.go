package prices

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/study"
)

// Request is a profile as `tare profile` is asked for it.
type Request struct {
	Workload  string      // a built-in name or a file; with Study, the study's name for it, or "" for all
	Study     string      // a built-in name or a file; "" composes a study of the workload alone
	Made      *study.Plan // of a command or an image, in place of both
	Set       []string    // parameters, NAME=VALUE
	Limits    []string
	Measure   []string // environments that are measured too
	Overrides study.Overrides
}

// Plan returns the plan of the run. Its errors are about invalid requests.
func (r Request) Plan() (*study.Plan, error) {
	plan, err := r.Made, error(nil)
	switch {
	case r.Made != nil:
		r.only(plan)
	case r.Study != "":
		plan, err = r.opened()
	default:
		plan, err = r.drafted()
	}
	if err != nil {
		return nil, err
	}
	var able []study.Workload
	for _, w := range plan.Workloads {
		if why := notCounted(w); why == "" {
			able = append(able, w)
		} else if r.Workload != "" || len(plan.Workloads) == 1 {
			return nil, fmt.Errorf("the workload %s %s", w.Name, why)
		}
	}
	if plan.Workloads = able; len(able) == 0 {
		return nil, fmt.Errorf("%s has no workload whose operations could be counted, only starts", plan.Study)
	}
	counted := *plan.Environment(plan.Baseline)
	counted.Name, counted.Counted = Counted, true
	plan.Environments = slices.Insert(plan.Environments, 1, counted)
	return plan, nil
}

// notCounted says why a workload has no profile; "" where it has. An operation of one that counts
// none is a run of its driver.
func notCounted(w study.Workload) string {
	if w.Pack.FromStart() {
		return "measures a start, which is over before the counting could begin: name one that does something, such as redis"
	}
	return ""
}

func (r Request) drafted() (*study.Plan, error) {
	draft := study.Draft{
		Title: "profile of " + r.Workload, Origin: "tare profile", Name: "profile-" + strings.TrimSuffix(filepath.Base(r.Workload), ".yaml"),
		Use: r.Workload, Baseline: "native", Fresh: "run", Order: "interleaved", Blocks: r.Overrides.Blocks,
	}
	var err error
	if draft.Environments, err = study.ParseEnvironments(append([]string{draft.Baseline}, r.Measure...)); err != nil {
		return nil, fmt.Errorf("--measure: %w", err)
	}
	if draft.Parameters, err = study.ParseSettings(r.Set, "PARAMETER=VALUE"); err != nil {
		return nil, fmt.Errorf("--set: %w", err)
	}
	if draft.Limits, err = study.ParseSettings(r.Limits, "LIMIT=VALUE"); err != nil {
		return nil, fmt.Errorf("--limits: %w", err)
	}
	return draft.Resolve(r.Overrides)
}

// opened takes the workload, its image and its limits from a study.
func (r Request) opened() (*study.Plan, error) {
	if len(r.Set)+len(r.Limits) > 0 {
		return nil, fmt.Errorf("--set and --limits cannot be combined with --study, which has its own")
	}
	over := r.Overrides
	if over.Only = slices.Clone(r.Measure); r.Workload != "" {
		over.Only = append(over.Only, r.Workload)
	}
	plan, err := study.Open(r.Study, over)
	if err != nil {
		return nil, err
	}
	plan.Name = "profile-" + plan.Name
	r.only(plan)
	return plan, nil
}

// only the first levels of a plan, in the baseline, which comes first, and in what is measured too,
// with trials whose counting has a whole instance.
func (r Request) only(plan *study.Plan) {
	plan.Design.Order = "interleaved"
	for i, w := range plan.Workloads {
		if plan.Workloads[i].Levels = w.Levels[:1]; w.Fresh == "block" {
			plan.Workloads[i].Fresh = "run"
		}
	}
	plan.Environments = lists.Filter(plan.Environments, func(e study.Environment) bool {
		return e.Name == plan.Baseline || r.Made != nil || slices.Contains(r.Measure, e.Name)
	})
	at := slices.IndexFunc(plan.Environments, func(e study.Environment) bool { return e.Name == plan.Baseline })
	plan.Environments[0], plan.Environments[at] = plan.Environments[at], plan.Environments[0]
}

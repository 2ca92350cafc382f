package attribution

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/stats"
	"tare/internal/study"
)

// Request is a ladder as `tare explain` is asked for it. Settings are written
// KEY=VALUE.
type Request struct {
	Workload  string   // a built-in name or a file; with Study, the study's name for it
	From, To  string   // environments: NAME or NAME+OPTION=VALUE...; with Study, the study's names
	Via       []string // environments that the ladder passes, in order
	Study     string   // a built-in name or a file; "" composes a study of the workload alone
	Overrides study.Overrides
	Set       []string // parameters of the workload, in all environments
	SetFrom   []string // in From alone
	SetTo     []string // in To alone
	Limits    []string
	Margin    string
	Only      []string // parts, or groups of parts, that get a step of their own
	Groups    []string // whose parts are switched at once
	Method    string   // ladder or shapley
	Orders    int      // with shapley: how many random orders
	Traced    int
}

// Plan returns the plan of a run over the ladder. Its errors are about invalid
// requests and name the flags of `tare explain`.
func (r Request) Plan(ctx context.Context) (*study.Plan, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	plan, path, err := r.path()
	if err != nil {
		return nil, err
	}
	missing := missingHere(ctx)
	path, cut := reached(path, missing)
	from, to := path[0], path[len(path)-1]
	w := plan.Workloads[0]
	if err := setAt(w, &from, r.SetFrom); err != nil {
		return nil, err
	}
	if err := setAt(w, &to, r.SetTo); err != nil {
		return nil, err
	}
	ladder, err := Build(from, to, BuildOptions{Only: r.Only, Via: path[1 : len(path)-1], Study: map[string]map[string]string{w.Name: given(w)}})
	if err != nil {
		return nil, err
	}
	if err := ladder.CheckGroups(r.Groups); err != nil {
		return nil, fmt.Errorf("--group: %w", err)
	}
	units, orders, all := r.orders(ladder, plan.Seed)
	design, err := NewDesign(ladder, units, orders, missing)
	if err != nil {
		return nil, err
	}
	design.Remarks = append(cut, design.Remarks...)
	if all {
		design.Remarks = append(design.Remarks, fmt.Sprintf("these are all %d orders in which the parts can be switched on", len(orders)))
	}
	plan.Environments, plan.Steps, plan.Remarks = design.Environments, design.Steps, design.Remarks
	plan.Baseline = plan.Environments[0].Name
	halveSamples(plan)
	if remark := tooFewBlocks(plan); remark != "" {
		plan.Remarks = append(plan.Remarks, remark)
	}
	plan.Sampling.Traced = r.Traced
	return plan, nil
}

// halveSamples halves the default length of a sample that is an amount of work. A round
// of a ladder has many samples, and noise changes within a second: twice as many rounds
// narrow the intervals by more than longer samples do. A driver that keeps the time
// itself (fio) takes longer to start than its sample.
func halveSamples(plan *study.Plan) {
	for i, w := range plan.Workloads {
		if w.Pack.Length == nil || w.Pack.Length.Amount == "" {
			continue
		}
		half := *w.Pack.Length
		half.Sample /= 2
		plan.Workloads[i].Pack.Length = &half
	}
}

func (r Request) check() error {
	switch {
	case r.To == "":
		return fmt.Errorf("--to is missing: name the last environment of the ladder (`tare ls environments` lists them)")
	case r.Method != "ladder" && r.Method != "shapley":
		return fmt.Errorf("--method %s: unknown; choose ladder or shapley", r.Method)
	case r.Traced < 0:
		return fmt.Errorf("--traced %d: must not be negative", r.Traced)
	case r.Study == "" && r.Overrides.Scale != "":
		return fmt.Errorf("--scale selects a size of a study: name the study with --study; set the parameters of a workload with --set")
	}
	return nil
}

// orders are the units that are switched, and the orders in which they are; all
// says that there are no others.
func (r Request) orders(ladder Ladder, seed uint64) (units []Unit, orders [][]int, all bool) {
	if r.Method == "shapley" {
		groups := r.Groups
		if groups == nil {
			groups = []string{"namespaces"}
		}
		units = Units(ladder, groups)
		orders, all = Orders(units, r.Orders, seed)
		return units, orders, all
	}
	units = Units(ladder, r.Groups)
	usual := make([]int, len(units))
	for i := range units {
		usual[i] = i
	}
	return units, [][]int{usual}, false
}

// reached are the environments up to the last one that works here, and the reasons why the
// ladder ends there. Without environments to pass there is no other end.
func reached(path []study.Environment, missing func(study.Environment) string) (_ []study.Environment, cut []string) {
	for len(path) > 2 {
		last := path[len(path)-1]
		why := missing(last)
		if why == "" {
			break
		}
		path = path[:len(path)-1]
		cut = append(cut, fmt.Sprintf("the ladder ends at %s, since %s does not work here: %s", path[len(path)-1].Name, last.Name, why))
	}
	return path, cut
}

// path returns the two ends with the environments between them, and the plan that has the
// workload.
func (r Request) path() (plan *study.Plan, path []study.Environment, err error) {
	if r.Study != "" {
		return r.pathInStudy()
	}
	draft := study.Draft{
		Title: fmt.Sprintf("%s: from %s to %s", r.Workload, r.From, r.To), Origin: "tare explain",
		Name: "explain-" + strings.TrimSuffix(filepath.Base(r.Workload), ".yaml"),
		Use:  r.Workload, Margin: r.Margin,
	}
	draft.Margin = cmp.Or(draft.Margin, "2%")
	for flag, text := range r.named() {
		e, err := study.ParseEnvironment(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", flag, text, err)
		}
		draft.Environments = append(draft.Environments, e)
	}
	draft.Baseline = draft.Environments[0].Name
	if err := r.differ(lists.Map(draft.Environments, func(e study.DraftEnvironment) string { return e.Name })); err != nil {
		return nil, nil, err
	}
	if draft.Parameters, err = study.ParseSettings(r.Set, "PARAMETER=VALUE"); err != nil {
		return nil, nil, fmt.Errorf("--set: %w", err)
	}
	if draft.Limits, err = study.ParseSettings(r.Limits, "LIMIT=VALUE"); err != nil {
		return nil, nil, fmt.Errorf("--limits: %w", err)
	}
	if plan, err = draft.Resolve(r.Overrides); err != nil {
		return nil, nil, err
	}
	return plan, plan.Environments, nil
}

// named yields the environments in the order of the ladder, each with its flag.
func (r Request) named() func(yield func(flag, text string) bool) {
	return func(yield func(flag, text string) bool) {
		if !yield("--from", r.From) {
			return
		}
		for _, text := range r.Via {
			if !yield("--via", text) {
				return
			}
		}
		yield("--to", r.To)
	}
}

// differ refuses a ladder that comes to an environment twice.
func (r Request) differ(names []string) error {
	if names[0] == names[len(names)-1] {
		return fmt.Errorf("--from and --to are both %s: there is nothing to compare", names[0])
	}
	for n, name := range names {
		if slices.Contains(names[:n], name) {
			return fmt.Errorf("--via %s: the ladder has this environment already", name)
		}
	}
	return nil
}

// pathInStudy takes all but the names of environments from a study.
func (r Request) pathInStudy() (plan *study.Plan, path []study.Environment, err error) {
	if len(r.Limits) > 0 {
		return nil, nil, fmt.Errorf("--limits cannot be combined with --study: the limits are those of the study")
	}
	if plan, err = study.Open(r.Study, r.Overrides); err != nil {
		return nil, nil, err
	}
	plan.Name = "explain-" + plan.Name
	var names []string
	for _, name := range r.named() {
		names = append(names, name)
		e, err := named(plan, r.Study, name)
		if err != nil {
			return nil, nil, err
		}
		path = append(path, e)
	}
	if err := r.differ(names); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(plan.Workloads, func(w study.Workload) bool { return w.Name == r.Workload })
	if i < 0 {
		names := lists.Map(plan.Workloads, func(w study.Workload) string { return w.Name })
		return nil, nil, fmt.Errorf("the study %s has no workload %s: it has %s", r.Study, r.Workload, strings.Join(names, ", "))
	}
	plan.Workloads = plan.Workloads[i : i+1]
	plan.Study = fmt.Sprintf("%s: from %s to %s, of %s", r.Workload, r.From, r.To, plan.Study)
	for _, text := range r.Set {
		key, value, err := parseParameter(plan.Workloads[0], text)
		if err != nil {
			return nil, nil, err
		}
		for _, l := range plan.Workloads[0].Levels {
			l.Parameters[key] = value
		}
	}
	if err := plan.ExpandShapes(); err != nil {
		return nil, nil, err
	}
	if r.Margin != "" {
		if err := plan.Design.Margin.UnmarshalText([]byte(r.Margin)); err != nil {
			return nil, nil, fmt.Errorf("--margin: %w", err)
		}
	}
	return plan, path, nil
}

// named returns an environment of a study.
func named(plan *study.Plan, studyName, name string) (study.Environment, error) {
	var names []string
	for _, e := range plan.Environments {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return study.Environment{}, fmt.Errorf("the study %s has no environment %s: it has %s", studyName, name, strings.Join(names, ", "))
}

func parseParameter(w study.Workload, text string) (key, value string, err error) {
	key, value, _ = strings.Cut(text, "=")
	p, known := w.Pack.Parameters[key]
	if !known {
		return "", "", fmt.Errorf("%s: the workload %s has no such parameter", text, w.Name)
	}
	if value, err = p.Normalize(value); err != nil {
		return "", "", fmt.Errorf("%s: %w", text, err)
	}
	for _, l := range w.Levels {
		if strings.Contains(","+l.Name, ","+key+"=") {
			return "", "", fmt.Errorf("%s: the study sweeps %s", text, key)
		}
	}
	return key, value, nil
}

// given returns the parameters that have one value in the study: those that it
// sweeps are left out.
func given(w study.Workload) map[string]string {
	values := map[string]string{}
	for key, p := range w.Pack.Parameters {
		values[key] = p.Default
	}
	maps.Copy(values, w.Levels[0].Parameters)
	for _, l := range w.Levels {
		maps.DeleteFunc(values, func(key, value string) bool {
			other, set := l.Parameters[key]
			return set && other != value
		})
	}
	return values
}

// setAt sets parameters of the workload in one environment alone.
func setAt(w study.Workload, e *study.Environment, set []string) error {
	for _, text := range set {
		key, value, err := parseParameter(w, text)
		if err != nil {
			return err
		}
		with := map[string]map[string]string{}
		for name, own := range e.With {
			with[name] = maps.Clone(own)
		}
		if with[w.Name] == nil {
			with[w.Name] = map[string]string{}
		}
		with[w.Name][key] = value
		e.With = with
	}
	return nil
}

// missingHere returns a function that gives the reason why an environment does
// not work on this machine, "" where it does. Each is checked once. Those on
// other hosts and inside other environments are checked when the run begins.
func missingHere(ctx context.Context) func(study.Environment) string {
	type key struct{ kind, options string }
	known := map[key]string{}
	return func(e study.Environment) string {
		if e.Inside != nil || e.Host != "" {
			return ""
		}
		key := key{e.Kind, string(e.Options)}
		if reason, checked := known[key]; checked {
			return reason
		}
		known[key] = ""
		options, err := e.Decode()
		if err != nil {
			known[key] = err.Error()
		} else if state, findings := environment.Check(ctx, e.Kind, options); state == environment.Missing {
			known[key] = firstMissing(findings)
		}
		return known[key]
	}
}

func firstMissing(findings []environment.Finding) string {
	for _, f := range findings {
		if f.State == environment.Missing {
			return fmt.Sprintf("needs %s: %s", f.What, f.Reason)
		}
	}
	return "it does not work here"
}

// tooFewBlocks is a remark where a fixed number of blocks is too small for a
// bounded interval; "" where it is not.
func tooFewBlocks(plan *study.Plan) string {
	blocks := plan.Design.Blocks
	if !blocks.Fixed || blocks.Max >= stats.LeastBlocks {
		return ""
	}
	return fmt.Sprintf("%s too few for a bounded interval: it needs %d", quantity.Counted(blocks.Max, "block is", "blocks are"), stats.LeastBlocks)
}

// Size says how many environments a ladder has.
func Size(plan *study.Plan) string {
	parts, orders := map[string]bool{}, 1
	for _, s := range plan.Steps {
		parts[s.Part] = true
		orders = max(orders, s.Order)
	}
	text := fmt.Sprintf("%s from %s to %s: %d environments", quantity.Counted(len(parts)-1, "part", "parts"), plan.Baseline, plan.Environments[len(plan.Environments)-1].Name, len(plan.Environments))
	if orders > 1 {
		text += fmt.Sprintf(" for %d orders", orders)
	}
	return text
}

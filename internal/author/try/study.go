package try

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// Study is what is run to try an image.
type Study struct {
	Plan *study.Plan
	// YAML is the study as a file, from which the plan was made.
	YAML    []byte
	Guesses []Guess
	// Private says that it has values of environment variables, of which one may be a
	// password.
	Private bool
}

// The names of the study's workloads.
const (
	loadName  = "load"
	startName = "startup"
)

// MadeBy is the origin of the studies that tare try makes.
const MadeBy = "tare try"

// Visit is the plan with which the image is started once, in the baseline.
func (o Options) Visit() (*study.Plan, error) {
	environments, err := o.environments()
	if err != nil {
		return nil, err
	}
	draft := o.draft(environments[:1])
	draft.Use, draft.Order, draft.Blocks, draft.Arguments = "image-command", "interleaved", 1, o.Arguments
	return draft.Resolve(study.Overrides{})
}

func (o Options) draft(environments []study.DraftEnvironment) study.Draft {
	return study.Draft{
		Title: o.Image, Name: o.name(), Origin: MadeBy, Baseline: environments[0].Name, Environments: environments,
		Reference: o.Image, Margin: o.Margin, Secret: o.Secrets,
	}
}

func (o Options) environments() ([]study.DraftEnvironment, error) {
	if len(o.Environments) == 0 {
		return nil, fmt.Errorf("none of %s works on this machine; `tare doctor` shows why", strings.Join(DefaultEnvironments, ", "))
	}
	return study.ParseEnvironments(o.Environments)
}

func (o Options) study(g guesses) (*Study, error) {
	s := &Study{Guesses: g.list, Private: len(o.Env)+len(g.env) > 0}
	var err error
	if s.YAML, err = o.yaml(g); err == nil {
		s.Plan, err = study.Resolve(&study.File{Origin: MadeBy, Name: o.name(), Source: s.YAML}, study.Overrides{Seed: o.Seed})
	}
	return s, err
}

// Restricted is the plan with other numbers of blocks or time.
func (s *Study) Restricted(over study.Overrides) (*study.Plan, error) {
	return study.Resolve(&study.File{Origin: MadeBy, Name: s.Plan.Name, Source: s.YAML}, over)
}

// name of the run: try-nginx for docker-daemon:registry/nginx:1.27.
func (o Options) name() string { return strings.TrimSuffix("try-"+ImageName(o.Image), "-") }

// ImageName is nginx for docker-daemon:registry/nginx:1.27; "" where nothing of the name
// is left.
func ImageName(reference string) string {
	reference, _, _ = strings.Cut(reference, "@") // the digest
	reference = strings.TrimRight(reference, "/")
	reference = strings.TrimSuffix(reference[strings.LastIndex(reference, "/")+1:], ".tar")
	words := strings.Split(reference, ":")
	for _, prefix := range []string{"docker-daemon", "oci", "tar"} {
		if len(words) > 1 && words[0] == prefix {
			words = words[1:]
		}
	}
	return study.DirectoryName(words[0], "")
}

// yaml writes the study as a file of one's own would be.
func (o Options) yaml(g guesses) ([]byte, error) {
	environments, err := o.environments()
	if err != nil {
		return nil, err
	}
	out := &study.Text{}
	out.Add("# Made by `tare try`, from what the image did when it was started once.", "")
	for _, guess := range g.list {
		out.Add("# guessed: "+visible.Line(guess.String()), "")
	}
	out.Add("study: "+study.Quoted("try "+o.Image), "")
	out.Add("baseline: "+environments[0].Name, "")
	out.Add("image: "+study.Flow([]study.Setting{{Key: "reference", Value: o.Image}}), "")
	out.Add("environments:", "")
	out.Environments(environments, nil)
	if secrets := slices.Concat(o.Secrets, g.secrets); len(secrets) > 0 {
		out.Add("secret:", "")
		for _, s := range secrets {
			at := study.Setting{Key: "env", Value: s.Env}
			if s.File != "" {
				at = study.Setting{Key: "file", Value: s.File}
			}
			out.Add("  "+s.Name+": "+study.Flow([]study.Setting{at}), "")
		}
	}
	out.Add("workloads:", "")
	for _, w := range o.workloads(g) {
		out.Add("  - {"+strings.Join(w, ", ")+"}", "")
	}
	out.Add("design:", "")
	if o.Margin != "" {
		out.Add("  margin: "+study.Quoted(o.Margin), "")
	}
	if o.Budget > 0 {
		out.Add("  budget: "+o.Budget.String(), "")
	}
	return out.Bytes(), nil
}

// workloads are the load, if there is one, and the start; each is a list of settings.
func (o Options) workloads(g guesses) (all [][]string) {
	served := []string{"server: image"}
	if g.load.name == "job" {
		served = nil
	}
	var address []string
	if g.port > 0 {
		address = append(address, "port: "+strconv.Itoa(g.port))
	}
	if g.path != "" {
		address = append(address, "path: "+study.Quoted(g.path))
	}
	set := func(s study.Setting) string { return s.Key + ": " + study.Quoted(s.Value) }
	env := func(own map[string]string) []string {
		vars := Variables(o.Env)
		maps.Copy(vars, own)
		if len(vars) == 0 {
			return nil
		}
		return []string{"env: {" + strings.Join(lists.Map(sorted(vars), set), ", ") + "}"}
	}
	entry := func(use, as string, parts ...[]string) {
		list := append([]string{"use: " + use, "as: " + as}, served...)
		for _, p := range parts {
			list = append(list, p...)
		}
		all = append(all, list)
	}
	var arguments []string
	if len(o.Arguments) > 0 {
		arguments = []string{"arguments: " + study.FlowList(o.Arguments)}
	}
	switch {
	case g.pack != nil:
		entry(study.Quoted(g.load.workload), loadName, taken(address, g.pack), arguments, env(nil))
	case g.load.workload != "":
		entry(g.load.workload, loadName, address, lists.Map(sorted(g.parameters), set), arguments, env(g.env))
	}
	if g.load.name == "job" {
		entry(g.load.start, startName)
	} else {
		start, err := workload.Builtin(g.load.start)
		if err == nil { // else the study says it
			address = taken(address, start)
		}
		entry(g.load.start, startName, address, arguments, env(nil))
	}
	return all
}

// taken are the settings of parameters that a pack has.
func taken(settings []string, pack *workload.Pack) []string {
	return lists.Filter(settings, func(s string) bool {
		name, _, _ := strings.Cut(s, ":")
		_, has := pack.Parameters[name]
		return has
	})
}

// Undecided says how many of the figures that decide when a run stops are without a
// verdict; "" if none is.
func (o Options) Undecided(contrasts []verdict.Contrast) string {
	primary, open := 0, 0
	for _, c := range contrasts {
		if c.Primary {
			primary++
			if c.Verdict == verdict.None || c.Verdict == verdict.Inconclusive {
				open++
			}
		}
	}
	if open == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d comparisons of throughput or time have no verdict after the budget of %v: a longer --budget has more blocks, and a quiet machine narrower intervals", open, primary, o.Budget)
}

// Figure titles a metric of the study for the table at the end; "" leaves it out.
func Figure(w string, m workload.Metric) string {
	switch {
	case w == startName && m.Primary && m.Name == workload.StartSeconds:
		return "instance start"
	case w == startName && m.Primary:
		return "first answer"
	case w != loadName:
		return ""
	case m.Name == "cpu_per_kop":
		return "CPU per 1000"
	case m.Name == workload.CPUSeconds:
		return "CPU time"
	case m.FieldName() == workload.MemoryMean:
		return "memory"
	case m.Name == workload.WallSeconds:
		return "wall time"
	case m.Name == "requests_per_second":
		return "requests"
	case m.Name == "tps":
		return "transactions"
	case m.Primary:
		return strings.TrimSuffix(strings.ToUpper(m.Name), "_RPS")
	case slices.Contains([]string{"latency_p99", "latency_p95"}, m.Name):
		return strings.Replace(m.Name, "latency_p", "latency p", 1)
	}
	if operation, tail := strings.CutSuffix(m.Name, "_latency_p99"); tail { // of Redis
		return strings.ToUpper(operation) + " p99"
	}
	return ""
}

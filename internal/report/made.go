package report

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"tare/internal/environment"
	"tare/internal/study"
	"tare/internal/workload"
)

// fact is one line about how the run was made.
type fact struct {
	Name, Text string
	Code       bool
}

// made is what somebody needs to make the run again.
func (v *view) made() []fact {
	if v.Manifest.Import != nil {
		return v.importedFrom()
	}
	m, d := v.Manifest, v.Plan.Design
	facts := []fact{
		{"command", commandLine(m.Command), true},
		{"study", v.Plan.Study + " (" + v.Plan.Origin + ")", false},
		{"tare", m.Tare, false},
		{"seed", strconv.FormatUint(v.Plan.Seed, 10), true},
		{"started", m.Created.UTC().Format(time.RFC3339), false},
		{"machine", fmt.Sprintf("%s, %s, %s of memory", m.Machine.CPU, counted(m.Machine.Cores, "core", "cores"), figure(float64(m.Machine.Memory), "B")), false},
		{"system", system(v), false},
		{"image", strings.TrimSpace(m.Image.Name + " " + m.Image.Digest), true},
		{"limits", Limits(v.Plan.Limits), false},
	}
	if len(v.Plan.Pin) > 0 {
		facts = append(facts, fact{"pinned", Pinned(v.Plan.Pin), false})
	}
	for _, e := range v.Environments {
		for _, own := range e.Own() {
			facts = append(facts, fact{"only in " + e.Shown, own, true})
		}
	}
	if v.Plan.Price != nil {
		facts = append(facts, fact{"price", v.Plan.Price.String(), false})
	}
	if watched := v.Plan.Sampling.Words(); watched != "" {
		facts = append(facts, fact{"sampling", watched, false})
	}
	return append(facts,
		fact{"design", design(d, v.Plan.Workloads), false},
		fact{"sessions", sessions(v), false})
}

func system(v *view) string {
	m := v.Manifest.Machine
	text := fmt.Sprintf("%s, Linux %s, cgroups %s", m.Distribution, m.Kernel, m.Cgroups)
	if m.Virtualised != "" {
		text += ", itself virtualised (" + m.Virtualised + ")"
	}
	return text
}

// Limits says in words what the limits are.
func Limits(l environment.Limits) string {
	var parts []string
	if l.CPUs > 0 {
		parts = append(parts, strconv.FormatFloat(l.CPUs, 'g', -1, 64)+map[bool]string{true: " CPU", false: " CPUs"}[l.CPUs == 1])
	}
	if l.Memory > 0 {
		parts = append(parts, figure(float64(l.Memory), "B")+" of memory")
	}
	if l.PIDs > 0 {
		parts = append(parts, counted(l.PIDs, "process", "processes"))
	}
	if len(l.Cores) > 0 {
		parts = append(parts, "cores "+blockList(l.Cores))
	}
	for _, r := range []struct {
		n          float64
		unit, what string
	}{
		{float64(l.IO.Read), "B/s", " read"}, {float64(l.IO.Write), "B/s", " written"},
		{float64(l.IO.ReadOps), "op/s", " reading"}, {float64(l.IO.WriteOps), "op/s", " writing"},
	} {
		if r.n > 0 {
			parts = append(parts, figure(r.n, r.unit)+r.what)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Pinned says in words which cores the roles are pinned to.
func Pinned(pin map[string][]int) string {
	var parts []string
	for role, cores := range pin {
		parts = append(parts, role+" to core "+blockList(cores))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

func design(d study.Design, workloads []study.Workload) string {
	blocks := fmt.Sprintf("%d to %d blocks", d.Blocks.Min, d.Blocks.Max)
	switch {
	case d.Blocks.Fixed:
		blocks = fmt.Sprintf("exactly %d blocks", d.Blocks.Max)
	case d.Blocks.Open:
		blocks = fmt.Sprintf("at least %d blocks, without a maximum", d.Blocks.Min)
	}
	parts := []string{d.Order, blocks, "margin " + d.Margin.String(), "confidence " + d.Confidence.String() + " a " + d.Family}
	if d.Budget > 0 {
		parts = append(parts, "budget "+d.Budget.String())
	}
	if d.Drop == "decided" {
		parts = append(parts, "an environment leaves when its verdicts are in")
	}
	fresh := map[string][]string{}
	for _, w := range workloads {
		fresh[w.Fresh] = append(fresh[w.Fresh], w.Name)
	}
	for _, how := range []string{"trial", "block", "run"} {
		switch names := fresh[how]; {
		case len(names) == len(workloads) && len(names) > 0:
			parts = append(parts, "a fresh instance each "+how)
		case len(names) > 0:
			parts = append(parts, "a fresh instance each "+how+" for "+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, ", ")
}

func sessions(v *view) string {
	var parts []string
	for _, s := range v.Manifest.Sessions {
		text := s.Started.UTC().Format("2006-01-02 15:04:05") + " UTC"
		if s.Ended.IsZero() {
			text += ", killed"
		} else {
			text += fmt.Sprintf(", %s long", s.Ended.Sub(s.Started).Round(time.Second))
		}
		if s.Stopped != "" {
			text += ": " + s.Stopped
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// optionsOf are an environment's options in words, as far as they differ from
// what its kind does where a study says nothing.
func optionsOf(e environmentView) string {
	if words := e.UnusualOptions(); words != "" {
		return words
	}
	return "the usual"
}

func versions(m map[string]string) string {
	var parts []string
	for name, version := range m {
		parts = append(parts, name+" "+version)
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// commandLine prints words so that a shell reads them back.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%") == "" {
			quoted[i] = w
		} else {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// commands are what was run for a workload at one level, in order.
func commands(w *study.Workload, level study.Level) []fact {
	var all []fact
	add := func(name string, step workload.Step) {
		all = append(all, fact{name, expand(step, w, level), true})
	}
	for _, s := range w.Pack.Setup {
		add("setup", s)
	}
	for _, server := range w.Pack.Servers {
		add("server", server.Step)
	}
	if w.Pack.Warmup != nil {
		add("warm-up", *w.Pack.Warmup)
	}
	if w.Pack.Driver != nil {
		add("driver", *w.Pack.Driver)
	}
	for _, s := range w.Pack.Teardown {
		add("teardown", s)
	}
	if len(all) == 0 && w.Pack.Parser.Name != "" && w.Pack.Driver == nil && !w.Pack.Startup {
		return []fact{{"imported", "not known: only what was printed is", false}}
	}
	if len(all) == 0 {
		all = append(all, fact{"driver", "the start of the instance itself", false})
	}
	return all
}

// expand puts the parameters' values into a step's command line.
func expand(step workload.Step, w *study.Workload, level study.Level) string {
	text := step.Run
	if text == "" {
		text = commandLine(step.Argv)
	}
	var pairs []string
	for name, p := range w.Pack.Parameters {
		value, set := level.Parameters[name]
		if !set {
			value = p.Default
		}
		pairs = append(pairs, "${"+name+"}", value)
	}
	return strings.TrimSpace(strings.NewReplacer(pairs...).Replace(text))
}

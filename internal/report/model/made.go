package model

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/study"
)

// Fact is one line about how the run was made.
type Fact struct {
	Name, Text string
	Code       bool
}

// Made lists what is needed to repeat the run.
func (v *Report) Made() []Fact {
	if v.Manifest.Import != nil {
		return v.importedFrom()
	}
	m, d := v.Manifest, v.Plan.Design
	ofAll := "image"
	if v.ServicesOnly() {
		ofAll = "image of roles on the host" // services have their own
	}
	facts := []Fact{
		{"command", commandLine(m.Command), true},
		{"again", "tare rerun " + commandLine([]string{m.Run}), true},
		{"study", v.Plan.Study + " (" + v.Plan.Origin + ")", false},
		{"tare", m.Tare, false},
		{"seed", strconv.FormatUint(v.Plan.Seed, 10), true},
		{"started", m.Created.UTC().Format(time.RFC3339), false},
		{"machine", fmt.Sprintf("%s, %s, %s of memory", m.Machine.CPU, quantity.Counted(m.Machine.Cores, "core", "cores"), Figure(float64(m.Machine.Memory), "B")), false},
		{"system", system(v), false},
	}
	if v.Plan.Needs("") || len(m.Images) == 0 {
		facts = append(facts, Fact{ofAll, strings.TrimSpace(m.Image.Name + " " + m.Image.Digest), true})
	}
	facts = append(facts, Fact{"limits", Limits(v.Plan.Limits), false})
	for _, name := range slices.Sorted(maps.Keys(m.Images)) {
		facts = append(facts, Fact{"image of " + v.Plan.UsersOf(name), m.Images[name].Name + " " + m.Images[name].Digest, true})
	}
	for _, w := range v.Plan.Workloads {
		if w.Application != nil {
			facts = append(facts, Fact{"services of " + w.Name, w.Application.Words(v.Plan.Baseline), false})
		}
	}
	if pinned := pinned(v.Plan, m.Machine.Cores); pinned != "" {
		facts = append(facts, Fact{"pinned", pinned, false})
	}
	for _, e := range v.Environments {
		for _, own := range e.Own() {
			facts = append(facts, Fact{"only in " + e.Shown, own, true})
		}
	}
	if v.Plan.Price != nil {
		facts = append(facts, Fact{"price", v.Plan.Price.String(), false})
	}
	if watched := v.Plan.Sampling.Words(); watched != "" {
		facts = append(facts, Fact{"sampling", watched, false})
	}
	ran := lists.Map(lists.Filter(v.Environments, Environment.Ran), func(e Environment) string { return e.Name })
	facts = append(facts,
		Fact{"design", design(d, v.Plan.Workloads), false})
	for _, remark := range v.Plan.Fitting(ran) {
		facts = append(facts, Fact{"memory", remark, false})
	}
	return append(facts,
		Fact{"sessions", sessions(v), false})
}

// pinned says which cores the roles ran on, and where they left cores of the machine
// unused. "" is all cores.
func pinned(plan *study.Plan, cores int) string {
	words, used := plan.Pinned(), map[int]bool{}
	for _, list := range plan.Pin {
		for _, core := range list {
			used[core] = true
		}
	}
	if n := len(used); n > 0 && n < cores {
		words += fmt.Sprintf(": %d of the machine's %d cores, so rates are those of %s", n, cores, quantity.Counted(n, "core", "cores"))
	}
	return words
}

func system(v *Report) string {
	m := v.Manifest.Machine
	text := fmt.Sprintf("%s, Linux %s, cgroups %s", m.Distribution, m.Kernel, m.Cgroups)
	if m.Virtualised != "" {
		text += ", virtualised (" + m.Virtualised + ")"
	}
	return text
}

func design(d study.Design, workloads []study.Workload) string {
	blocks := fmt.Sprintf("%d to %d blocks", d.Blocks.Min, d.Blocks.Max)
	switch {
	case d.Blocks.Fixed:
		blocks = fmt.Sprintf("exactly %d blocks", d.Blocks.Max)
	case d.Blocks.Open:
		blocks = fmt.Sprintf("at least %d blocks, no maximum", d.Blocks.Min)
	}
	parts := []string{d.OrderWords(), blocks, "margin " + d.Margin.String(), "confidence " + d.Confidence.String() + " per " + d.Family}
	if d.Budget > 0 {
		parts = append(parts, "budget "+d.Budget.String())
	}
	if d.Drop == "decided" {
		parts = append(parts, "an environment is dropped once it has all its verdicts")
	}
	for _, f := range freshness(workloads) {
		text := "fresh instance per " + f.Per
		if !f.All {
			text += " for " + strings.Join(f.Names, ", ")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func sessions(v *Report) string {
	var parts []string
	for _, s := range v.Manifest.Sessions {
		text := s.Started.UTC().Format("2006-01-02 15:04:05") + " UTC"
		if s.Ended.IsZero() {
			text += ", not ended"
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

// OptionsInWords formats the options of an environment that differ from the defaults
// of its kind.
func OptionsInWords(e Environment) string {
	if words := e.UnusualOptions(); words != "" {
		return words
	}
	return "defaults"
}

// Versions lists programs with their versions, sorted by name.
func Versions(m map[string]string) string {
	var parts []string
	for name, version := range m {
		parts = append(parts, name+" "+version)
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// MachineInWords describes the machine of the run.
func (v *Report) MachineInWords() string {
	if v.Manifest.Import != nil {
		return v.importedOn()
	}
	return v.Manifest.Machine.CPU + ", " + v.Manifest.Machine.Distribution
}

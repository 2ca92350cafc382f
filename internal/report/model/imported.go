package model

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/rundir"
	"tare/internal/verdict"
	"tare/internal/verdict/anomaly"
)

// Finding is an anomaly with the label of its environment.
type Finding struct {
	Who, Text string
	anomaly.Finding
}

// Place names the workload, level and metric of a finding.
func (f Finding) Place() string {
	text := LevelTitle(f.Workload, f.Level)
	if f.Metric != "" {
		text += ", " + f.Metric
	}
	return text
}

func (f Finding) String() string {
	if f.Who == "" {
		return f.Place() + ": " + f.Text
	}
	return f.Who + ", " + f.Place() + ": " + f.Text
}

// gatherFindings collects anomalies. Imported results show them in a section, since
// the machine was not observed. For a run that tare made they are notes: its blocks
// protect against drift and modes of the machine.
func (v *Report) gatherFindings() {
	for _, f := range anomaly.Run(v.Plan, v.Trials, v.Manifest.Import) {
		who, text := "", f.Words(Figure)
		if f.Environment != "" {
			who = v.ShownName(f.Environment)
		}
		if v.Manifest.Import != nil {
			v.Findings = append(v.Findings, Finding{who, text, f})
			continue
		}
		if who != "" {
			v.Notes = append(v.Notes, Note{Environment: who, Text: text, Places: []string{Finding{Finding: f}.Place()}, Times: 1})
		}
	}
}

// Imported lists what is known about imported results, and the conditions of the
// procedure that they do not meet; nil for a run that tare made.
func (v *Report) Imported() []Fact {
	m := v.Manifest.Import
	if m == nil {
		return nil
	}
	facts := []Fact{{"imported", fmt.Sprintf("%s from %s: tare did not produce them and did not observe the machine",
		quantity.Counted(len(v.Trials), "result", "results"), quantity.Counted(m.Sources(), "file", "files")), false}}
	facts = append(facts, Fact{"order", v.orderInWords(m), false})
	for _, text := range m.Unsure {
		facts = append(facts, Fact{"unsure", text, false})
	}
	for _, name := range v.unmet(m) {
		facts = append(facts, Fact{"not met", name, false})
	}
	return facts
}

// importedOn is the machine as given at the import.
func (v *Report) importedOn() string {
	if words := v.Manifest.Import.Machine; words != "" {
		return words
	}
	return "The machine is unknown"
}

// importedFrom is how an imported run was made.
func (v *Report) importedFrom() []Fact {
	m := v.Manifest
	facts := []Fact{
		{"command", commandLine(m.Command), true},
		{"study", v.Plan.Study + " (" + v.Plan.Origin + ")", false},
		{"tare", m.Tare, false},
		{"imported", m.Created.UTC().Format(time.RFC3339), false},
		{"machine", v.importedOn(), false},
		{"design", v.Plan.Design.Order + ", margin " + v.Plan.Design.Margin.String() + ", confidence " + v.Plan.Design.Confidence.String() + " per comparison", false},
		{"sessions", sessions(v), false},
	}
	for _, f := range m.Import.Files {
		text := fmt.Sprintf("%s: %s of %s, by %s, %s", f.File, LevelTitle(f.Workload, f.Level), v.ShownName(f.Environment), f.Tool, quantity.Counted(f.Results, "result", "results"))
		if !f.Taken.IsZero() {
			text += ", " + f.Taken.UTC().Format(time.RFC3339)
		}
		facts = append(facts, Fact{"file", text + "; kept as " + f.Path, false})
	}
	return facts
}

func (v *Report) orderInWords(m *rundir.Import) string {
	text := map[string]string{
		rundir.ImportInterleaved: "interleaved: results with the same number form a block",
		rundir.ImportSequential:  "one environment after another",
		rundir.ImportMixed:       "mixed: neither one environment after another nor in blocks",
		rundir.ImportUnknown:     "unknown",
	}[m.Order]
	if m.Known != "" {
		text += ", by " + m.Known
	}
	if m.Order != rundir.ImportInterleaved {
		text += "; within a file, in the order of the file"
	}
	if span := v.when(m); span != "" {
		text += ". " + span
	}
	return text
}

// when lists the environments by the time of their first result.
func (v *Report) when(m *rundir.Import) string {
	first := map[string]rundir.ImportedFile{}
	for _, f := range m.Files {
		if f.Taken.IsZero() {
			return ""
		}
		if old, ok := first[f.Environment]; !ok || f.Taken.Before(old.Taken) {
			first[f.Environment] = f
		}
	}
	var files []rundir.ImportedFile
	for _, e := range v.Environments {
		if f, ok := first[e.Name]; ok {
			files = append(files, f)
		}
	}
	sort.SliceStable(files, func(i, j int) bool { return files[i].Taken.Before(files[j].Taken) })
	parts := lists.Map(files, func(f rundir.ImportedFile) string {
		return v.ShownName(f.Environment) + " " + f.Taken.UTC().Format("2006-01-02 15:04")
	})
	return "First results, UTC: " + strings.Join(parts, ", ")
}

// unmet are the conditions of the procedure that the results do not meet.
func (v *Report) unmet(m *rundir.Import) []string {
	var all []string
	if m.Order != rundir.ImportInterleaved {
		all = append(all, "interleaved in random order: drift of the machine looks like a difference, so there is an estimate with an interval but no verdict")
	} else {
		all = append(all, "random order within a block, and a number of results fixed in advance: unknown, although the interval assumes both")
	}
	fresh := map[string]bool{}
	for _, w := range v.Plan.Workloads {
		fresh[w.Fresh] = true
	}
	switch {
	case fresh[verdict.UnknownFresh]:
		all = append(all, "a fresh instance for each result: unknown; if one instance produced all results, the variation between instances was not measured")
	case fresh["run"]:
		all = append(all, "a fresh instance for each result: one instance produced all results, so the variation between instances was not measured")
	}
	least, looks := 0, 8
	for _, c := range v.Contrasts {
		if n := min(c.Values.N, c.Base.N); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if least > 0 && least < looks {
		all = append(all, fmt.Sprintf("%d results per side: the smallest comparison has %d", looks, least))
	}
	return append(all, "one image, equal limits, and the resource use of each environment: unknown")
}

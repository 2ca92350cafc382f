package report

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"tare/internal/anomaly"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// finding is what a look at the figures brought, with the environment as it is
// shown and the place.
type finding struct {
	Who, Text string
	anomaly.Finding
}

// Place names the figures that a finding is about.
func (f finding) Place() string {
	text := place(f.Workload, f.Level)
	if f.Metric != "" {
		text += ", " + f.Metric
	}
	return text
}

func (f finding) String() string {
	if f.Who == "" {
		return f.Place() + ": " + f.Text
	}
	return f.Who + ", " + f.Place() + ": " + f.Text
}

// gatherFindings looks at the figures. Of imported results the findings have a
// section of their own, since nobody saw the machine; of a run's own they are
// notes: its blocks hold against drift and against two modes of the machine.
func (v *view) gatherFindings() {
	for _, f := range anomaly.Run(v.Plan, v.Trials, v.Manifest.Import, figure) {
		who := ""
		if f.Environment != "" {
			who = v.shown(f.Environment)
		}
		if v.Manifest.Import != nil {
			v.Findings = append(v.Findings, finding{who, f.Text, f})
			continue
		}
		if who != "" {
			v.Notes = append(v.Notes, note{Environment: who, Text: f.Text, Places: []string{finding{Finding: f}.Place()}, Times: 1})
		}
	}
}

// Imported says what is known of results that tare did not make, and which of
// the procedure's conditions they do not meet; nothing of a run of its own.
func (v *view) Imported() []fact {
	m := v.Manifest.Import
	if m == nil {
		return nil
	}
	facts := []fact{{"imported", fmt.Sprintf("%s from %s that existed already: tare did not make them and did not see the machine",
		counted(len(v.Trials), "result", "results"), counted(len(m.Files), "file", "files")), false}}
	facts = append(facts, fact{"order", v.orderInWords(m), false})
	for _, name := range v.unmet(m) {
		facts = append(facts, fact{"not met", name, false})
	}
	return facts
}

// importedOn is the machine in the words of whoever imported the results.
func (v *view) importedOn() string {
	if words := v.Manifest.Import.Machine; words != "" {
		return words
	}
	return "The machine is not known"
}

// importedFrom is how an imported run was made.
func (v *view) importedFrom() []fact {
	m := v.Manifest
	facts := []fact{
		{"command", commandLine(m.Command), true},
		{"study", v.Plan.Study + " (" + v.Plan.Origin + ")", false},
		{"tare", m.Tare, false},
		{"imported", m.Created.UTC().Format(time.RFC3339), false},
		{"machine", v.importedOn(), false},
		{"design", v.Plan.Design.Order + ", margin " + v.Plan.Design.Margin.String() + ", confidence " + v.Plan.Design.Confidence.String() + " a comparison", false},
		{"sessions", sessions(v), false},
	}
	for _, f := range m.Import.Files {
		text := fmt.Sprintf("%s: %s of %s, by %s, %s", f.File, place(f.Workload, f.Level), v.shown(f.Environment), f.Tool, counted(f.Results, "result", "results"))
		if !f.Taken.IsZero() {
			text += ", " + f.Taken.UTC().Format(time.RFC3339)
		}
		facts = append(facts, fact{"file", text + "; kept as " + f.Path, false})
	}
	return facts
}

func (v *view) orderInWords(m *rundir.Import) string {
	text := map[string]string{
		rundir.ImportInterleaved: "interleaved: the results of one number belong together",
		rundir.ImportSequential:  "one environment after another",
		rundir.ImportMixed:       "mixed: neither one environment after another nor in blocks",
		rundir.ImportUnknown:     "not known",
	}[m.Order]
	if m.Known != "" {
		text += ", by " + m.Known
	}
	if m.Order != rundir.ImportInterleaved {
		text += "; within a file, as the file has them"
	}
	if span := v.when(m); span != "" {
		text += ". " + span
	}
	return text
}

// when lists the environments by the time of their first result.
func (v *view) when(m *rundir.Import) string {
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
	var parts []string
	for _, f := range files {
		parts = append(parts, v.shown(f.Environment)+" "+f.Taken.UTC().Format("2006-01-02 15:04"))
	}
	return "First results, UTC: " + strings.Join(parts, ", ")
}

// unmet are the conditions of the procedure that the results do not meet.
func (v *view) unmet(m *rundir.Import) []string {
	var all []string
	if m.Order != rundir.ImportInterleaved {
		all = append(all, "interleaved in random order: a drift of the machine looks like a difference, so there is an estimate with an interval and no verdict")
	} else {
		all = append(all, "random order within a block is not known, nor is whether the number of results was fixed beforehand, as the interval takes it to be")
	}
	fresh := map[string]bool{}
	for _, w := range v.Plan.Workloads {
		fresh[w.Fresh] = true
	}
	switch {
	case fresh[verdict.UnknownFresh]:
		all = append(all, "a fresh instance for each result: not known; if one instance gave all, the variation between instances was not measured")
	case fresh["run"]:
		all = append(all, "a fresh instance for each result: one gave all, so the variation between instances was not measured")
	}
	least, looks := 0, 8
	for _, c := range v.Contrasts {
		if n := min(c.Values.N, c.Base.N); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if least > 0 && least < looks {
		all = append(all, fmt.Sprintf("%d results a side: the smallest comparison has %d", looks, least))
	}
	return append(all, "one image, one set of limits, and what each environment used: not known")
}

func (t *terminal) imported(v *view) {
	if facts := v.Imported(); len(facts) > 0 {
		fmt.Fprintf(t, "\n%s\n", t.paint(bold, "Imported"))
		for _, f := range facts {
			t.wrap(2, f.Name+": "+f.Text)
		}
	}
	if len(v.Findings) > 0 {
		fmt.Fprintf(t, "\n%s\n", t.paint(bold, "What the figures hide"))
		for _, f := range v.Findings {
			t.wrap(2, f.String())
		}
	}
}

func markdownImported(b *strings.Builder, v *view) {
	if facts := v.Imported(); len(facts) > 0 {
		b.WriteString("\n## Imported\n\n")
		for _, f := range facts {
			fmt.Fprintf(b, "- %s: %s\n", escape(f.Name), escape(f.Text))
		}
	}
	if len(v.Findings) > 0 {
		b.WriteString("\n## What the figures hide\n\n")
		for _, f := range v.Findings {
			fmt.Fprintf(b, "- %s\n", escape(f.String()))
		}
	}
}

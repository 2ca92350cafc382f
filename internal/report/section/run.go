package section

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	host "tare/internal/environment"
	"tare/internal/report/model"
)

func paths(v *model.Report, _ Options) Section {
	s := Section{ID: "paths", Title: "Network and storage paths",
		Lead: "The network path between an instance and the host, and the storage that its files are on, with the file system of the host below."}
	t := &Table{Class: "full", Lines: true, Columns: []Column{key("environment"), prose("network"), prose("root"), column("root is on"), prose("/data"), column("/data is on")}}
	for _, r := range v.SharedPaths() {
		var names Cell
		for i, e := range r.Environments {
			cell := where(&e)
			cell[0].Break = i > 0
			names = append(names, cell...)
		}
		t.Rows = append(t.Rows, Line(names, r.Network, r.Root, r.RootOn, r.Data, r.DataOn))
	}
	return s.of(t)
}

// where is an environment with the host that it ran on.
func where(e *model.Environment) Cell {
	cell := environment(e)
	if e.On != "" {
		cell = append(cell, Text{Text: ", on " + e.On, Style: Quiet})
	}
	return cell
}

func imported(v *model.Report, _ Options) Section {
	s := Section{ID: "imported", Title: "Imported results"}
	var facts, anomalies []Cell
	for _, f := range v.Imported() {
		facts = append(facts, Cell{{Text: f.Name, Style: Strong}, {Text: ": " + f.Text}})
	}
	for _, f := range v.Findings {
		anomalies = append(anomalies, plain(f.String()))
	}
	if len(facts) > 0 {
		s.Parts = append(s.Parts, Part{Notes: facts})
	}
	if len(anomalies) > 0 {
		s.Parts = append(s.Parts, Part{Title: "Anomalies in the data", Notes: anomalies})
	}
	return s
}

// environments are those that did not take part; in a document all, and what may disturb
// measurements on the machine.
func environments(v *model.Report, o Options) Section {
	if o.Short {
		s := Section{ID: "environments", Title: "Skipped environments"}
		t := &Table{Lines: true, Columns: []Column{key("environment"), prose("needs")}}
		for _, skipped := range v.Skipped {
			t.Rows = append(t.Rows, Line(environment(&skipped.Environment), findings(skipped.Findings)))
		}
		return s.of(t)
	}
	if o.Paper {
		return environmentsOfPaper(v)
	}
	t := &Table{About: "Environments", Class: "full", Columns: []Column{key("environment"), column("kind"), column("state"), prose("findings"), prose("versions"), prose("options")}}
	for _, e := range v.Environments {
		state := string(e.Facts.State)
		if !e.Ran() {
			state = "skipped"
		}
		found := findings(model.NeedingFix(e.Facts.Findings))
		for _, note := range e.Facts.Notes {
			found = append(found, Text{Text: note, Break: true})
		}
		t.Rows = append(t.Rows, Line(where(&e), e.Kind, Cell{{Text: state, Class: "state-" + string(e.Facts.State)}}, found, model.Versions(e.Facts.Versions), model.OptionsInWords(e)))
	}
	s := Section{ID: "environments", Title: "Environments and machine", Nav: "Environments"}.of(t)
	if len(v.Manifest.Noise) == 0 {
		return s
	}
	t = &Table{Columns: []Column{column("state"), key("what"), prose("findings"), prose("fix")}}
	for _, f := range v.Manifest.Noise {
		t.Rows = append(t.Rows, Line(Cell{{Text: string(f.State), Class: "state-" + string(f.State)}}, f.What, f.Reason, f.Fix.String()))
	}
	s.Parts = append(s.Parts, Part{Title: "Sources of noise on this machine", Table: t})
	return s
}

// environmentsOfPaper are those that the report compares.
func environmentsOfPaper(v *model.Report) Section {
	t := &Table{Columns: []Column{key("environment"), column("kind"), prose("versions and options")}}
	for _, e := range v.Environments {
		about := strings.Trim(model.Versions(e.Facts.Versions)+"; "+e.UnusualOptions(), "; ")
		if !e.Ran() {
			about = "did not run on this machine"
		}
		if !e.Rung {
			t.Rows = append(t.Rows, Line(e.Shown, e.Kind, about))
		}
	}
	return Section{Title: "Environments", Paper: "environments"}.of(t)
}

func findings(all []host.Finding) (cell Cell) {
	for _, f := range all {
		what := f.What
		if f.Reason != "" {
			what += ": " + f.Reason
		}
		cell = append(cell, Text{Text: what, Break: true})
		if !f.Fix.IsZero() {
			cell = append(cell, Text{Text: "fix: ", Style: Quiet, Break: true}, Text{Text: f.Fix.String(), Style: Code})
		}
	}
	return cell
}

func failures(v *model.Report, o Options) Section {
	s := Section{ID: "failures", Title: "Failed and skipped trials", Nav: "Failed and skipped"}
	t := &Table{Class: "full", Columns: []Column{group("status"), number("trials").say("%s ×"), key("environment").say("%s,"), column("workload").say("%s"), column("blocks").say("(blocks %s):"), prose("reason").say("%s")}}
	list := func(status string, failures []model.Failure) {
		for _, f := range failures {
			t.Rows = append(t.Rows, Line(status, len(f.Blocks), f.Shown, model.LevelTitle(f.Workload, f.Level), lists.Ranges(f.Blocks), reasonWithOutput(f, o)))
		}
	}
	list("failed", v.Failed)
	list("skipped", v.Known)
	return s.of(t)
}

// mostPrinted is how many lines of output a terminal shows: those of a driver, but not the
// console of a guest, whose reason says what of it matters.
const mostPrinted = 6

// reasonWithOutput of trials is why they failed, and what programs had printed in the first.
func reasonWithOutput(f model.Failure, o Options) Cell {
	cell, printed := plain(f.Reason), slices.Collect(strings.Lines(f.Output))
	if len(printed) == 0 || o.Short && !o.All && len(printed) > mostPrinted {
		return cell
	}
	if len(f.Blocks) > 1 {
		cell = append(cell, Text{Text: fmt.Sprintf("in block %d", f.Blocks[0]), Style: Quiet, Break: true})
	}
	for _, line := range printed {
		cell = append(cell, Text{Text: strings.TrimSpace(line), Style: Quiet, Break: true})
	}
	return cell
}

// notes of the run. On a terminal those about the machine are among them.
func notes(v *model.Report, o Options) Section {
	s := Section{ID: "notes", Title: "Notes"}
	all := v.Notes
	if o.Short {
		all = slices.Concat(v.Notes, v.MachineNotes())
	}
	lines := lists.Map(all, func(n model.Note) Cell {
		return Cell{{Text: n.Environment, Style: Strong}, {Text: ": " + n.Text + n.Where()}}
	})
	if len(lines) > 0 {
		s.Parts = []Part{{Notes: lines}}
	}
	if stolen := v.StolenTable(); len(stolen) > 0 && !o.Short {
		const title = "Share of a core that the hypervisor took during the samples"
		t := &Table{About: title, Columns: []Column{key("workload")}}
		for _, e := range v.Environments {
			t.Columns = append(t.Columns, number(e.Shown))
		}
		for _, r := range stolen {
			shown := Line(r.Title)
			for _, share := range r.Shares {
				shown.Cells = append(shown.Cells, plain(share))
			}
			t.Rows = append(t.Rows, shown)
		}
		s.Parts = append(s.Parts, Part{Title: title, Table: t})
	}
	return s
}

// made is what it takes to repeat the run.
func made(v *model.Report, o Options) Section {
	s := Section{ID: "made", Title: "Provenance"}
	if o.Short {
		return s
	}
	t := &Table{About: "Provenance of the run", Columns: []Column{key(""), column("")}}
	for _, f := range v.Made() {
		t.Rows = append(t.Rows, Line(f.Name, fact(f)))
	}
	commands := &Table{Columns: []Column{key("workload"), column("level"), column("command")}}
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			var cell Cell
			for _, f := range v.Commands(w, l) {
				cell = append(cell, Text{Text: f.Name + " ", Style: Quiet, Break: true}, fact(f)[0])
			}
			r := Line(w.Name, l.Name, cell)
			r.ID = fmt.Sprintf("c%d-%d", w.Index, l.Index)
			commands.Rows = append(commands.Rows, r)
		}
	}
	s.Parts = []Part{{Table: t}, {Title: "Commands", Table: commands}}
	return s
}

func fact(f model.Fact) Cell {
	if f.Code {
		return Cell{{Text: f.Text, Style: Code}}
	}
	return plain(f.Text)
}

// Package text writes a run as text for a terminal.
package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/base/term"
	"tare/internal/base/visible"
	"tare/internal/report/model"
)

// Write writes the verdicts as tables, a workload at one level each, and
// after them what was skipped, what failed and what was remarked.
func Write(w io.Writer, in model.Input, o model.Options) error {
	v := model.New(in)
	t := newTerminal(o)
	t.wrap(0, t.paint(bold, term.Cell(v.Plan.Study))+"  "+v.Manifest.Run)
	t.wrap(0, v.Overview())
	for _, wv := range v.Workloads {
		for _, l := range wv.Levels {
			t.level(v, wv, l)
			t.costs(v.CostTable(wv, []model.Level{l}, false))
		}
	}
	t.costless(v)
	t.fair(v)
	t.why(v)
	t.kernel(briefly(v.Kernel(), o.All))
	t.sheet(v.ScoreSheet())
	t.against(v)
	t.nodes(v.NodesRows())
	t.capacities(v.Capacities())
	t.atLoads(v.AtLoads())
	t.within(v.WithinRows())
	t.growths(v.Growths())
	t.copies(v.CopiesRows())
	t.paths(v.SharedPaths())
	t.imported(v)
	t.skipped(v)
	t.failures("Failed trials", v.Failed)
	t.failures("Skipped trials", v.Known)
	t.notes(v)
	_, err := io.WriteString(w, t.String())
	return err
}

type terminal struct {
	model.Options
	strings.Builder
}

func newTerminal(o model.Options) *terminal {
	if o.Width <= 0 {
		o.Width = term.DefaultWidth
	}
	return &terminal{Options: o}
}

// heading begins a section.
func (t *terminal) heading(title string) { fmt.Fprintf(t, "\n%s\n", t.paint(bold, title)) }

// group prints a title above rows, unless the row before was in the same group.
func (t *terminal) group(last, title string) string {
	if title != last {
		t.wrap(2, t.paint(dim, title))
	}
	return title
}

// The few renditions that the tables use.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (t *terminal) paint(code, text string) string {
	if !t.Colour || text == "" {
		return text
	}
	return term.Own("\x1b["+code+"m") + text + term.Own("\x1b[0m")
}

func (t *terminal) verdict(word string) string {
	code := map[string]string{"slower": red, "faster": cyan, "equivalent": green, "inconclusive": yellow}[word]
	if code == "" {
		return word
	}
	return t.paint(code, word)
}

func (t *terminal) skipped(v *model.Report) {
	if len(v.Skipped) == 0 {
		return
	}
	t.heading("Skipped environments")
	for _, s := range v.Skipped {
		t.wrap(2, s.Environment.Shown)
		for _, f := range s.Findings {
			t.wrap(4, "needs "+f.What+": "+f.Reason)
			if f.Fix != "" {
				t.wrap(4, "fix: "+f.Fix)
			}
		}
	}
}

func (t *terminal) failures(title string, list []model.Failure) {
	if len(list) == 0 {
		return
	}
	t.heading(title)
	for _, f := range list {
		t.wrap(2, fmt.Sprintf("%d × %s, %s: %s", len(f.Blocks), f.Shown, model.LevelTitle(f.Workload, f.Level), f.Reason))
	}
}

func (t *terminal) notes(v *model.Report) {
	var cautions []model.Note
	for _, h := range v.Headlines() {
		if h.Caution != "" {
			cautions = append(cautions, model.Note{Environment: h.Environment, Text: h.Caution})
		}
	}
	all := slices.Concat(cautions, v.Notes, v.MachineNotes())
	if len(all) == 0 {
		return
	}
	t.heading("Notes")
	for _, n := range all {
		t.wrap(2, n.String())
	}
}

// wrap prints text in lines that fit, indented; what continues is indented
// further.
func (t *terminal) wrap(indent int, text string) {
	room := max(20, t.Width-indent-2)
	for i, line := range term.Wrap(visible.Indent(text), room) {
		if i > 0 {
			t.WriteString("  ")
		}
		t.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
}

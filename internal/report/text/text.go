// Package text writes a run as text for a terminal.
package text

import (
	"fmt"
	"io"
	"strings"

	"tare/internal/base/term"
	"tare/internal/base/visible"
	"tare/internal/parity"
	"tare/internal/report/model"
	"tare/internal/report/section"
)

// Write writes the verdicts as tables, a workload at one level each, and the sections
// below them.
func Write(w io.Writer, in model.Input, o model.Options) error {
	v := model.New(in)
	t := newTerminal(o)
	t.title(v)
	t.wrap(0, v.Overview())
	first, others := section.Split(t.of(v, section.All))
	t.sections(first)
	for _, wv := range v.Workloads {
		for _, l := range wv.Levels {
			t.level(v, wv, l)
		}
	}
	t.sections(others)
	return t.to(w)
}

// WriteScore writes the score sheet alone.
func WriteScore(w io.Writer, in model.Input, o model.Options) error {
	v := model.New(in)
	t := newTerminal(o)
	t.title(v)
	t.sections(t.of(v, section.Score))
	return t.to(w)
}

// WriteClaims writes the claims of a published study, judged by a run.
func WriteClaims(w io.Writer, in model.Input, o model.Options) error {
	t := newTerminal(o)
	t.sections(t.of(model.New(in), section.Claims))
	return t.to(w)
}

// WriteWhy writes the attribution of a run over a ladder, and what the kernel counted
// at both ends.
func WriteWhy(w io.Writer, in model.Input, o model.Options) error {
	t := newTerminal(o)
	t.sections(t.of(model.New(in), section.Why))
	return t.to(w)
}

// WriteFairness writes what differs between environments, with the confounds in full, and
// what differs between nodes.
func WriteFairness(w io.Writer, summaries []parity.Summary, across parity.Nodes, o model.Options) error {
	t := newTerminal(o)
	t.margin = 0
	for _, p := range section.Differences(summaries, across, func(name string) string { return name }, section.Options{All: o.All}) {
		if p.Title != "" && t.Len() > 0 {
			t.WriteString("\n")
		}
		t.part(p)
	}
	return t.to(w)
}

type terminal struct {
	model.Options
	strings.Builder
	margin int // at the left of a section
}

func newTerminal(o model.Options) *terminal {
	if o.Width <= 0 {
		o.Width = term.DefaultWidth
	}
	return &terminal{Options: o, margin: 2}
}

func (t *terminal) to(w io.Writer) error {
	_, err := io.WriteString(w, strings.TrimPrefix(t.String(), "\n"))
	return err
}

func (t *terminal) title(v *model.Report) {
	t.wrap(0, t.paint(bold, term.Cell(v.Plan.Study))+"  "+v.Manifest.Run)
}

func (t *terminal) of(v *model.Report, of section.Excerpt) []section.Section {
	return section.Of(v, of, section.Options{Short: true, All: t.All})
}

func (t *terminal) sections(all []section.Section) {
	for _, s := range all {
		fmt.Fprintf(t, "\n%s\n", t.paint(bold, s.Title))
		t.wrap(2, s.Lead)
		for _, p := range s.Parts {
			t.part(p)
		}
	}
}

// level is a table of the verdicts, by metric.
func (t *terminal) level(v *model.Report, w model.Workload, l model.Level) {
	table := section.Comparisons(v, []model.Level{l}, section.Options{All: t.All})
	if len(table.Rows) > 0 {
		fmt.Fprintf(t, "\n%s\n", t.paint(bold, model.LevelTitle(w.Name, l.Name)))
		t.table(table)
	}
}

// part prints a part of a section. One that is closed is a line, unless all is asked for.
func (t *terminal) part(p section.Part) {
	title := p.Title
	if p.Folded != "" {
		if title, _, _ = strings.Cut(p.Folded, ": "); !t.All {
			t.wrap(t.margin, p.Folded)
			return
		}
		t.wrap(t.margin, t.paint(dim, title))
		t.margin, title = t.margin+2, ""
		defer func() { t.margin -= 2 }()
	}
	t.wrap(t.margin, t.paint(dim, title))
	t.wrap(t.margin, p.Lead.Plain(0))
	if p.Table != nil {
		t.table(p.Table)
	}
	for _, n := range p.Notes {
		t.wrap(t.margin, n.Plain(0))
	}
	for i, reason := range p.Numbered {
		t.wrap(t.margin, fmt.Sprintf("[%d] %s", i+1, reason))
	}
	t.wrap(t.margin, p.Last)
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

var verdicts = map[string]string{"slower": red, "faster": cyan, "equivalent": green, "inconclusive": yellow}

func (t *terminal) paint(code, text string) string {
	if !t.Colour || text == "" || code == "" {
		return text
	}
	return term.Own("\x1b["+code+"m") + text + term.Own("\x1b[0m")
}

// wrap prints text in lines that fit, indented; what continues is indented
// further.
func (t *terminal) wrap(indent int, text string) {
	if text == "" {
		return
	}
	room := max(20, t.Width-indent-2)
	for i, line := range term.Wrap(visible.Indent(text), room) {
		if i > 0 {
			t.WriteString("  ")
		}
		t.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
}

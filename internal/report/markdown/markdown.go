// Package markdown writes a run as Markdown, for an issue or a README.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
	"tare/internal/report/model"
	"tare/internal/report/section"
	"tare/internal/verdict"
)

// Write writes the verdicts as a table, with a row for each primary metric and a column
// for each environment, and the sections below it.
func Write(w io.Writer, in model.Input, _ model.Options) error {
	v := model.New(in)
	d := document{"# " + escape(v.Plan.Study), fmt.Sprintf("Run %s: %s.", code(v.Manifest.Run), escape(v.Overview()))}
	first, others := section.Split(section.Of(v, section.All, section.Options{}))
	d.sections(first)
	d.matrix(v)
	if note := v.Footnote(); note != "" {
		d.add(escape(note) + ".")
	}
	d.sections(others)
	return d.to(w)
}

// WriteScore writes the score sheet alone, as Markdown.
func WriteScore(w io.Writer, in model.Input, _ model.Options) error {
	v := model.New(in)
	d := document{"# " + escape(v.Plan.Study), fmt.Sprintf("Run %s.", code(v.Manifest.Run))}
	d.sections(section.Of(v, section.Score, section.Options{}))
	return d.to(w)
}

// document is a list of blocks: headings, paragraphs, lists and tables.
type document []string

// add adds a block, unless it has no lines.
func (d *document) add(lines ...string) {
	if text := strings.Join(lines, "\n"); text != "" {
		*d = append(*d, text)
	}
}

func (d *document) to(w io.Writer) error {
	_, err := io.WriteString(w, strings.Join(*d, "\n\n")+"\n")
	return err
}

func (d *document) sections(all []section.Section) {
	for _, s := range all {
		d.add("## " + escape(s.Title))
		d.add(escape(s.Lead))
		for _, p := range s.Parts {
			d.part(p)
		}
	}
}

func (d *document) part(p section.Part) {
	if p.Title != "" {
		d.add("### " + escape(p.Title))
	}
	if p.Folded != "" {
		d.add("<details><summary>" + escape(p.Folded) + "</summary>")
	}
	d.add(cell(p.Lead))
	if p.Table != nil {
		d.add(table(p.Table)...)
	}
	notes := lists.Map(p.Notes, func(n section.Cell) string { return "- " + cell(n) })
	for i, reason := range p.Numbered {
		notes = append(notes, fmt.Sprintf("- [%d] %s", i+1, escape(reason)))
	}
	d.add(notes...)
	d.add(escape(p.Last))
	if p.Folded != "" {
		d.add("</details>")
	}
}

func table(t *section.Table) []string {
	head, rule := "|", "|"
	for _, c := range t.Columns {
		head += " " + escape(c.Head) + " |"
		rule += map[bool]string{true: "---:|", false: "---|"}[c.Number]
	}
	lines := []string{head, rule}
	for _, r := range t.Rows {
		line := "|"
		for i := range t.Columns {
			text := ""
			if i < len(r.Cells) {
				text = cell(r.Cells[i])
			}
			if r.Heading && text != "" {
				text = "**" + text + "**"
			}
			line += " " + text + " |"
		}
		lines = append(lines, line)
	}
	return lines
}

func cell(c section.Cell) (text string) {
	for _, t := range c {
		if t.Break && text != "" {
			text += "<br>"
		}
		switch {
		case t.Text == "":
		case t.Style == section.Strong || t.Style == section.Verdict:
			text += "**" + escape(t.Text) + "**"
		case t.Style == section.Code:
			text += code(t.Text)
		case t.Style == section.Label:
			text += escape(" [" + t.Text + "]")
		default:
			text += escape(t.Text)
		}
	}
	return text
}

// matrix is the table of the verdicts.
func (d *document) matrix(v *model.Report) {
	head, rule := "| workload | metric | "+escape(v.Base.Shown), "|---|---|---:"
	for _, e := range v.Compared() {
		head += " | " + escape(e.Shown)
		rule += "|---"
	}
	lines := []string{head + " |", rule + "|"}
	for _, r := range v.Rows() {
		m := r.Metric
		if !m.Primary && !m.Companion {
			continue
		}
		line := fmt.Sprintf("| %s | %s (%s is better) | %s", escape(r.Title()), escape(m.Title()), escape(m.Better), escape(model.Figure(m.Reference, m.Unit)))
		for _, c := range m.Ran() {
			line += " | " + matrixCell(c)
		}
		lines = append(lines, line+" |")
	}
	d.add(lines...)
	if v.Plan.Design.Order == verdict.OrderUnpaired {
		d.add(fmt.Sprintf("Each cell: change vs %s from two unpaired samples, %s interval, results per side, and how it looks.", escape(v.Plan.Baseline), v.Plan.Design.Confidence))
		return
	}
	d.add(fmt.Sprintf("Each cell: verdict, change vs %s, %s interval of each figure, blocks. The margin of `equivalent` is %s.",
		escape(v.Plan.Baseline), v.Plan.Design.Confidence, v.Plan.Design.Margin))
}

func matrixCell(c model.Cell) string {
	if c.Contrast == nil {
		return model.Missing + ", " + escape(c.Reason)
	}
	k := c.Contrast
	text := fmt.Sprintf("**%s**%s %s %s %s", model.VerdictWord(k), model.ConfoundMark(k), model.EstimateText(k), escape(model.IntervalText(k)), model.BlockCount(k))
	if r := model.Remark(k); r != "" {
		text += ": " + escape(r)
	}
	return text
}

// Everything that a line of the report is made of goes through one of these, besides
// words and numbers of tare's own.
var (
	escape = visible.Markdown
	code   = visible.MarkdownCode
)

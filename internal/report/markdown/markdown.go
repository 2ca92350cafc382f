// Package markdown writes a run as Markdown, for an issue or a README.
package markdown

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/base/visible"
	"tare/internal/report/model"
	"tare/internal/verdict"
)

// Write writes the verdicts as tables for an issue or a README: a row a
// primary metric and CPU time per thousand operations, a column an environment.
func Write(w io.Writer, in model.Input, _ model.Options) error {
	v := model.New(in)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escape(v.Plan.Study))
	fmt.Fprintf(&b, "Run %s: %s.\n\n", code(v.Manifest.Run), escape(v.Overview()))
	for _, h := range v.Headlines() {
		fmt.Fprintf(&b, "- **%s**: %s.", escape(h.Environment), escape(h.Text))
		if h.Caution != "" {
			fmt.Fprintf(&b, " Note: %s.", escape(h.Caution))
		}
		b.WriteString("\n")
	}
	matrix(&b, v)
	if note := v.Footnote(); note != "" {
		fmt.Fprintf(&b, "\n%s.\n", escape(note))
	}
	costs(&b, v)
	fairness(&b, v)
	why(&b, v)
	kernel(&b, v.Kernel())
	scoreSheet(&b, v.ScoreSheet())
	against(&b, v)
	nodes(&b, v.NodesRows())
	capacities(&b, v)
	atLoads(&b, v)
	density(&b, v)
	copies(&b, v.CopiesRows())
	paths(&b, v.SharedPaths())
	imported(&b, v)
	skipped(&b, v)
	failures(&b, "Failed trials", v.Failed)
	failures(&b, "Skipped trials", v.Known)
	if notes := slices.Concat(v.Notes, v.MachineNotes()); len(notes) > 0 {
		b.WriteString("\n## Notes\n\n")
		bullets(&b, notes)
	}
	made(&b, v)
	_, err := io.WriteString(w, b.String())
	return err
}

func matrix(b *strings.Builder, v *model.Report) {
	b.WriteString("\n| workload | metric | " + escape(v.Base.Shown))
	rule := "|---|---|---:"
	for _, e := range v.Environments {
		if e.Compared() {
			b.WriteString(" | " + escape(e.Shown))
			rule += "|---"
		}
	}
	b.WriteString(" |\n" + rule + "|\n")
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, m := range l.Metrics {
				if !m.Primary && !m.Companion {
					continue
				}
				fmt.Fprintf(b, "| %s | %s (%s is better) | %s", escape(model.LevelTitle(w.Name, l.Name)), escape(m.Title()), escape(m.Better), escape(model.Figure(m.Reference, m.Unit)))
				for _, c := range m.Cells {
					if c.Environment.Ran() {
						b.WriteString(" | " + matrixCell(c))
					}
				}
				b.WriteString(" |\n")
			}
		}
	}
	if v.Plan.Design.Order == verdict.OrderUnpaired {
		fmt.Fprintf(b, "\nEach cell: change vs %s from two unpaired samples, %s interval, results per side, and how it looks.\n", escape(v.Plan.Baseline), v.Plan.Design.Confidence)
		return
	}
	fmt.Fprintf(b, "\nEach cell: verdict, change vs %s, %s interval (simultaneous over the interim analyses), blocks. The margin of `equivalent` is %s.\n",
		escape(v.Plan.Baseline), v.Plan.Design.Confidence, v.Plan.Design.Margin)
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

func skipped(b *strings.Builder, v *model.Report) {
	if len(v.Skipped) == 0 {
		return
	}
	b.WriteString("\n## Skipped environments\n\n| environment | needs | found | fix |\n|---|---|---|---|\n")
	for _, s := range v.Skipped {
		for _, f := range s.Findings {
			fix := ""
			if f.Fix != "" {
				fix = code(f.Fix)
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escape(s.Environment.Shown), escape(f.What), escape(f.Reason), fix)
		}
	}
}

func failures(b *strings.Builder, title string, list []model.Failure) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| environment | workload | blocks | reason |\n|---|---|---|---|\n", title)
	for _, f := range list {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escape(f.Shown), escape(model.LevelTitle(f.Workload, f.Level)), model.BlockRanges(f.Blocks), escape(f.Reason))
	}
}

func made(b *strings.Builder, v *model.Report) {
	b.WriteString("\n## Provenance\n\n| | |\n|---|---|\n")
	for _, f := range v.Made() {
		text := escape(f.Text)
		if f.Code {
			text = code(f.Text)
		}
		fmt.Fprintf(b, "| %s | %s |\n", escape(f.Name), text)
	}
	b.WriteString("\n| environment | kind | options | versions |\n|---|---|---|---|\n")
	for _, e := range v.Environments {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escape(e.NameAndHost()), escape(e.Kind), escape(model.OptionsInWords(e)), escape(model.Versions(e.Facts.Versions)))
	}
}

func bullets[T any](b *strings.Builder, items []T) {
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", escape(fmt.Sprint(item)))
	}
}

// Everything that a line of the report is made of goes through one of these, besides
// words and numbers of tare's own.
var (
	escape = visible.Markdown
	code   = visible.MarkdownCode
)

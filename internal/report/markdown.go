package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/verdict"
)

// Markdown writes the verdicts as tables for an issue or a README: a row a
// primary metric and CPU time per thousand operations, a column an environment.
func Markdown(w io.Writer, in Input) error {
	v := newView(in)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escape(v.Plan.Study))
	fmt.Fprintf(&b, "Run `%s`: %s.\n\n", v.Manifest.Run, v.overview())
	for _, h := range v.headlines() {
		fmt.Fprintf(&b, "- **%s**: %s.", escape(h.Environment), escape(h.Text))
		if h.Caution != "" {
			fmt.Fprintf(&b, " Mind: %s.", escape(h.Caution))
		}
		b.WriteString("\n")
	}
	markdownMatrix(&b, v)
	if note := v.Footnote(); note != "" {
		fmt.Fprintf(&b, "\n%s.\n", escape(note))
	}
	markdownCosts(&b, v)
	markdownFair(&b, v)
	markdownWhy(&b, v)
	markdownKernel(&b, v.Kernel())
	markdownSheet(&b, v.Sheet())
	markdownAgainst(&b, v)
	markdownCrowd(&b, v)
	markdownCopies(&b, v.CopiesRows())
	markdownPaths(&b, v.Ways())
	markdownImported(&b, v)
	markdownSkipped(&b, v)
	markdownFailures(&b, "Failed trials", v.Failed)
	markdownFailures(&b, "Skipped trials", v.Known)
	if notes := slices.Concat(v.Notes, v.unquiet()); len(notes) > 0 {
		b.WriteString("\n## Notes\n\n")
		for _, n := range notes {
			fmt.Fprintf(&b, "- %s\n", escape(n.String()))
		}
	}
	markdownMade(&b, v)
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownMatrix(b *strings.Builder, v *view) {
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
				fmt.Fprintf(b, "| %s | %s (%s is better) | %s", escape(place(w.Name, l.Name)), escape(m.title()), m.Better, figure(m.Reference, m.Unit))
				for _, c := range m.Cells {
					if c.Environment.Ran() {
						b.WriteString(" | " + markdownCell(c))
					}
				}
				b.WriteString(" |\n")
			}
		}
	}
	if v.Plan.Design.Order == verdict.OrderUnpaired {
		fmt.Fprintf(b, "\nEach cell: change against %s from two samples that nothing pairs, %s interval, results a side, and what it looks like.\n", escape(v.Plan.Baseline), v.Plan.Design.Confidence)
		return
	}
	fmt.Fprintf(b, "\nEach cell: verdict, change against %s, %s interval (simultaneous over looks), blocks. The margin of `equivalent` is %s.\n",
		escape(v.Plan.Baseline), v.Plan.Design.Confidence, v.Plan.Design.Margin)
}

func markdownCell(c cell) string {
	if c.Contrast == nil {
		return missing + ", " + escape(c.Reason)
	}
	k := c.Contrast
	text := fmt.Sprintf("**%s**%s %s %s %s", word(k), markOf(k), change(middle(k)), escape(ends(k)), counts(k))
	if r := remark(k); r != "" {
		text += ": " + escape(r)
	}
	return text
}

func markdownSkipped(b *strings.Builder, v *view) {
	if len(v.Skipped) == 0 {
		return
	}
	b.WriteString("\n## Skipped environments\n\n| environment | needs | found | mend |\n|---|---|---|---|\n")
	for _, s := range v.Skipped {
		for _, f := range s.Findings {
			mend := ""
			if f.Fix != "" {
				mend = code(f.Fix)
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escape(s.Environment.Shown), escape(f.What), escape(f.Reason), mend)
		}
	}
}

func markdownFailures(b *strings.Builder, title string, list []failure) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| environment | workload | blocks | reason |\n|---|---|---|---|\n", title)
	for _, f := range list {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escape(f.Shown), escape(place(f.Workload, f.Level)), blockList(f.Blocks), escape(f.Reason))
	}
}

func markdownMade(b *strings.Builder, v *view) {
	b.WriteString("\n## How it was made\n\n| | |\n|---|---|\n")
	for _, f := range v.made() {
		text := escape(f.Text)
		if f.Code {
			text = code(f.Text)
		}
		fmt.Fprintf(b, "| %s | %s |\n", escape(f.Name), text)
	}
	b.WriteString("\n| environment | kind | options | versions |\n|---|---|---|---|\n")
	for _, e := range v.Environments {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escape(e.shownOn()), escape(e.Kind), escape(optionsOf(e)), escape(versions(e.Facts.Versions)))
	}
}

// escape keeps text from being read as markup, and inside its table cell.
func escape(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "\r", "", "\n", " ", "<", "&lt;", "](", "]\\(", "*", "\\*", "_", "\\_", "`", "\\`", "~~", "\\~~").Replace(text)
}

// code sets text as code, whatever backticks it has.
func code(text string) string {
	text = strings.NewReplacer("|", "\\|", "\r", "", "\n", " ").Replace(text)
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

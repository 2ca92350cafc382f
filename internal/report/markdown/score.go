package markdown

import (
	"fmt"
	"io"
	"strings"

	"tare/internal/report/model"
)

func scoreSheet(b *strings.Builder, s *model.ScoreSheet) {
	if s == nil {
		return
	}
	fmt.Fprintf(b, "\n## Score sheet\n\n%s\n", escape(s.Title))
	for _, part := range s.Parts {
		b.WriteString("\n| " + escape(part.Name) + " | importance | max")
		for _, e := range s.Shown {
			b.WriteString(" | " + escape(e))
		}
		b.WriteString(" |\n|---|---|---:" + strings.Repeat("|---", len(s.Shown)) + "|\n")
		for _, r := range part.Rows {
			fmt.Fprintf(b, "| %s | %s | %s", escape(r.Name), escape(r.Importance), r.Best)
			for _, c := range r.Cells {
				text := "**" + c.Score + "**"
				if c.Range != "" {
					text += " (" + c.Range + ")"
				}
				fmt.Fprintf(b, " | %s", strings.TrimRight(strings.TrimSpace(text+" "+c.Share+" "+escape(c.Ends)), " "))
			}
			b.WriteString(" |\n")
		}
		for _, tie := range part.Ties {
			fmt.Fprintf(b, "\n**Tie**: %s.\n", escape(tie))
		}
	}
	b.WriteString("\n")
	bullets(b, s.Notes)
	fmt.Fprintf(b, "\n%s\n", escape(s.Legend()))
}

// WriteScore writes the score sheet alone, as Markdown.
func WriteScore(w io.Writer, in model.Input, _ model.Options) error {
	v := model.New(in)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nRun %s.\n", escape(v.Plan.Study), code(v.Manifest.Run))
	scoreSheet(&b, v.ScoreSheet())
	_, err := io.WriteString(w, b.String())
	return err
}

package run

import (
	"bytes"
	"errors"

	"tare/internal/report"
)

// ReportInput is what the reports of a result are made of.
func (r *Result) ReportInput() report.Input {
	in := report.Of(r.Run, r.Contrasts)
	in.Folder = r.Folder
	return in
}

// finish writes the reports and the checksums into the run folder.
func (e *execution) finish(r *Result) error {
	in := r.ReportInput()
	var html, markdown bytes.Buffer
	return errors.Join(
		report.HTML(&html, in), e.run.WriteFile("report.html", html.Bytes()),
		report.Markdown(&markdown, in), e.run.WriteFile("report.md", markdown.Bytes()),
		e.run.Seal(),
	)
}

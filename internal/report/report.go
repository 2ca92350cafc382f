// Package report lists the formats that a run is reported in. What a report
// says comes from package model; each format is a package of its own that
// prints it. A new format is one package and one line in Formats.
package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/brief"
	"tare/internal/report/figures"
	"tare/internal/report/html"
	"tare/internal/report/latex"
	"tare/internal/report/markdown"
	"tare/internal/report/methods"
	"tare/internal/report/model"
	"tare/internal/report/openmetrics"
	"tare/internal/report/tables"
	"tare/internal/report/text"
	"tare/internal/report/trend"
)

// Format is one way of writing a report.
type Format struct {
	Name  string // as --format takes it
	About string // for the help text
	File  string // in the run directory; "" for a format that goes to stdout
	Run   bool   // whether every finished run gets the file

	// Write writes the one file of a format; nil for an export.
	Write func(w io.Writer, in model.Input, o model.Options) error
	// Export makes the files of a format that other programs read.
	Export func(v *model.Report) ([]model.File, error)
	// Score writes the score sheet alone; nil for a format that has none.
	Score func(w io.Writer, in model.Input, o model.Options) error
}

// Formats are all formats, in the order in which help lists them.
var Formats = []Format{
	{Name: "html", About: "one file that works offline", File: "report.html", Run: true, Write: html.Write, Score: html.WriteScore},
	{Name: "md", About: "Markdown for an issue or a README", File: "report.md", Run: true, Write: markdown.Write, Score: markdown.WriteScore},
	{Name: "text", About: "the tables that tare run prints at its end", Write: text.Write, Score: text.WriteScore},
	{Name: "brief", About: "a PDF of two pages: verdicts and conditions", File: "brief.pdf", Write: brief.Write},
	{Name: "openmetrics", About: "metrics with timestamps, for Prometheus's promtool", File: "report.openmetrics", Write: openmetrics.Write},
	{Name: "csv", About: "tables for R, pandas or a spreadsheet", Export: tables.CSV},
	{Name: "json", About: "the same tables and the facts of the run, by a schema", Export: tables.JSON},
	{Name: "parquet", About: "the same tables as Parquet", Export: tables.Parquet},
	{Name: "svg", About: "figures for a page or a slide", Export: figures.SVG},
	{Name: "pdf", About: "the same figures for a paper of two columns", Export: figures.PDF},
	{Name: "tex", About: "LaTeX tables with booktabs and siunitx, and the methods", Export: latex.Write},
	{Name: "methods", About: "a paragraph on how the run was made", Export: methods.Text},
	{Name: "bib", About: "BibTeX for its sources, and tare", Export: latex.BibTeX},
	{Name: "cff", About: "the same as CITATION.cff", Export: methods.CFF},
	{Name: "benchstat", About: "a line for each trial, for Go's benchstat", Export: trend.Benchstat},
	{Name: "github", About: "JSON for github-action-benchmark", Export: trend.GitHub},
	{Name: "bencher", About: "JSON for Bencher, in its metric format", Export: trend.Bencher},
}

// Files are the files of a format, with their names below a directory.
func (f Format) Files(in model.Input, o model.Options) ([]model.File, error) {
	if f.Export != nil {
		return f.Export(model.New(in))
	}
	var b bytes.Buffer
	if err := f.Write(&b, in, o); err != nil {
		return nil, err
	}
	name := f.File
	name = cmp.Or(name, "report.txt")
	return []model.File{{Name: name, Data: b.Bytes()}}, nil
}

// Names are the names of all formats.
func Names() []string { return namesOf(Formats) }

// ScoreNames are the names of the formats that have a score sheet.
func ScoreNames() []string {
	return namesOf(slices.DeleteFunc(slices.Clone(Formats), func(f Format) bool { return f.Score == nil }))
}

// Help lists the formats, a line each.
func Help() string {
	var lines strings.Builder
	for _, f := range Formats {
		fmt.Fprintf(&lines, "  %-11s  %s\n", f.Name, f.About)
	}
	return lines.String()
}

func namesOf(formats []Format) []string {
	return lists.Map(formats, func(f Format) string { return f.Name })
}

// Find returns the format of a name.
func Find(name string) (Format, bool) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return Formats[i], true
}

// WriteFiles writes the reports that every run directory holds: also the others if one
// cannot be made.
func WriteFiles(in model.Input, write func(name string, content []byte) error) error {
	var problems []error
	for _, f := range Formats {
		if !f.Run {
			continue
		}
		var b bytes.Buffer
		err := f.Write(&b, in, model.Options{})
		if err == nil {
			err = write(f.File, b.Bytes())
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

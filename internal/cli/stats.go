package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/quantity"
	"tare/internal/verdict"
	"tare/internal/verdict/sheet"
)

func newStatsCommand(app *App) *cobra.Command {
	var o sheet.Options
	var margin string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats FILE.csv --baseline NAME",
		Short: "Compare anybody's figures by the procedure of a run",
		Long: `Compare figures that exist already by the procedure that tare run uses.

FILE is a table of comma-separated values; - is standard input. Its first line
names the columns: environment and value must be there, and block should be: the
values of one block were measured close together in time. workload, metric and
level are optional; each combination is compared on its own.

Without blocks there is no verdict, only a description of the samples.

--json prints natural-log ratios (estimate, low, high) and ratios, environment
over baseline; null is an end that the data cannot bound.`,
		Example: `  tare stats times.csv --baseline native
  tare stats rates.csv --baseline native --better higher --margin 1% --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Margin, err = quantity.ParseShare(margin); err != nil {
				return badInput("--margin: %w", err)
			}
			if o.Margin <= 0 || o.Margin >= 1 {
				return badInput("--margin: %s is not between 0%% and 100%%", o.Margin)
			}
			if o.Better != "lower" && o.Better != "higher" {
				return badInput("--better: %q is neither lower nor higher", o.Better)
			}
			s, err := readSheet(app, args[0])
			if err != nil {
				return badInput("%w", err)
			}
			contrasts, err := s.Contrasts(o)
			if err != nil {
				return badInput("%w", err)
			}
			if asJSON {
				return writeStatsJSON(app.Stdout, s, o, contrasts)
			}
			return writeStatsTable(app.Stdout, s, o, contrasts)
		},
	}
	o.Confidence = .95
	cmd.Flags().StringVar(&o.Baseline, "baseline", "", "the environment that the others are compared with")
	cmd.Flags().StringVar(&margin, "margin", "2%", "differences below it do not matter")
	cmd.Flags().StringVar(&o.Better, "better", "lower", "whether lower or higher values are better")
	cmd.Flags().BoolVar(&o.Fixed, "blocks-fixed", false, "the number of blocks was fixed beforehand: judge all of them once")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagRequired("baseline")
	return cmd
}

func readSheet(app *App, name string) (*sheet.Sheet, error) {
	if name == "-" {
		return sheet.Read(app.Stdin, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return sheet.Read(f, name)
}

// statsReport is what --json prints.
type statsReport struct {
	Format     int                `json:"format"`
	File       string             `json:"file"`
	Baseline   string             `json:"baseline"`
	Margin     float64            `json:"margin"`
	Confidence float64            `json:"confidence"`
	Procedure  string             `json:"procedure"` // sequential, fixed or unpaired
	Contrasts  []verdict.Contrast `json:"contrasts"`
}

func procedureOf(s *sheet.Sheet, o sheet.Options) string {
	switch {
	case !s.Paired:
		return "unpaired"
	case o.Fixed:
		return "fixed"
	}
	return "sequential"
}

func writeStatsJSON(w io.Writer, s *sheet.Sheet, o sheet.Options, contrasts []verdict.Contrast) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(statsReport{Format: 1, File: s.Name, Baseline: o.Baseline, Margin: float64(o.Margin),
		Confidence: float64(o.Confidence), Procedure: procedureOf(s, o), Contrasts: contrasts})
}

func writeStatsTable(w io.Writer, s *sheet.Sheet, o sheet.Options, contrasts []verdict.Contrast) error {
	intro := fmt.Sprintf("against %s, margin %s, %s intervals", o.Baseline, o.Margin, o.Confidence)
	switch procedureOf(s, o) {
	case "unpaired":
		intro = fmt.Sprintf("against %s: no column block, so nothing pairs the values. No verdict can be given and no error rate is known: a drift of the machine between the samples cannot be told from a difference. This only describes the samples.", o.Baseline)
	case "fixed":
		intro += ", all blocks judged once"
	case "sequential":
		intro += " over all looks"
	}
	var text strings.Builder
	text.WriteString(wrapped(intro, ""))
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	previous := ""
	for i, c := range contrasts {
		heading := statsHeading(c)
		if i == 0 || heading != previous {
			_ = table.Flush()
			fmt.Fprintf(&text, "\n%s\n", heading)
			fmt.Fprintf(table, "  %s\n", strings.Join(statsColumns(s), "\t"))
			previous = heading
		}
		fmt.Fprintf(table, "  %s\n", strings.Join(statsRow(s, c), "\t"))
	}
	_ = table.Flush()
	if notes := statsNotes(s, contrasts); len(notes) > 0 {
		text.WriteString("\n")
		for _, note := range notes {
			text.WriteString(wrapped(note, "  "))
		}
	}
	_, err := io.WriteString(w, trimmedLines(text.String()))
	return err
}

func statsHeading(c verdict.Contrast) string {
	return statsPlace(c) + " (" + c.Better + " is better)"
}

func statsPlace(c verdict.Contrast) string {
	var parts []string
	for _, part := range []string{c.Workload, c.Level, c.Metric} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{"value"}
	}
	return strings.Join(parts, ", ")
}

func statsColumns(s *sheet.Sheet) []string {
	if s.Paired {
		return []string{"environment", "n", "change", "interval", "verdict", "look", "needs"}
	}
	return []string{"environment", "n", "median", "range", "change", "descriptive interval"}
}

func statsRow(s *sheet.Sheet, c verdict.Contrast) []string {
	interval := "-"
	if c.Bounded() || !s.Paired && c.Alpha > 0 {
		interval = "[" + verdict.Change(c.Low) + ", " + verdict.Change(c.High) + "]"
	}
	if !s.Paired {
		return []string{shortened(c.Environment), fmt.Sprintf("%d/%d", c.Values.N, c.Base.N), fmt.Sprintf("%.4g", c.Values.Median),
			fmt.Sprintf("%.4g..%.4g", c.Values.Least, c.Values.Most), verdict.Change(c.Estimate), interval}
	}
	look, needs := "-", "-"
	if c.Look > 0 {
		look = fmt.Sprint(c.Look)
	}
	if c.Projection > 0 {
		if needs = fmt.Sprintf("~%d", c.Projection); c.Projection > verdict.FarAway {
			needs = fmt.Sprintf(">%d", verdict.FarAway)
		}
	}
	word := string(c.Verdict)
	if c.InsideMargin {
		word += "*"
	}
	return []string{shortened(c.Environment), fmt.Sprint(c.N), verdict.Change(c.Estimate), interval, word, look, needs}
}

// shortened keeps a row within 80 columns.
func shortened(name string) string {
	if r := []rune(name); len(r) > 18 {
		return string(r[:17]) + "…"
	}
	return name
}

// statsNotes are the remarks below the table, each once.
func statsNotes(s *sheet.Sheet, contrasts []verdict.Contrast) []string {
	var notes []string
	add := func(note string) {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	several := slices.ContainsFunc(contrasts, func(c verdict.Contrast) bool { return statsHeading(c) != statsHeading(contrasts[0]) })
	for _, c := range contrasts {
		about := shortened(c.Environment) + ": "
		if several {
			about = statsPlace(c) + ", " + about
		}
		if s.Paired && c.Verdict == verdict.None {
			note := about + c.Reason
			if c.N > 0 {
				note += fmt.Sprintf("; median %s, range %s to %s", verdict.Change(c.Middle), verdict.Change(c.Least), verdict.Change(c.Most))
			}
			add(note)
		}
		for _, w := range c.Warnings {
			if w.Code != verdict.FewBlocks && w.Code != sheet.Unpaired && w.Text != c.Reason {
				add(about + w.Text)
			}
		}
	}
	if slices.ContainsFunc(contrasts, func(c verdict.Contrast) bool { return c.InsideMargin }) {
		add("* a real difference, inside the margin")
	}
	if slices.ContainsFunc(contrasts, func(c verdict.Contrast) bool { return c.Projection > 0 }) {
		add("needs: about so many blocks would make the interval as narrow as the margin")
	}
	if len(s.Unused) > 0 {
		add("columns not used: " + strings.Join(s.Unused, ", "))
	}
	return notes
}

// wrapped breaks a text into lines of at most 78 characters; the second and
// later ones are indented.
func wrapped(text, indent string) string {
	var out strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i > 0 && width+1+n > 78:
			out.WriteString("\n" + indent)
			width = len(indent)
		case i > 0:
			out.WriteString(" ")
			width++
		}
		out.WriteString(word)
		width += n
	}
	return out.String() + "\n"
}

func trimmedLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

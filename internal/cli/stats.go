package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/base/term"
	"tare/internal/papers/table"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/verdict/sheet"
)

func newStatsCommand(app *App) *cobra.Command {
	var o sheet.Options
	var columns table.Columns
	var margin string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats FILE... --baseline NAME",
		Short: "Compare values from tables by the procedure of a run",
		Long: `Compare existing values by the procedure that tare run uses.

FILE is a table, or a file of hyperfine (--export-json), go test -bench, Google
Benchmark, Criterion, the Phoronix Test Suite or a range query of Prometheus, which
are known by their content; - is stdin.

The first line of a table names the columns: environment and value are required.
block is recommended: values of one block were measured close together in time.
workload, metric and level are optional, and each combination is compared
separately. With round, the samples of a block that have the same round are compared
with each other. Flags say which columns are meant if they have other names. A table
with a column for each environment is --value native,docker --block row.

Of several files each is an environment, unless a column says it. Without blocks
there is no verdict, only a description of the samples.

--json prints natural-log ratios (estimate, low, high) and ratios, environment over
baseline; null is an unbounded end of an interval.`,
		Example: `  tare stats times.csv --baseline native
  tare stats rates.csv --baseline native --better higher --margin 1% --json
  tare stats runs.csv --block run --environment runtime --value ms \
      --baseline runc
  tare stats hyperfine.json --baseline native
  tare stats old.txt new.txt --baseline old`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Baseline == "" {
				return badInput("--baseline is missing: name the environment that the others are compared with")
			}
			if o.Margin, err = quantity.ParseShare(margin); err != nil {
				return badInput("--margin: %w", err)
			}
			if o.Margin <= 0 || o.Margin >= 1 {
				return badInput("--margin: %s is not between 0%% and 100%%", o.Margin)
			}
			if o.Better != "lower" && o.Better != "higher" && cmd.Flags().Changed("better") {
				return badInput("--better: %q is neither lower nor higher", o.Better)
			}
			files, err := filesNamed(app, args)
			var s *sheet.Sheet
			if err == nil {
				s, err = sheet.Read(files, columns)
			}
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
	o.Confidence, o.Precision = study.DefaultConfidence, study.DefaultPrecision
	cmd.Flags().StringVar(&o.Baseline, "baseline", "", "`environment` that the others are compared with")
	cmd.Flags().StringVar(&margin, "margin", study.DefaultMargin.String(), "differences within this `share` count as equivalent")
	cmd.Flags().BoolVar(&o.Budget, "budget", false, "the time was fixed in advance: analyses after a quarter and half of the blocks, and of all of them")
	cmd.Flags().StringVar(&o.Better, "better", "", "`direction` that is better, lower or higher (default: what the file says, or lower)")
	columnFlags(cmd.Flags(), &columns)
	cmd.Flags().StringVar(&columns.Environment, "environment", "", "`column` of the environments; \"file\" is the file's name, \"column\" that of the column with the value")
	cmd.Flags().StringVar(&columns.Workload, "workload", "", "`column` of the workloads")
	cmd.Flags().StringSliceVar(&columns.Level, "level", nil, "`columns` of the levels")
	cmd.Flags().StringVar(&columns.Round, "round", "", "`column` of the rounds")
	cmd.Flags().BoolVar(&o.Fixed, "blocks-fixed", false, "the number of blocks was fixed in advance: analyse all of them once")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.MarkFlagsMutuallyExclusive("budget", "blocks-fixed")
	return cmd
}

// filesNamed reads files whole; - is standard input.
func filesNamed(app *App, names []string) (files []table.File, err error) {
	for _, name := range names {
		var data []byte
		if name == "-" {
			name = "standard input"
			data, err = bounded.ReadAll(app.Stdin, bounded.Output)
		} else {
			data, err = bounded.ReadFile(name, bounded.Output)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, bounded.Cause(err))
		}
		files = append(files, table.File{Name: name, Data: data})
	}
	return files, nil
}

// columnFlags are the flags that say what the columns of a table are.
func columnFlags(flags *pflag.FlagSet, c *table.Columns) {
	flags.StringVar(&c.Block, "block", "", "`column` of the blocks: values of one were measured close together; \"row\" is the number of the row")
	flags.StringSliceVar(&c.Values, "value", nil, "`columns` with the values, also as patterns: ms, or run*; several if the table is wide")
	flags.StringVar(&c.Metric, "metric-column", "", "`column` with the name of the metric")
	flags.StringVar(&c.Separator, "separator", "", "`character` between fields, tab or space (default: found)")
	flags.BoolVar(&c.NoHeader, "no-header", false, "the first line has values; columns are called 1, 2, 3")
	flags.BoolVar(&c.DecimalComma, "decimal-comma", false, "numbers are written like 12,5")
}

// statsWidth is the same on every terminal, so that the output can be compared.
const statsWidth = 78

// statsReport is what --json prints.
type statsReport struct {
	Format     int                `json:"format"`
	File       string             `json:"file"`
	Baseline   string             `json:"baseline"`
	Margin     float64            `json:"margin"`
	Confidence float64            `json:"confidence"`
	Procedure  string             `json:"procedure"` // sequential, budget, fixed or unpaired
	Contrasts  []verdict.Contrast `json:"contrasts"`
}

func writeStatsJSON(w io.Writer, s *sheet.Sheet, o sheet.Options, contrasts []verdict.Contrast) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(statsReport{Format: 1, File: s.Name, Baseline: o.Baseline, Margin: float64(o.Margin),
		Confidence: float64(o.Confidence), Procedure: s.Procedure(o), Contrasts: contrasts})
}

func writeStatsTable(w io.Writer, s *sheet.Sheet, o sheet.Options, contrasts []verdict.Contrast) error {
	var text strings.Builder
	text.WriteString(strings.Join(term.Wrap(s.Introduction(o), statsWidth), "\n") + "\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	previous := ""
	for i, c := range contrasts {
		heading := sheet.Group(c) + " (" + c.Better + " is better)"
		if i == 0 || heading != previous {
			_ = table.Flush()
			fmt.Fprintf(&text, "\n%s\n", heading)
			fmt.Fprintf(table, "  %s\n", strings.Join(statsColumns(s), "\t"))
			previous = heading
		}
		fmt.Fprintf(table, "  %s\n", strings.Join(statsRow(s, c), "\t"))
	}
	_ = table.Flush()
	for i, m := range verdict.Geomeans(contrasts) {
		heading := fmt.Sprintf("%s, geomean of %d (%s is better)", cmp.Or(m.Metric, "value"), m.Places, m.Better)
		if i == 0 || heading != previous {
			_ = table.Flush()
			fmt.Fprintf(&text, "\n%s\n", heading)
			previous = heading
		}
		fmt.Fprintf(table, "  %s\t%s\n", shortened(m.Environment), verdict.Change(m.Log))
	}
	_ = table.Flush()
	if notes := s.Notes(contrasts, shortened); len(notes) > 0 {
		text.WriteString("\n")
		for _, note := range notes {
			text.WriteString(term.Prose(note, statsWidth))
		}
	}
	_, err := io.WriteString(w, trimmedLines(text.String()))
	return err
}

func statsColumns(s *sheet.Sheet) []string {
	if s.Paired {
		return []string{"environment", "n", "change", "interval", "verdict", "look", "needs"}
	}
	return []string{"environment", "n", "median", "range", "change", "descriptive interval"}
}

func statsRow(s *sheet.Sheet, c verdict.Contrast) []string {
	interval, change := "-", verdict.Change(c.Estimate)
	if c.Bounded() || !s.Paired && c.Alpha > 0 {
		interval = verdict.EndsText(c.Estimate, c.Low, c.High)
	}
	if !s.Paired {
		return []string{shortened(c.Environment), fmt.Sprintf("%d/%d", c.Values.N, c.Base.N), fmt.Sprintf("%.4g", c.Values.Median),
			fmt.Sprintf("%.4g..%.4g", c.Values.Least, c.Values.Most), change, interval}
	}
	look, needs := "-", "-"
	if c.Look > 0 {
		look = fmt.Sprint(c.Look)
	}
	if c.Projection > c.N {
		if needs = fmt.Sprintf("~%d", c.Projection); c.Projection > verdict.FarAway {
			needs = fmt.Sprintf(">%d", verdict.FarAway)
		}
	}
	word := string(c.Verdict)
	if c.Leaning != "" {
		word = "leaning " + string(c.Leaning)
	}
	if c.InsideMargin {
		word += "*"
	}
	return []string{shortened(c.Environment), fmt.Sprint(c.N), change, interval, word, look, needs}
}

// shortened keeps a row below 80 columns.
func shortened(name string) string {
	if r := []rune(name); len(r) > 18 {
		return string(r[:17]) + "…"
	}
	return name
}

// trimmedLines removes the spaces that the table writer leaves at the end of lines.
func trimmedLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/stat"

	"tare/internal/environment"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// benchSummary is what `tare bench` found: the figures of each environment and
// how they compare.
type benchSummary struct {
	Command   string             `json:"command"`
	Results   []benchResult      `json:"results"`
	Contrasts []verdict.Contrast `json:"contrasts"`
	// Skipped are the environments that do not work here, with the reason.
	Skipped   map[string]string `json:"skipped,omitempty"`
	sentences []string
}

// benchResult are the figures of one environment. Times are in seconds, memory
// in bytes. The fields up to times are those of hyperfine's export; nil is what no
// run has.
type benchResult struct {
	Command     string    `json:"command"`
	Mean        *float64  `json:"mean"`
	Stddev      *float64  `json:"stddev"`
	Median      *float64  `json:"median"`
	User        *float64  `json:"user"`
	System      *float64  `json:"system"`
	Min         *float64  `json:"min"`
	Max         *float64  `json:"max"`
	Times       []float64 `json:"times"`
	Environment string    `json:"environment"`
	Label       string    `json:"label,omitempty"`
	Failed      int       `json:"failed,omitempty"`
	// Estimate is the Hodges-Lehmann estimate of each figure with its 95%
	// interval; low and high are absent below six runs.
	Figures []benchFigure `json:"figures"`
}

type benchFigure struct {
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"`
	N        int      `json:"n"`
	Estimate float64  `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
}

var benchMetrics = []struct{ name, unit, title string }{
	{workload.WallSeconds, "s", "wall"}, {workload.UserSeconds, "s", "user"},
	{workload.SystemSeconds, "s", "system"}, {workload.MaxRSS, "B", "peak memory"},
}

func summarize(r *run.Result) benchSummary {
	s := benchSummary{Command: r.Run.Plan.Study, Contrasts: r.Contrasts, Skipped: map[string]string{}}
	for _, e := range r.Run.Plan.Environments {
		if facts := r.Run.Manifest.Environments[e.Name]; facts.State == environment.Missing {
			s.Skipped[e.Name] = run.Why(facts)
			s.sentences = append(s.sentences, fmt.Sprintf("%s was skipped: it %s", e.Name, run.Why(facts)))
			continue
		}
		values, failed := map[string][]float64{}, 0
		for _, t := range r.Run.Trials {
			if t.Environment != e.Name {
				continue
			}
			if t.Status == rundir.Failed {
				failed++
			}
			for name, v := range t.Metrics {
				values[name] = append(values[name], v)
			}
		}
		if len(values) == 0 && failed == 0 {
			continue
		}
		s.Results = append(s.Results, newBenchResult(r, e, values, failed))
	}
	for _, c := range r.Contrasts {
		if c.Primary {
			s.sentences = append(s.sentences, verdict.Wording(c))
		}
	}
	return s
}

func newBenchResult(r *run.Result, e study.Environment, values map[string][]float64, failed int) benchResult {
	times := append([]float64{}, values[workload.WallSeconds]...)
	b := benchResult{
		Command: r.Run.Plan.Study, Environment: e.Name, Label: r.Run.Manifest.Environments[e.Name].Label,
		Times: times, Failed: failed,
		User: mean(values[workload.UserSeconds]), System: mean(values[workload.SystemSeconds]),
	}
	if len(times) > 0 {
		b.Mean, b.Median, b.Min, b.Max = mean(times), new(stats.Median(times)), new(slices.Min(times)), new(slices.Max(times))
	}
	if len(times) > 1 {
		b.Stddev = new(stat.StdDev(times, nil))
	}
	for _, m := range benchMetrics {
		if f, ok := estimate(m.name, m.unit, values[m.name]); ok {
			b.Figures = append(b.Figures, f)
		}
	}
	return b
}

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return new(stat.Mean(values, nil))
}

// estimate is the centre of one environment's values, on the log scale where
// all are positive.
func estimate(name, unit string, values []float64) (benchFigure, bool) {
	if len(values) == 0 {
		return benchFigure{}, false
	}
	there, back := math.Log, math.Exp
	if slices.Min(values) <= 0 {
		same := func(v float64) float64 { return v }
		there, back = same, same
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = there(v)
	}
	i := stats.HodgesLehmann(logs, 0.05)
	f := benchFigure{Metric: name, Unit: unit, N: len(values), Estimate: back(i.Estimate)}
	if i.Bounded() {
		low, high := back(i.Low), back(i.High)
		f.Low, f.High = &low, &high
	}
	return f, true
}

func (s benchSummary) print(w io.Writer, width int) {
	fmt.Fprintln(w, s.Command)
	for _, r := range s.Results {
		name := r.Environment
		if r.Label != "" {
			name += " [" + r.Label + "]"
		}
		runs := fmt.Sprintf("%d runs", len(r.Times))
		if r.Failed > 0 {
			runs += fmt.Sprintf(", %d failed", r.Failed)
		}
		fmt.Fprintf(w, "\n%s (%s)\n", name, runs)
		for _, f := range r.Figures {
			scale := scaleOf(f.Estimate, f.Unit)
			line := fmt.Sprintf("  %-12s %8s", titleOf(f.Metric), scale.with(f.Estimate))
			if f.Low != nil {
				line += fmt.Sprintf("  [%s, %s]", scale.number(*f.Low), scale.number(*f.High))
			}
			if f.Metric == workload.WallSeconds && len(r.Times) > 1 {
				line = fmt.Sprintf("%-42s mean %s ± %s, %s … %s", line, scale.number(*r.Mean), scale.number(*r.Stddev), scale.number(*r.Min), scale.number(*r.Max))
			}
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprintln(w, "\nestimate [95% interval]")
	for _, line := range s.sentences {
		fmt.Fprintln(w, strings.Join(report.Wrap(line, width), "\n"))
	}
}

func titleOf(metric string) string {
	for _, m := range benchMetrics {
		if m.name == metric {
			return m.title
		}
	}
	return metric
}

// scale is a unit that a figure is printed in.
type scale struct {
	factor float64
	unit   string
}

// scaleOf is the largest unit in which a value is not below one.
func scaleOf(v float64, unit string) scale {
	scales := []scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}
	if unit == "B" {
		scales = []scale{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}
	}
	for _, s := range scales {
		if math.Abs(v) >= s.factor {
			return s
		}
	}
	return scales[len(scales)-1]
}

// number prints a value with four digits, as far as the unit has them.
func (s scale) number(v float64) string {
	v /= s.factor
	digits := max(0, 3-int(math.Floor(math.Log10(max(math.Abs(v), 1)))))
	if s.unit == "B" || v == 0 {
		digits = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func (s scale) with(v float64) string { return s.number(v) + " " + s.unit }

// human prints a value in the unit that suits it.
func human(v float64, unit string) string { return scaleOf(v, unit).with(v) }

// exportFlags name the files that the figures are written to.
type exportFlags struct{ json, csv, markdown string }

func (x *exportFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&x.json, "export-json", "", "write the figures as JSON: hyperfine's fields and tare's")
	flags.StringVar(&x.csv, "export-csv", "", "write the figures as CSV")
	flags.StringVar(&x.markdown, "export-markdown", "", "write the figures as a Markdown table")
}

// check refuses a place that cannot be written to, before anything is started.
func (x *exportFlags) check() error {
	for _, path := range []string{x.json, x.csv, x.markdown} {
		if path == "" || path == "-" {
			continue
		}
		if err := writable(path); err != nil {
			return badInput("export to %s: %w", path, err)
		}
	}
	return nil
}

func (x *exportFlags) write(s benchSummary) error {
	for path, render := range map[string]func(benchSummary) ([]byte, error){x.json: asJSON, x.csv: asCSV, x.markdown: asMarkdown} {
		if path == "" {
			continue
		}
		text, err := render(s)
		if err != nil {
			return err
		}
		if err := writeTo(path, text); err != nil {
			return err
		}
	}
	return nil
}

func asJSON(s benchSummary) ([]byte, error) { return json.MarshalIndent(s, "", "  ") }

func asCSV(s benchSummary) ([]byte, error) {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write([]string{"command", "mean", "stddev", "median", "user", "system", "min", "max", "environment", "label", "estimate", "low", "high", "runs"})
	for _, r := range s.Results {
		row := []string{r.Command}
		for _, v := range []*float64{r.Mean, r.Stddev, r.Median, r.User, r.System, r.Min, r.Max} {
			row = append(row, bound(v))
		}
		row = append(row, r.Environment, r.Label)
		if len(r.Figures) > 0 {
			f := r.Figures[0]
			row = append(row, strconv.FormatFloat(f.Estimate, 'g', -1, 64), bound(f.Low), bound(f.High))
		} else {
			row = append(row, "", "", "")
		}
		w.Write(append(row, strconv.Itoa(len(r.Times))))
	}
	w.Flush()
	return text.Bytes(), w.Error()
}

// bound is a number as it is; nothing where there is none.
func bound(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func asMarkdown(s benchSummary) ([]byte, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "`%s`\n\n| Environment | Wall time | 95%% interval | Min … Max | User | System | Peak memory |\n|:---|---:|:---:|:---:|---:|---:|---:|\n", s.Command)
	for _, r := range s.Results {
		name := r.Environment
		if r.Label != "" {
			name += " [" + r.Label + "]"
		}
		cells := map[string]string{}
		interval := "—"
		for _, f := range r.Figures {
			cells[f.Metric] = human(f.Estimate, f.Unit)
			if f.Metric == workload.WallSeconds && f.Low != nil {
				interval = human(*f.Low, "s") + " … " + human(*f.High, "s")
			}
		}
		span := "—"
		if r.Min != nil {
			span = human(*r.Min, "s") + " … " + human(*r.Max, "s")
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s |\n", name, cells[workload.WallSeconds], interval, span, cells[workload.UserSeconds], cells[workload.SystemSeconds], cells[workload.MaxRSS])
	}
	for _, line := range s.sentences {
		fmt.Fprintf(&text, "\n%s\n", line)
	}
	return text.Bytes(), nil
}

// estimates keep the current estimate for the progress bar.
type estimates struct {
	plan  *study.Plan
	times map[string][]float64
}

func newEstimates(plan *study.Plan) *estimates {
	return &estimates{plan: plan, times: map[string][]float64{}}
}

func (e *estimates) hear(event run.Event) {
	if event.Kind == run.Tried {
		if v, ok := event.Trial.Metrics[workload.WallSeconds]; ok {
			e.times[event.Trial.Environment] = append(e.times[event.Trial.Environment], v)
		}
	}
}

// bar is the progress with the estimate of each environment so far.
func (e *estimates) bar(event run.Event) string {
	const cells = 16
	most := max(event.Progress.MaxBlock, 1)
	if next := event.Progress.NextLook; next > 0 && len(e.plan.Environments) > 1 {
		most = next
	}
	full := min(cells, cells*event.Slot.Block/most)
	text := fmt.Sprintf("%s%s %d/%d", strings.Repeat("█", full), strings.Repeat("░", cells-full), event.Slot.Block, most)
	for _, environment := range e.plan.Environments {
		if times := e.times[environment.Name]; len(times) > 0 {
			text += fmt.Sprintf("  %s %s", environment.Name, human(stats.Median(times), "s"))
		}
	}
	return text + strings.Replace(toGo(event.Progress.Remaining), ", at most ", "  ≤", 1)
}

// writable says why a file could not be written there.
func writable(path string) error {
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", filepath.Dir(path))
	}
	return err
}

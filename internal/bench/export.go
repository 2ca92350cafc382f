package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tare/internal/term"
	"tare/internal/visible"
	"tare/internal/workload"
)

// Text writes the summary for a terminal of that width.
func (s Summary) Text(w io.Writer, width int) {
	fmt.Fprintln(w, s.Command)
	for _, r := range s.Results {
		runs := fmt.Sprintf("%d runs", len(r.Times))
		if r.Failed > 0 {
			runs += fmt.Sprintf(", %d failed", r.Failed)
		}
		fmt.Fprintf(w, "\n%s (%s)\n", r.name(), runs)
		for _, e := range r.Estimates {
			fmt.Fprintln(w, r.line(e))
		}
	}
	fmt.Fprintln(w, "\nestimate [95% interval]")
	for _, line := range s.sentences {
		fmt.Fprintln(w, strings.Join(term.Wrap(line, width), "\n"))
	}
}

func (r Result) line(e Estimate) string {
	u := unitOf(e.Estimate, e.Unit)
	line := fmt.Sprintf("  %-12s %8s", titleOf(e.Metric), u.text(e.Estimate))
	if e.Low != nil {
		line += fmt.Sprintf("  [%s, %s]", u.number(*e.Low), u.number(*e.High))
	}
	if e.Metric == workload.WallSeconds && len(r.Times) > 1 {
		line = fmt.Sprintf("%-42s mean %s ± %s, %s … %s", line, u.number(*r.Mean), u.number(*r.Stddev), u.number(*r.Min), u.number(*r.Max))
	}
	return line
}

func titleOf(metric string) string {
	for _, m := range metrics {
		if m.name == metric {
			return m.title
		}
	}
	return metric
}

// JSON returns the summary in hyperfine's form, with tare's own fields added.
func (s Summary) JSON() ([]byte, error) { return json.MarshalIndent(s, "", "  ") }

// CSV returns a row for each environment.
func (s Summary) CSV() ([]byte, error) {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	_ = w.Write([]string{"command", "mean", "stddev", "median", "user", "system", "min", "max", "environment", "label", "estimate", "low", "high", "runs"})
	for _, r := range s.Results {
		row := []string{visible.Line(r.Command)}
		for _, v := range []*float64{r.Mean, r.Stddev, r.Median, r.User, r.System, r.Min, r.Max} {
			row = append(row, cell(v))
		}
		row = append(row, visible.Line(r.Environment), visible.Line(r.Label))
		if len(r.Estimates) > 0 {
			e := r.Estimates[0]
			row = append(row, cell(&e.Estimate), cell(e.Low), cell(e.High))
		} else {
			row = append(row, "", "", "")
		}
		_ = w.Write(append(row, strconv.Itoa(len(r.Times))))
	}
	w.Flush()
	return text.Bytes(), w.Error()
}

// cell is a number of a CSV, empty where there is none.
func cell(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// Markdown returns a table with a row for each environment.
func (s Summary) Markdown() ([]byte, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\n\n| Environment | Wall time | 95%% interval | Min … Max | User | System | Peak memory |\n|:---|---:|:---:|:---:|---:|---:|---:|\n", visible.MarkdownCode(s.Command))
	for _, r := range s.Results {
		cells := map[string]string{}
		interval, span := "—", "—"
		for _, e := range r.Estimates {
			cells[e.Metric] = format(e.Estimate, e.Unit)
			if e.Metric == workload.WallSeconds && e.Low != nil {
				interval = format(*e.Low, "s") + " … " + format(*e.High, "s")
			}
		}
		if r.Min != nil {
			span = format(*r.Min, "s") + " … " + format(*r.Max, "s")
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s |\n", visible.Markdown(r.name()), cells[workload.WallSeconds], interval, span, cells[workload.UserSeconds], cells[workload.SystemSeconds], cells[workload.MaxRSS])
	}
	for _, line := range s.sentences {
		fmt.Fprintf(&text, "\n%s\n", visible.Markdown(line))
	}
	return text.Bytes(), nil
}

// unit is what a value is printed in.
type unit struct {
	factor float64
	name   string
}

// unitOf returns the largest unit in which a value is at least one.
func unitOf(v float64, of string) unit {
	units := []unit{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}
	if of == "B" {
		units = []unit{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}
	}
	for _, u := range units {
		if math.Abs(v) >= u.factor {
			return u
		}
	}
	return units[len(units)-1]
}

// number prints a value with four significant digits; bytes are whole.
func (u unit) number(v float64) string {
	v /= u.factor
	digits := max(0, 3-int(math.Floor(math.Log10(max(math.Abs(v), 1)))))
	if u.name == "B" || v == 0 {
		digits = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func (u unit) text(v float64) string { return u.number(v) + " " + u.name }

// format prints a value in the unit that suits it.
func format(v float64, of string) string { return unitOf(v, of).text(v) }

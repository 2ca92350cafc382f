package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/term"
	"tare/internal/base/visible"
	"tare/internal/run"
	"tare/internal/run/progress"
	"tare/internal/stats"
	"tare/internal/study"
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
	if slices.ContainsFunc(s.Results, func(r Result) bool { return len(r.Estimates) > 0 }) {
		fmt.Fprintln(w, "\nestimate [95% interval]")
	}
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
	head := []string{"command", "mean", "stddev", "median", "user", "system", "min", "max", "environment", "label", "estimate", "low", "high", "runs"}
	for _, m := range s.figures {
		head = append(head, m.Name, m.Name+"_low", m.Name+"_high")
	}
	_ = w.Write(head)
	for _, r := range s.Results {
		row := []string{visible.Line(r.Command)}
		for _, v := range []*float64{r.Mean, r.Stddev, r.Median, r.User, r.System, r.Min, r.Max} {
			row = append(row, cell(v))
		}
		row = append(row, visible.Line(r.Environment), visible.Line(r.Label))
		row = append(append(row, r.cells(workload.WallSeconds)...), strconv.Itoa(len(r.Times)))
		for _, m := range s.figures {
			row = append(row, r.cells(m.Name)...)
		}
		_ = w.Write(row)
	}
	w.Flush()
	return text.Bytes(), w.Error()
}

// cells are the estimate of a metric and the ends of its interval.
func (r Result) cells(metric string) []string {
	for _, e := range r.Estimates {
		if e.Metric == metric {
			return []string{cell(&e.Estimate), cell(e.Low), cell(e.High)}
		}
	}
	return []string{"", "", ""}
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
	more, rule := "", ""
	for _, m := range s.figures {
		more, rule = more+" "+m.Name+" | 95% interval |", rule+"---:|:---:|"
	}
	fmt.Fprintf(&text, "%s\n\n| Environment | Wall time | 95%% interval | Min … Max | User | System | Peak memory |%s\n|:---|---:|:---:|:---:|---:|---:|---:|%s\n", visible.MarkdownCode(s.Command), more, rule)
	for _, r := range s.Results {
		cells, intervals := map[string]string{}, map[string]string{}
		span := "—"
		for _, e := range r.Estimates {
			cells[e.Metric], intervals[e.Metric] = visible.Markdown(format(e.Estimate, e.Unit)), "—"
			if e.Low != nil {
				intervals[e.Metric] = visible.Markdown(format(*e.Low, e.Unit) + " … " + format(*e.High, e.Unit))
			}
		}
		if r.Min != nil {
			span = format(*r.Min, "s") + " … " + format(*r.Max, "s")
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s |", visible.Markdown(r.name()), cells[workload.WallSeconds], cmp.Or(intervals[workload.WallSeconds], "—"), span, cells[workload.UserSeconds], cells[workload.SystemSeconds], cells[workload.MaxRSS])
		for _, m := range s.figures {
			fmt.Fprintf(&text, " %s | %s |", cells[m.Name], intervals[m.Name])
		}
		fmt.Fprintln(&text)
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
	var units []unit
	switch of {
	case "s":
		units = []unit{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}
	case "B":
		units = []unit{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}
	default: // of a figure
		return unit{1, of}
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
	least := 1.0
	if u.factor == 1 && u.name != "s" {
		least = 1e-9 // of a figure, whose unit is not chosen by its value
	}
	digits := max(0, 3-int(math.Floor(math.Log10(max(math.Abs(v), least)))))
	if u.name == "B" || v == 0 {
		digits = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func (u unit) text(v float64) string { return u.number(v) + " " + u.name }

// format prints a value in the unit that suits it.
func format(v float64, of string) string { return unitOf(v, of).text(v) }

// Progress is a progress bar with the median of each environment so far.
type Progress struct {
	plan  *study.Plan
	times map[string][]float64
}

// NewProgress returns the progress of a run that has not begun.
func NewProgress(plan *study.Plan) *Progress {
	return &Progress{plan: plan, times: map[string][]float64{}}
}

// Add takes the values of a trial that ended.
func (p *Progress) Add(e run.Event) {
	if e.Kind != run.Tried {
		return
	}
	if v, ok := e.Trial.Metrics[workload.WallSeconds]; ok {
		p.times[e.Trial.Environment] = append(p.times[e.Trial.Environment], v)
	}
}

// Line is the bar at an event of a trial. It is full at the next interim
// analysis, since the run may end there.
func (p *Progress) Line(e run.Event) string {
	const cells = 16
	most := max(e.Progress.MaxBlock, 1)
	if next := e.Progress.NextLook; next > 0 && len(p.plan.Environments) > 1 {
		most = next
	}
	full := min(cells, cells*e.Slot.Block/most)
	text := fmt.Sprintf("%s%s %d/%d", strings.Repeat("█", full), strings.Repeat("░", cells-full), e.Slot.Block, most)
	for _, environment := range p.plan.Environments {
		if times := p.times[environment.Name]; len(times) > 0 {
			text += fmt.Sprintf("  %s %s", environment.Name, format(stats.Median(times), "s"))
		}
	}
	if left := progress.ToGo(e.Progress); left != "" {
		text += "  " + left
	}
	return text
}

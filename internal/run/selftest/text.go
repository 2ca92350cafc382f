package selftest

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/base/term"
)

var titles = map[Design]string{
	Alternating: "alternating samples (tare)",
	Usual:       "all of A, then all of B, Welch's t-test at 5% (the usual practice)",
}

// Text writes the summary as tables of at most 80 columns.
func (s Summary) Text(w io.Writer) {
	cycles := fmt.Sprintf("%d cycles", s.Cycles)
	if s.Cycles == 1 {
		cycles = "1 cycle"
	}
	fmt.Fprintf(w, "known effects, %s in %v; margin %s, samples of %v\n", cycles, s.Took.Round(time.Second), quantity.Share(s.Margin), s.Sample)
	for _, k := range s.Skipped {
		s.say(w, fmt.Sprintf("%s was skipped: it %s", k.Environment, k.Reason))
	}
	for _, e := range s.Environments {
		title := e.Environment
		if e.Label != "" {
			title += " [" + e.Label + "]"
		}
		title += ": " + e.amounts() + " a sample"
		fmt.Fprintf(w, "\n%s\n", title)
		if e.StealShare != nil {
			fmt.Fprintf(w, "  %.1f%% of a core was stolen by the hypervisor during alternating samples\n", 100**e.StealShare)
		}
		some := false
		for _, d := range []Design{Alternating, Usual} {
			some = s.table(w, e.Environment, d) || some
		}
		if !some {
			fmt.Fprintln(w, "  no comparison is complete: the time ended before")
		}
	}
	s.rates(w)
	if s.Failed > 0 {
		s.say(w, fmt.Sprintf("\n%d of %d trials failed", s.Failed, s.Trials))
	}
}

func (t Tested) amounts() string {
	var words []string
	if t.Operations > 0 {
		words = append(words, fmt.Sprintf("%d operations", t.Operations))
	}
	if t.Requests > 0 {
		words = append(words, fmt.Sprintf("%d requests", t.Requests))
	}
	return strings.Join(words, " or ")
}

func (s Summary) say(w io.Writer, text string) {
	fmt.Fprintln(w, strings.Join(term.Wrap(text, term.DefaultWidth), "\n"))
}

// table prints the lines of an environment and a design, if there are any.
func (s Summary) table(w io.Writer, environment string, d Design) bool {
	n := "blocks"
	if d == Usual {
		n = "samples"
	}
	rows := [][]string{{"effect", "n", "wrong", "holds", "slower", "equivalent", n, "seconds", "±"}}
	for _, l := range s.Lines {
		if l.Environment == environment && l.Design == d {
			rows = append(rows, l.cells())
		}
	}
	if len(rows) == 1 {
		return false
	}
	fmt.Fprintf(w, "\n  %s\n", titles[d])
	right(w, rows)
	return true
}

func (l Line) cells() []string {
	row := []string{l.Effect, fmt.Sprint(l.N), fmt.Sprint(l.Wrong), "-", fmt.Sprint(l.Slower), fmt.Sprint(l.Equivalent), "-", "-", "-"}
	if l.Design == Usual {
		row[5] = "-"
	}
	if l.Known > 0 {
		row[3] = fmt.Sprintf("%d/%d", l.Held, l.Known)
		row[8] = fmt.Sprintf("%.2f%%", percent(l.Half))
	}
	if l.Decided > 0 {
		row[6], row[7] = fmt.Sprintf("%.4g", l.Blocks), fmt.Sprintf("%.1f", l.Seconds)
	}
	return row
}

// right prints a table whose first column is aligned to the left.
func right(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		line := "    " + fmt.Sprintf("%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		fmt.Fprintln(w, line)
	}
}

func (s Summary) rates(w io.Writer) {
	if len(s.Rates) == 0 {
		return
	}
	fmt.Fprintf(w, "\nshare of comparisons [95%% interval]\n")
	header, rows := []string{""}, [][]string{{"false alarms between equals"}, {"intervals that hold the truth"}, {"found slower, effects from the margin on"}, {"found equivalent, equals"}}
	for _, r := range s.Rates {
		header = append(header, string(r.Design))
		for i, of := range []Rate{r.FalseAlarms, r.Held, r.Found, r.Equal} {
			text := of.String()
			if i == 3 && r.Design == Usual {
				text = "-"
			}
			rows[i] = append(rows[i], text)
		}
	}
	term.Table(w, term.DefaultWidth+20, append([][]string{header}, rows...))
}

// String is "1/20 [0%, 25%]".
func (r Rate) String() string {
	if r.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d [%.0f%%, %.0f%%]", r.Hits, r.Of, 100*r.Low, 100*r.High)
}

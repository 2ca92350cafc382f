package prices

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/stats"
)

// Text writes the list as tables of at most so many columns: what each environment adds to the
// time of a call.
func (l List) Text(w io.Writer, columns int) {
	fmt.Fprint(w, term.Prose(fmt.Sprintf("One call: the time natively (%s), and what each environment adds to it.", l.Baseline), columns), "\n")
	// As many environments side by side as fit.
	const first, each = 24, 13
	for rest := l.Environments; ; {
		n := min(len(rest), max(1, (columns-first)/each))
		heading := []string{"call", l.Baseline}
		for _, e := range rest[:n] {
			heading = append(heading, e.name())
		}
		rows := [][]string{heading}
		for _, kind := range l.Kinds {
			row := []string{kind, model.Figure(l.find(l.Baseline, kind).Time, nano)}
			for _, e := range rest[:n] {
				row = append(row, cell(l.find(e.Name, kind)))
			}
			rows = append(rows, row)
		}
		aligned(w, rows, columns)
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	fmt.Fprint(w, term.Prose(fmt.Sprintf("(): the interval holds zero. ~: from fewer than %d blocks, which have no interval. `tare prices ENVIRONMENT` has the intervals and the CPU time.", stats.LeastBlocks), columns), "\n")
	l.foot(w, columns)
}

// Details writes what one environment adds, with intervals.
func (l List) Details(w io.Writer, name string, columns int) error {
	for _, e := range l.Environments {
		if e.Name != name {
			continue
		}
		rows := [][]string{{"call", l.Baseline, "time, more", "95% interval", "CPU, more", "95% interval"}}
		for _, kind := range l.Kinds {
			p := l.find(name, kind)
			row := []string{kind, model.Figure(l.find(l.Baseline, kind).Time, nano)}
			if p == nil {
				rows = append(rows, append(row, "-", "", "-", ""))
				continue
			}
			rows = append(rows, append(row, p.MoreTime.estimate(), p.MoreTime.interval(), p.MoreCPU.estimate(), p.MoreCPU.interval()))
		}
		fmt.Fprint(w, term.Prose(fmt.Sprintf("What %s adds to one call, over %s.", e.name(), l.Baseline), columns), "\n")
		aligned(w, rows, columns)
		fmt.Fprintln(w)
		l.foot(w, columns)
		return nil
	}
	var names []string
	for _, e := range l.Environments {
		names = append(names, e.Name)
	}
	return fmt.Errorf("the price list has no environment %q (it has %s)", name, strings.Join(names, ", "))
}

func (l List) foot(w io.Writer, columns int) {
	fmt.Fprint(w, term.Prose(fmt.Sprintf("Measured %s on %s, %d cores, kernel %s; run %s.",
		l.Measured.UTC().Format("2006-01-02 15:04 UTC"), cmp.Or(l.Machine.CPU, "an unknown CPU"), l.Machine.Cores, l.Machine.Kernel, l.Run), columns))
}

func (e Environment) name() string {
	if e.Label == "" {
		return e.Name
	}
	return e.Name + " [" + e.Label + "]"
}

// cell is the price in a table of several environments.
func cell(p *Price) string {
	switch {
	case p == nil || p.MoreTime == nil:
		return "-"
	case !p.MoreTime.bounded():
		return "~" + p.MoreTime.estimate()
	case p.MoreTime.holdsZero():
		return "(" + p.MoreTime.estimate() + ")"
	}
	return p.MoreTime.estimate()
}

// bounded says whether there is an interval.
func (a *Amount) bounded() bool { return a.Low != nil && a.High != nil }

func (a *Amount) estimate() string {
	if a == nil {
		return "-"
	}
	return plus(a.Estimate) + model.Figure(a.Estimate, nano)
}

func (a *Amount) interval() string {
	switch {
	case a == nil:
		return ""
	case !a.bounded():
		return "too few blocks"
	}
	s := model.ScaleFor(max(math.Abs(*a.Low), math.Abs(*a.High)), nano)
	return fmt.Sprintf("[%s%s, %s%s]%s", plus(*a.Low), model.In(s, *a.Low), plus(*a.High), model.In(s, *a.High), s.Suffix)
}

// nano is the unit of all prices.
const nano = "ns"

func plus(v float64) string {
	if v > 0 {
		return "+"
	}
	return ""
}

// aligned writes rows, whose columns besides the first are aligned to the right.
func aligned(w io.Writer, rows [][]string, columns int) {
	for c := 1; c < len(rows[0]); c++ {
		width := 0
		for _, row := range rows {
			width = max(width, ansi.StringWidth(row[c]))
		}
		for _, row := range rows {
			row[c] = strings.Repeat(" ", width-ansi.StringWidth(row[c])) + row[c]
		}
	}
	term.Table(w, columns, rows)
}

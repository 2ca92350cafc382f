package evidence

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/base/visible"
	"tare/internal/usage"
)

// Row is a formatted line of a table. Unknown values are "".
type Row struct {
	What       string // "overlay", "read"
	Fast, Slow string // events per thousand operations
	FastTime   string // time per operation
	SlowTime   string
	Change     string // of the time; without a time, of the count
}

// Section is the part of a table with one kind of figures.
type Section struct {
	Title string
	Rows  []Row
	// Left is the number of further figures with smaller changes.
	Left int
}

var titles = []struct {
	kind  Kind
	title string
}{
	{Where, "CPU time by mode and kernel subsystem"},
	{Called, "system calls"},
	{Event, "context switches, page faults, softirqs"},
	{Whole, "the whole machine"},
	{Within, "counted by the guest kernel"},
}

// Table formats the changes as sections of at most `most` rows each; 0 is no
// limit. Figures that are zero on both sides are left out.
func Table(changes []Change, most int) (sections []Section) {
	for _, t := range titles {
		s := Section{Title: t.title}
		for _, c := range changes {
			if c.Kind != t.kind || still(c) {
				continue
			}
			if most > 0 && len(s.Rows) == most {
				s.Left++
				continue
			}
			s.Rows = append(s.Rows, row(c))
		}
		if len(s.Rows) > 0 {
			sections = append(sections, s)
		}
	}
	return sections
}

// still reports whether all figures of a change are zero.
func still(c Change) bool {
	return c.Slow.Count.Value == 0 && c.Fast.Count.Value == 0 && c.Slow.Seconds.Value == 0 && c.Fast.Seconds.Value == 0
}

func row(c Change) Row {
	r := Row{
		What: Label(c.Name),
		Fast: count(c.Fast.Count), Slow: count(c.Slow.Count),
		FastTime: span(c.Fast.Seconds, false), SlowTime: span(c.Slow.Seconds, false),
		Change: span(c.Seconds(), true),
	}
	if r.Change == "" {
		if d := c.Count(); d.Missing == "" {
			r.Change = sign(d.Value) + number(1000*math.Abs(d.Value))
		}
	}
	return r
}

// Label is the displayed name: "read" for syscall.read. Figures of the whole
// machine have the same labels.
func Label(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, Host), Guest)
	switch name {
	case InKernel:
		name = "kernel mode"
	case InUser:
		name = "user mode"
	case InProbe:
		name = "the probes themselves"
	case Syscalls:
		name = "all system calls"
	case Voluntary:
		name = "voluntary switches"
	case Involuntary:
		name = "involuntary switches"
	case MinorFaults:
		name = "minor page faults"
	case MajorFaults:
		name = "major page faults"
	case Switches:
		name = "context switches"
	case "stolen":
		name = "steal"
	}
	for _, prefix := range []string{Syscall, Kernel} {
		name = strings.TrimPrefix(name, prefix)
	}
	if rest, is := strings.CutPrefix(name, Softirq); is {
		name = "softirq " + rest
	}
	return name
}

// count formats the number of events per thousand operations.
func count(f usage.Figure) string {
	if f.Missing != "" {
		return ""
	}
	return number(1000 * f.Value)
}

// Span prints seconds in an operation; "" where they are not known.
func Span(f usage.Figure) string { return span(f, false) }

// span prints seconds in an operation.
func span(f usage.Figure, signed bool) string {
	if f.Missing != "" {
		return ""
	}
	text, v := "", math.Abs(f.Value)
	switch {
	case v == 0:
		text = "0"
	// Just below a unit three digits would make it a thousand of the lower.
	case v < 0.9995e-6:
		text = number(v*1e9) + " ns"
	case v < 0.9995e-3:
		text = number(v*1e6) + " µs"
	case v < 0.9995:
		text = number(v*1e3) + " ms"
	default:
		text = number(v) + " s"
	}
	if signed {
		text = sign(f.Value) + text
	}
	return text
}

func sign(v float64) string {
	switch {
	case v > 0:
		return "+"
	case v < 0:
		return "−"
	}
	return ""
}

// number prints three digits, and all that stand before the point.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.01:
		return fmt.Sprintf("%.2f", v)
	}
	return "<0.01"
}

// Heads are the columns of a row, for the names of the two sides.
func Heads(slow, fast string) [6]string {
	return [6]string{"", fast, slow, fast, slow, "change"}
}

// Cells of the row, in the order of Heads.
func (r Row) Cells() [6]string {
	return [6]string{r.What, r.Fast, r.Slow, r.FastTime, r.SlowTime, r.Change}
}

// Text is the table for a terminal of 80 columns.
func Text(sections []Section, slow, fast string) string {
	var b strings.Builder
	line := func(cells [6]string) {
		text := fmt.Sprintf("%s%s%s%s%s%s", fill(cells[0], 25, false), fill(cells[1], 10, true), fill(cells[2], 10, true),
			fill(cells[3], 11, true), fill(cells[4], 11, true), fill(cells[5], 12, true))
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	b.WriteString(strings.Repeat(" ", 25) + fill("per 1000 ops", 20, true) + fill("time per op", 22, true) + "\n")
	line(Heads(slow, fast))
	for _, s := range sections {
		b.WriteString(s.Title + "\n")
		for _, r := range s.Rows {
			cells := r.Cells()
			cells[0] = "  " + cells[0]
			line(cells)
		}
		if s.Left > 0 {
			fmt.Fprintf(&b, "  and %d more\n", s.Left)
		}
	}
	return b.String()
}

// fill makes a text so many letters wide, cutting what is too long.
func fill(text string, width int, right bool) string {
	letters := []rune(text)
	if len(letters) >= width {
		letters = append(letters[:width-2], '…')
	}
	space := strings.Repeat(" ", width-len(letters))
	if right {
		return space + string(letters)
	}
	return string(letters) + space
}

// Markdown is the table for a document.
func Markdown(sections []Section, slow, fast string) string {
	var b strings.Builder
	slow, fast = visible.Markdown(slow), visible.Markdown(fast)
	for _, s := range sections {
		fmt.Fprintf(&b, "| %s | %s: per 1000 ops | %s: per 1000 ops | %s: time per op | %s: time per op | change |\n|---|---:|---:|---:|---:|---:|\n", visible.Markdown(s.Title), fast, slow, fast, slow)
		for _, r := range s.Rows {
			b.WriteString("| " + strings.Join(cellsOf(r), " | ") + " |\n")
		}
		if s.Left > 0 {
			fmt.Fprintf(&b, "\nand %d more\n", s.Left)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func cellsOf(r Row) []string {
	cells := r.Cells()
	for i, c := range cells {
		cells[i] = visible.Markdown(c)
	}
	return cells[:]
}

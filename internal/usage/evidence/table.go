package evidence

import (
	"fmt"
	"math"
	"strings"

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
	{Moved, "reads and writes by what they go to"},
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
	case Processes:
		name = "processes started"
	case Threads:
		name = "threads started"
	case "stolen":
		name = "steal"
	}
	for _, prefix := range []string{Syscall, Kernel} {
		name = strings.TrimPrefix(name, prefix)
	}
	if rest, is := strings.CutPrefix(name, Softirq); is {
		name = "softirq " + rest
	}
	if rest, is := strings.CutPrefix(name, Transfer); is {
		name = strings.NewReplacer(".small", " up to 4 KiB", ".large", " above 4 KiB", ".", " ").Replace(rest)
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

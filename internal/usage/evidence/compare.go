package evidence

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/stats"
	"tare/internal/usage"
)

// Kind classifies figures. Only figures of one kind may be added up: a system call
// is also time in the kernel.
type Kind string

// The kinds, in the order of the sections of a table.
const (
	Where  Kind = "where"  // CPU time by mode and kernel subsystem; the times add up
	Called Kind = "called" // system calls
	Moved  Kind = "moved"  // system calls that read and write, by what they go to
	Event  Kind = "event"  // context switches, page faults, softirqs
	Whole  Kind = "whole"  // of the whole machine; not part of the other kinds
	Within Kind = "within" // counted by the guest kernel
)

// Counted is the evidence of one trial and its number of operations.
type Counted struct {
	Evidence   Evidence
	Operations float64
}

// Rate holds events, seconds on a CPU and seconds of waiting, per operation.
type Rate struct{ Count, Seconds, Waited usage.Figure }

// Change is the difference of one figure, per operation, between the slow and the
// fast side.
type Change struct {
	Name string // syscall.read
	Kind Kind
	Slow Rate
	Fast Rate
}

// Count is the difference in events per operation.
func (c Change) Count() usage.Figure { return c.Slow.Count.Minus(c.Fast.Count) }

// Seconds is the difference in CPU time per operation.
func (c Change) Seconds() usage.Figure { return c.Slow.Seconds.Minus(c.Fast.Seconds) }

// Compare returns the changes between the medians of the trials of two sides,
// per operation, sorted by kind and then by size: of the time where it is known,
// else of the count.
func Compare(slow, fast []Counted) []Change {
	var changes []Change
	for _, name := range names(slow, fast) {
		c := Change{Name: name, Kind: kindOf(name), Slow: median(slow, name), Fast: median(fast, name)}
		if c.Slow != (Rate{}) || c.Fast != (Rate{}) {
			changes = append(changes, c)
		}
	}
	order := []Kind{Where, Called, Moved, Event, Whole, Within}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(sum(a.Name), sum(b.Name)),
			cmp.Compare(size(b.Seconds()), size(a.Seconds())),
			cmp.Compare(size(b.Count()), size(a.Count())),
			strings.Compare(a.Name, b.Name),
		)
	})
	return changes
}

// sum is 0 for a name that is the total of others, which comes first, and 1 for others.
func sum(name string) int {
	name = strings.TrimPrefix(strings.TrimPrefix(name, Host), Guest)
	if name == InKernel || name == InUser || name == Syscalls {
		return 0
	}
	return 1
}

func size(f usage.Figure) float64 {
	if f.Missing != "" {
		return 0
	}
	return math.Abs(f.Value)
}

func kindOf(name string) Kind {
	switch {
	case strings.HasPrefix(name, Host):
		return Whole
	case strings.HasPrefix(name, Guest):
		return Within
	case name == InKernel || name == InUser || name == InProbe || strings.HasPrefix(name, Kernel):
		return Where
	case name == Syscalls || strings.HasPrefix(name, Syscall):
		return Called
	case strings.HasPrefix(name, Transfer):
		return Moved
	}
	return Event
}

// figures visits the counts and times of all trials.
func figures(sides [][]Counted, visit func(name string, f usage.Figure)) {
	for _, t := range slices.Concat(sides...) {
		for _, all := range []map[string]usage.Figure{t.Evidence.Counts, t.Evidence.Times} {
			for name, f := range all {
				visit(name, f)
			}
		}
	}
}

// names returns the names in all trials, except what belongs to another one: the waits in
// system calls, and the bytes of transfers.
func names(sides ...[]Counted) []string {
	known := map[string]bool{}
	figures(sides, func(name string, _ usage.Figure) {
		if !strings.HasPrefix(name, Wait) && !strings.HasPrefix(name, Bytes) && !strings.HasPrefix(name, Blocked) {
			known[name] = true
		}
	})
	return slices.Sorted(maps.Keys(known))
}

// median returns the medians over the trials, each figure separately. A figure that
// is missing in one trial is missing in the result.
func median(trials []Counted, name string) Rate {
	if len(trials) == 0 {
		absent := usage.Absent("no trial was traced")
		return Rate{absent, absent, absent}
	}
	of := func(figure func(Evidence) usage.Figure) usage.Figure {
		var values []float64
		for _, t := range trials {
			f := figure(t.Evidence)
			if f.Missing == "" && !(t.Operations > 0) {
				f = usage.Absent("the trial counted no operations")
			}
			if f.Missing != "" {
				return f
			}
			values = append(values, f.Value/t.Operations)
		}
		return usage.Known(stats.Median(values))
	}
	r := Rate{
		Count:   of(func(e Evidence) usage.Figure { return figure(e.Counts, name, countedWith(name)) }),
		Seconds: of(func(e Evidence) usage.Figure { return figure(e.Times, name, timedWith(name)) }),
		Waited:  usage.Absent("only system calls wait"),
	}
	if call, is := strings.CutPrefix(name, Syscall); is {
		r.Waited = of(func(e Evidence) usage.Figure { return figure(e.Times, Wait+call, Syscalls) })
	}
	return r
}

// figure returns the value of a name. An absent name counts as zero if the figure
// that is always counted together with it is present.
func figure(of map[string]usage.Figure, name, with string) usage.Figure {
	if f, known := of[name]; known {
		return f
	}
	switch f, known := of[with]; {
	case !known:
		return usage.Absent("not counted")
	case f.Missing != "":
		return f
	}
	return usage.Known(0)
}

// countedWith is the name whose count is present whenever counts of this kind were
// taken; "" if the name has no count.
func countedWith(name string) string {
	switch {
	case strings.HasPrefix(name, Guest):
		return ""
	case kindOf(strings.TrimPrefix(name, Host)) == Where:
		return ""
	case strings.HasPrefix(name, Syscall):
		return Syscalls
	case strings.HasPrefix(name, Transfer), strings.Contains(name, Softirq):
		return Voluntary
	}
	return ""
}

// timedWith is the same for times.
func timedWith(name string) string {
	of, host := strings.CutPrefix(name, Host)
	prefix := ""
	if host {
		prefix = Host
	}
	switch {
	case strings.HasPrefix(name, Guest):
		return ""
	case kindOf(of) == Where:
		return prefix + InKernel
	case strings.HasPrefix(name, Syscall), strings.HasPrefix(name, Transfer), strings.Contains(name, Softirq):
		return Syscalls
	}
	return ""
}

// Remarks lists the notes of the trials, and which figures are missing and why.
func Remarks(sides ...[]Counted) (lines []string) {
	for _, t := range slices.Concat(sides...) {
		lines = lists.Add(lines, t.Evidence.Notes...)
	}
	about := map[string][]string{} // reason → names
	figures(sides, func(name string, f usage.Figure) {
		if f.Missing != "" && !slices.Contains(about[f.Missing], Label(name)) {
			about[f.Missing] = append(about[f.Missing], Label(name))
		}
	})
	var missing []string
	for reason, names := range about {
		slices.Sort(names)
		missing = append(missing, "not counted: "+strings.Join(names, ", ")+": "+reason)
	}
	slices.Sort(missing)
	return append(lines, missing...)
}

// Package cost computes the cost of a thousand operations of a workload: CPU time,
// memory held over time, bytes written, context switches, system calls, energy and
// money, each from the resource use of the whole environment. An environment that
// does half the work with half the CPU time is not cheaper, which usage alone does
// not show.
//
// It must not know how usage is measured, nor plans, trials or verdicts.
package cost

import (
	"slices"
	"strings"

	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// PerUnit ends the unit of every cost: a thousand operations.
const PerUnit = "/kop"

// CPU is the cost that is shown with every primary metric.
const CPU = "cpu_per_kop"

// Money is what all resources cost by the prices of the study.
const Money = "money_per_kop"

// Spent is the resource use of a trial and the operations that it did.
type Spent struct {
	Usage    *usage.Usage
	Evidence *evidence.Evidence // nil where no system calls were counted
	// Seconds that the samples took.
	Seconds float64
	// Operations done, counted by the metric named Counted.
	Operations float64
	Counted    string
}

// Cost is one thing that operations cost, or, if Whole, what the samples of a trial used
// of it. Less is better.
type Cost struct {
	Name  string // cpu_per_kop: the same in files, metrics and tables
	Title string // CPU time: the heading of its column
	Unit  string // of a thousand operations: s/kop
	About string
	Whole bool

	of func(Spent, *Price) usage.Figure // of all operations together
}

// all is the list of costs. Files, tables and metrics are generated from it.
var all = []Cost{
	{CPU, "CPU time", "s/kop", "CPU time of the whole environment per thousand operations", false,
		func(s Spent, _ *Price) usage.Figure { return s.Usage.CPU() }},
	{"memory_per_kop", "memory", "B·s/kop", "memory of the whole environment per thousand operations: bytes in use, without the page cache, times seconds", false,
		func(s Spent, _ *Price) usage.Figure { return s.Usage.MemorySeconds }},
	{"written_per_kop", "written", "B/kop", "bytes that the whole environment wrote to storage per thousand operations", false,
		func(s Spent, _ *Price) usage.Figure { return s.Usage.DiskWritten }},
	{"switches_per_kop", "switches", "1/kop", "context switches of the whole environment per thousand operations", false,
		func(s Spent, _ *Price) usage.Figure { return s.Usage.Switches }},
	{syscalls, "system calls", "1/kop", "system calls of the whole environment per thousand operations", false,
		func(s Spent, _ *Price) usage.Figure { return calls(s.Evidence) }},
	{"energy_per_kop", "energy", "J/kop", "energy of the machine's processor packages per thousand operations, including all other work on the machine", false,
		func(s Spent, _ *Price) usage.Figure { return energy(s.Usage) }},
	{Money, "money", "1/kop", "price of all resources of the whole environment per thousand operations, by the study's prices", false,
		func(s Spent, p *Price) usage.Figure { return p.of(s) }},
	{"cpu_percent", "CPU utilization", "%", "CPU time of the whole environment per time of the samples; 100% is one core", true,
		func(s Spent, _ *Price) usage.Figure { return percent(s) }},
	{"memory_peak", "peak memory", "B", "peak memory of the whole environment without the page cache", true,
		func(s Spent, _ *Price) usage.Figure { return s.Usage.MemoryPeak }},
	{"bytes_read", "bytes read", "B", "bytes that the whole environment read from storage in the samples of a trial", true,
		func(s Spent, _ *Price) usage.Figure { return s.Usage.DiskRead }},
}

// The costs that only some studies have.
const (
	syscalls = "syscalls_per_kop"
)

// Currency is the currency of a unit of money per thousand operations; false for
// other costs. A study may name any currency, so it is every unit that no other cost
// has.
func Currency(unit string) (currency string, priced bool) {
	currency, priced = strings.CutSuffix(unit, PerUnit)
	if !priced || slices.ContainsFunc(all, func(c Cost) bool { return c.Unit == unit }) {
		return "", false
	}
	return currency, true
}

// earlier is the name of CPU time per operation in run directories that predate the
// other costs.
const earlier = "cpu_per_op"

// Named reports whether a metric of this name is a cost, also in a run directory of
// an earlier version.
func Named(name string) bool {
	return name == earlier || slices.ContainsFunc(all, func(c Cost) bool { return c.Name == name })
}

// Earlier reports whether a metric of this name was replaced by the costs.
func Earlier(name string) bool { return name == earlier }

// InWords is the cost in a sentence or a heading. An amount of money includes the
// number of operations in its unit.
func (c Cost) InWords() string {
	switch {
	case c.Whole:
		return c.Title
	case c.Name == Money:
		return c.Title + " for operations"
	}
	return c.Title + " per thousand operations"
}

// Lookup finds a cost by its name.
func Lookup(name string) (Cost, bool) {
	i := slices.IndexFunc(all, func(c Cost) bool { return c.Name == name })
	if i < 0 {
		return Cost{}, false
	}
	return all[i], true
}

// Asked returns the costs of a study: system calls if it counts them, money if it
// has a price (nil for none), and with use what was used as a whole.
func Asked(countsSyscalls, use bool, price *Price) []Cost {
	var asked []Cost
	for _, c := range all {
		switch {
		case c.Name == syscalls && !countsSyscalls, c.Name == Money && price == nil, c.Whole && !use:
			continue
		case c.Name == Money:
			c.Unit = price.Currency + PerUnit
		}
		asked = append(asked, c)
	}
	return asked
}

// Of is the cost of a thousand operations, or the reason why it is unknown. price
// may be nil for every cost except money.
func (c Cost) Of(s Spent, price *Price) usage.Figure {
	if s.Usage == nil {
		return usage.Absent("the resource use of the environment is unknown")
	}
	whole := c.of(s, price)
	switch {
	case whole.Missing != "" || c.Whole:
		return whole
	case !(s.Operations > 0):
		return usage.Absent("no %s were counted", s.Counted)
	}
	return usage.Known(whole.Value / s.Operations * 1000)
}

func percent(s Spent) usage.Figure {
	cpu := s.Usage.CPU()
	switch {
	case cpu.Missing != "":
		return cpu
	case !(s.Seconds > 0):
		return usage.Absent("the time of the samples is unknown")
	}
	return usage.Known(cpu.Value / s.Seconds * 100)
}

func energy(u *usage.Usage) usage.Figure {
	if u.Host == nil {
		return usage.Absent("the machine as a whole was not sampled")
	}
	return u.Host.Energy
}

func calls(e *evidence.Evidence) usage.Figure {
	if e == nil {
		return usage.Absent("system calls were not counted")
	}
	counted, known := e.Counts[evidence.Syscalls]
	if !known {
		return usage.Absent("system calls were not counted")
	}
	return counted
}

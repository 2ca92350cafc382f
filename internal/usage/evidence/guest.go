package evidence

import (
	"fmt"
	"strconv"
	"strings"

	"tare/internal/usage"
)

// Guest begins the names of what a kernel counted that the instance has to
// itself: of all that runs in it, by its own clock.
const Guest = "guest."

// Reading is what such a kernel has counted since it booted.
type Reading struct{ counts, times map[string]float64 }

// guestTicks a second, in which /proc/stat counts time.
const guestTicks = 100

// Read takes the texts of /proc/stat and /proc/softirqs. What they do not have
// is not in the reading.
func Read(stat, softirqs string) Reading {
	r := Reading{map[string]float64{}, map[string]float64{}}
	for _, line := range strings.Split(stat, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "cpu": // user nice system idle iowait irq softirq steal
			at := func(i int) float64 { return numberAt(fields, i) / guestTicks }
			r.times[InUser] = at(1) + at(2)
			r.times[InKernel] = at(3) + at(6) + at(7)
			r.times["stolen"] = at(8)
		case "intr":
			r.counts["interrupts"] = numberAt(fields, 1)
		case "ctxt":
			r.counts[Switches] = numberAt(fields, 1)
		case "processes":
			r.counts["forks"] = numberAt(fields, 1)
		}
	}
	for _, line := range strings.Split(softirqs, "\n") {
		name, each, is := strings.Cut(strings.TrimSpace(line), ":")
		if !is {
			continue // the heads of the columns
		}
		var sum float64
		for _, field := range strings.Fields(each) {
			n, _ := strconv.ParseFloat(field, 64)
			sum += n
		}
		r.counts[Softirq+name] = sum
	}
	return r
}

func numberAt(fields []string, i int) float64 {
	if i >= len(fields) {
		return 0
	}
	n, _ := strconv.ParseFloat(fields[i], 64)
	return n
}

// AddGuest adds what the instance's own kernel counted between two readings. A
// count that stands at 0 since the boot is none that the kernel keeps.
func (e *Evidence) AddGuest(before, after Reading) {
	add := func(to *map[string]usage.Figure, before, after map[string]float64) {
		if *to == nil {
			*to = map[string]usage.Figure{}
		}
		for name, v := range after {
			switch was, known := before[name]; {
			case !known || v < was:
				(*to)[Guest+name] = usage.Absent("the instance's kernel counted %g before and %g after", was, v)
			case v > 0:
				(*to)[Guest+name] = usage.Known(v - was)
			}
		}
	}
	add(&e.Counts, before.counts, after.counts)
	add(&e.Times, before.times, after.times)
	e.Notes = append(e.Notes, "the instance has a separate kernel: the host's system calls and switches are those of the process that runs it (VMM or sentry), not the workload's")
}

// NoGuest says why the instance's own kernel could not be read.
func (e *Evidence) NoGuest(err error) {
	e.Notes = append(e.Notes, fmt.Sprintf("what the instance's own kernel counted is missing: %v", err))
}

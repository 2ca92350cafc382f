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

// Read takes the texts of /proc/stat and /proc/softirqs. What they do not have
// is not in the reading.
func Read(stat, softirqs string) Reading {
	r, s := Reading{map[string]float64{}, map[string]float64{}}, usage.ParseStat(stat)
	if strings.Contains(stat, "cpu ") {
		r.times[InUser], r.times[InKernel], r.times["stolen"] = s.User, s.System+s.IRQ+s.SoftIRQ, s.Steal
	}
	for line, name := range map[string]string{"intr": "interrupts", "ctxt": Switches, "processes": "forks"} {
		if n, known := s.Counts[line]; known {
			r.counts[name] = n
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

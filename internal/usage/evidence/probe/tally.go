package probe

import (
	"strings"

	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// newEvidence names the counters of the parts and of the host.
func newEvidence(depth Depth, parts map[string][]counter, host []counter) evidence.Evidence {
	total := make([]counter, slots)
	for _, c := range parts {
		for slot := range total {
			total[slot] = total[slot].plus(c[slot])
		}
	}
	sum := newTally(depth, total)
	e := evidence.Evidence{Counts: sum.Counts, Times: sum.Times}
	if len(parts) > 1 {
		e.Parts = map[string]evidence.Tally{}
		for name, c := range parts {
			e.Parts[name] = newTally(depth, c)
		}
	}
	if depth == All {
		whole := newTally(depth, host)
		for name := range whole.Counts {
			if strings.HasPrefix(name, evidence.Softirq) {
				e.Counts[evidence.Host+name], e.Times[evidence.Host+name] = whole.Counts[name], whole.Times[name]
			}
		}
	}
	return e
}

func newTally(depth Depth, c []counter) evidence.Tally {
	t := evidence.Tally{Counts: map[string]usage.Figure{}}
	if depth == All {
		t.Times = map[string]usage.Figure{}
	}
	add := func(name string, c counter) {
		t.Counts[name] = usage.Known(float64(c.Count))
		if t.Times != nil {
			t.Times[name] = usage.Known(float64(c.Nanoseconds) / 1e9)
		}
	}
	var calls counter
	for number, one := range c[slotSyscall : slotSyscall+maxSyscalls] {
		if one == (counter{}) {
			continue
		}
		calls = calls.plus(one)
		name := syscallName(number)
		add(evidence.Syscall+name, one)
		if depth == All && one.Waited > 0 {
			t.Times[evidence.Wait+name] = usage.Known(float64(one.Waited) / 1e9)
		}
		if one.Blocked > 0 {
			t.Counts[evidence.Blocked+evidence.Syscall+name] = usage.Known(float64(one.Blocked))
		}
	}
	add(evidence.Syscalls, calls)
	if depth != All {
		return t
	}
	for name, slot := range map[string]int{
		evidence.Voluntary: slotVoluntary, evidence.Involuntary: slotInvoluntary,
		evidence.MinorFaults: slotMinor, evidence.MajorFaults: slotMajor,
		evidence.Processes: slotProcess, evidence.Threads: slotThread,
	} {
		t.Counts[name] = usage.Known(float64(c[slot].Count))
	}
	for i, name := range softirqs {
		if one := c[slotSoftirq+i]; one.Count > 0 {
			add(evidence.Softirq+name, one)
		}
	}
	for i, one := range c[slotTransfer : slotTransfer+maxTransfers] {
		if one.Count == 0 {
			continue
		}
		name := transferName(i)
		add(evidence.Transfer+name, one)
		t.Counts[evidence.Bytes+name] = usage.Known(float64(one.Bytes))
		if one.Blocked > 0 {
			t.Counts[evidence.Blocked+evidence.Transfer+name] = usage.Known(float64(one.Blocked))
		}
	}
	return t
}

// transferName is the name of a transfer by its number, as bpf/count.bpf.c counts them.
func transferName(i int) string {
	return evidence.Directions[i/2/len(evidence.Objects)] + "." + evidence.Objects[i/2%len(evidence.Objects)] + "." + evidence.Sizes[i%2]
}

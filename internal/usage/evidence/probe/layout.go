package probe

import "github.com/cilium/ebpf/btf"

// The layout of the maps, by names of Go. bpf/tasks.h defines it.
const (
	slotSyscall     = int(countSlotSLOT_SYSCALL)
	slotVoluntary   = int(countSlotSLOT_VOLUNTARY)
	slotInvoluntary = int(countSlotSLOT_INVOLUNTARY)
	slotMinor       = int(countSlotSLOT_MINOR)
	slotMajor       = int(countSlotSLOT_MAJOR)
	slotSoftirq     = int(countSlotSLOT_SOFTIRQ)
	slots           = int(countSlotSLOTS)
	maxSyscalls     = int(countSlotMAX_SYSCALLS)

	maxTasks  = int(countLimitMAX_TASKS)
	maxFrames = int(countLimitMAX_FRAMES)
	maxParts  = int(countLimitMAX_PARTS)
	hostPart  = int(countLimitHOST_PART)

	noCall = ^uint64(0)
)

// softirqs by number, under the names of /proc/softirqs.
var softirqs = [countSlotMAX_SOFTIRQS]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// counter is one entry of the map of counters, of one processor or of all.
type counter countCounter

func (c counter) plus(d counter) counter {
	return counter{Count: c.Count + d.Count, Nanoseconds: c.Nanoseconds + d.Nanoseconds, Waited: c.Waited + d.Waited}
}

func (c counter) minus(d counter) counter {
	return counter{Count: c.Count - d.Count, Nanoseconds: c.Nanoseconds - d.Nanoseconds, Waited: c.Waited - d.Waited}
}

// tracepointArgs returns how many arguments a tracepoint passes to a program.
func tracepointArgs(types *btf.Spec, name string) int {
	var def *btf.Typedef
	if types.TypeByName("btf_trace_"+name, &def) != nil {
		return 0
	}
	pointer, ok := def.Type.(*btf.Pointer)
	if !ok {
		return 0
	}
	proto, ok := pointer.Target.(*btf.FuncProto)
	if !ok {
		return 0
	}
	return len(proto.Params) - 1 // without the tracepoint's private data
}

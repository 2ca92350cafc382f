package probe

import (
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// What the programs and the reader of their maps must agree on.

// Counters lie in one array: for each part of the environment a run of slots.
// A counter is how often, how many nanoseconds, and how many of waiting.
const (
	slotSyscall     = 0 // by number
	mostSyscalls    = 512
	slotVoluntary   = slotSyscall + mostSyscalls
	slotInvoluntary = slotVoluntary + 1
	slotMinor       = slotInvoluntary + 1
	slotMajor       = slotMinor + 1
	slotSoftirq     = slotMajor + 1
	slots           = slotSoftirq + 10 // len(softirqs)

	counterSize = 24
)

// Softirqs by their number, as /proc/softirqs names them.
var softirqs = []string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// Parts of the environment by their number; the last is the whole machine.
const (
	mostParts = 8
	hostPart  = mostParts
)

// counter is one entry of the array, of one processor.
type counter struct{ Count, Nanoseconds, Waited uint64 }

func (c counter) plus(d counter) counter {
	return counter{c.Count + d.Count, c.Nanoseconds + d.Nanoseconds, c.Waited + d.Waited}
}

func (c counter) minus(d counter) counter {
	return counter{c.Count - d.Count, c.Nanoseconds - d.Nanoseconds, c.Waited - d.Waited}
}

// A task's state, kept by its number for as long as it lives: offsets of 64-bit
// fields.
const (
	taskPart     = 0
	taskCall     = 8  // number of the system call that it is in
	taskSince    = 16 // when that began
	taskSinceOff = 24 // what taskOff was then
	taskOffAt    = 32 // when it left the processor; 0 while it runs
	taskOff      = 40 // nanoseconds off the processor, all in all
	taskMinor    = 48 // faults that it had before the watching began
	taskMajor    = 56
	taskSize     = 64

	mostTasks = 32768

	noCall = -1
)

// task is the state as the host writes it.
type task struct{ Part, Call, Since, SinceOff, OffAt, Off, Minor, Major uint64 }

// A processor's state: which softirq runs on it.
const (
	cpuSoftirq = 0 // its number and one; 0 for none
	cpuSince   = 8
	cpuSize    = 16
)

// offsets of fields in the kernel's own structures, in bytes.
type offsets struct {
	pid, minor, major, state int16
	stateSize                uint32
	stateGiven               bool // the switch's tracepoint hands over the state
}

// kernelOffsets looks them up in the kernel's description of its types.
func kernelOffsets(types *btf.Spec) (o offsets, err error) {
	var task *btf.Struct
	if err := types.TypeByName("task_struct", &task); err != nil {
		return o, fmt.Errorf("task_struct in the kernel's types: %w", err)
	}
	for _, f := range []struct {
		name string
		to   *int16
	}{{"pid", &o.pid}, {"min_flt", &o.minor}, {"maj_flt", &o.major}} {
		m, at, ok := member(task, f.name)
		if !ok {
			return o, fmt.Errorf("task_struct of this kernel has no field %s", f.name)
		}
		_, *f.to = m, at
	}
	for _, name := range []string{"__state", "state"} { // renamed in 5.14
		if m, at, ok := member(task, name); ok {
			size, err := btf.Sizeof(m.Type)
			if err != nil {
				return o, err
			}
			o.state, o.stateSize = at, uint32(size)
			break
		}
	}
	o.stateGiven = arguments(types, "btf_trace_sched_switch") >= 4 // from 5.18 on
	return o, nil
}

// member finds a field by its name, also in structures without a name.
func member(in btf.Type, name string) (btf.Member, int16, bool) {
	var members []btf.Member
	switch s := btf.UnderlyingType(in).(type) {
	case *btf.Struct:
		members = s.Members
	case *btf.Union:
		members = s.Members
	}
	for _, m := range members {
		if m.Name == name {
			return m, int16(m.Offset.Bytes()), true
		}
		if m.Name == "" {
			if found, at, ok := member(m.Type, name); ok {
				return found, int16(m.Offset.Bytes()) + at, true
			}
		}
	}
	return btf.Member{}, 0, false
}

// arguments is how many a tracepoint hands over.
func arguments(types *btf.Spec, name string) int {
	var def *btf.Typedef
	if types.TypeByName(name, &def) != nil {
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
	return len(proto.Params) - 1 // without the tracepoint's own
}

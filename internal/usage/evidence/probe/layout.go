package probe

import (
	_ "embed" // of the objects

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// The objects are committed, so that neither building nor running tare needs a
// compiler. To rebuild them: go generate ./internal/usage/evidence/probe, with clang
// and llvm-strip of the version in objects_test.go, and libbpf's headers. That
// test rebuilds them and compares. The type of tracepoint that is used needs Linux 5.5.

//go:generate ../../../../scripts/bpf.sh bpf/count.bpf.c count.o
//go:generate ../../../../scripts/bpf.sh bpf/sample.bpf.c sample.o

var (
	//go:embed count.o
	countObject []byte
	//go:embed sample.o
	sampleObject []byte
)

// The layout of the maps. bpf/tasks.h defines it, and a test compares them.
const (
	maxSyscalls = 512
	maxSoftirqs = 10

	slotSyscall     = 0 // by number
	slotVoluntary   = slotSyscall + maxSyscalls
	slotInvoluntary = slotVoluntary + 1
	slotMinor       = slotVoluntary + 2
	slotMajor       = slotVoluntary + 3
	slotSoftirq     = slotVoluntary + 4 // by number
	slotProcess     = slotSoftirq + maxSoftirqs
	slotThread      = slotProcess + 1
	slotTransfer    = slotProcess + 2 // by direction, object and size
	maxTransfers    = 28
	slots           = slotTransfer + maxTransfers

	maxTasks  = 32768
	maxFrames = 48
	maxParts  = 8
	hostPart  = maxParts

	noCall = ^uint64(0)
)

// softirqs by number, under the names of /proc/softirqs.
var softirqs = [maxSoftirqs]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// task is an entry of the map of tasks.
type task struct {
	Part                  uint64
	Call, Since, SinceOff uint64
	OffAt, Off, Blocked   uint64
	Minor, Major          uint64 // page faults before the counting began
}

// counter is one entry of the map of counters, of one processor or of all.
type counter struct{ Count, Nanoseconds, Waited, Blocked, Bytes uint64 }

func (c counter) plus(d counter) counter {
	return counter{c.Count + d.Count, c.Nanoseconds + d.Nanoseconds, c.Waited + d.Waited, c.Blocked + d.Blocked, c.Bytes + d.Bytes}
}

func (c counter) minus(d counter) counter {
	return counter{c.Count - d.Count, c.Nanoseconds - d.Nanoseconds, c.Waited - d.Waited, c.Blocked - d.Blocked, c.Bytes - d.Bytes}
}

// sample is a key of the map of samples.
type sample struct {
	Part  uint32
	Stack int32 // in the map of stacks, or a negative error number
}

// countMaps are those of bpf/count.bpf.c.
type countMaps struct {
	Tasks    *ebpf.Map `ebpf:"tare_tasks"`
	Counters *ebpf.Map `ebpf:"tare_counters"`
	Cpus     *ebpf.Map `ebpf:"tare_cpus"`
	Lost     *ebpf.Map `ebpf:"tare_lost"`
}

// sampleObjects are the maps and the program of bpf/sample.bpf.c.
type sampleObjects struct {
	Tasks   *ebpf.Map     `ebpf:"tare_tasks"`
	Stacks  *ebpf.Map     `ebpf:"tare_stacks"`
	Samples *ebpf.Map     `ebpf:"tare_samples"`
	Sample  *ebpf.Program `ebpf:"tare_sample"`
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

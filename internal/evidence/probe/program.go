package probe

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// maps that all programs share.
type maps struct{ tasks, counters, processors, lost, stacks, samples *ebpf.Map }

// writer puts a program together. By agreement R6 is the context, R7 the state
// of a task, R8 nanoseconds, R9 the state of the processor.
type writer struct {
	maps
	code   asm.Instructions
	label  string // of the next instruction
	labels int
}

const (
	stackTask = -4  // a task's number
	stackKey  = -8  // of a counter
	stackZero = -12 // key of what there is one of
	stackWait = -24 // nanoseconds of waiting
	stackKind = -32 // what a sample is: two numbers
	stackOnce = -40
	stackNew  = -48 - taskSize
)

func (w *writer) add(code ...asm.Instruction) {
	for _, c := range code {
		if w.label != "" {
			c, w.label = c.WithSymbol(w.label), ""
		}
		w.code = append(w.code, c)
	}
}

func (w *writer) mark(label string) {
	if w.label != "" {
		w.add(asm.Mov.Imm(asm.R0, 0))
	}
	w.label = label
}

func (w *writer) fresh() string {
	w.labels++
	return fmt.Sprintf("l%d", w.labels)
}

// program begins with the context in R6 and ends with the label exit.
func (m maps) program(name, to string, body func(*writer)) *ebpf.ProgramSpec {
	w := &writer{maps: m}
	w.add(asm.Mov.Reg(asm.R6, asm.R1))
	body(w)
	w.mark("exit")
	w.add(asm.Mov.Imm(asm.R0, 0), asm.Return())
	return &ebpf.ProgramSpec{Name: name, Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: to, Instructions: w.code, License: "GPL"}
}

// argument of the tracepoint.
func (w *writer) argument(to asm.Register, number int16) {
	w.add(asm.LoadMem(to, asm.R6, 8*number, asm.DWord))
}

// lookup finds an entry by the 32-bit key at a place of the stack, as R0.
func (w *writer) lookup(m *ebpf.Map, key int32, otherwise string) {
	w.add(
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, key),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, otherwise),
	)
}

// find makes R7 the state of the task whose number is in R1.
func (w *writer) find(otherwise string) {
	w.add(asm.StoreMem(asm.RFP, stackTask, asm.R1, asm.Word))
	w.lookup(w.tasks, stackTask, otherwise)
	w.add(asm.Mov.Reg(asm.R7, asm.R0))
}

// current makes R7 the state of the task that runs.
func (w *writer) current(otherwise string) {
	w.add(asm.FnGetCurrentPidTgid.Call(), asm.Mov.Reg(asm.R1, asm.R0))
	w.find(otherwise)
}

// processor makes R9 the state of this processor.
func (w *writer) processor() {
	w.add(asm.StoreImm(asm.RFP, stackZero, 0, asm.Word))
	w.lookup(w.processors, stackZero, "exit")
	w.add(asm.Mov.Reg(asm.R9, asm.R0))
}

func (w *writer) now(to asm.Register) {
	w.add(asm.FnKtimeGetNs.Call(), asm.Mov.Reg(to, asm.R0))
}

// put stores a 64-bit constant. The library refuses to, the kernel does not.
func put(to asm.Register, offset int16, value int64) asm.Instruction {
	return asm.Instruction{OpCode: asm.StoreImmOp(asm.DWord), Dst: to, Offset: offset, Constant: value}
}

// what a counter takes.
type what struct {
	times  int32 // 0 or 1
	took   bool  // R8
	waited bool  // what is on the stack
}

// count adds to the counter of the part in R1 and the slot in R2. Processors
// have counters of their own; it is atomic all the same, as a program may be
// pushed aside by another one.
func (w *writer) count(of what) {
	done := w.fresh()
	w.add(asm.Mul.Imm(asm.R1, slots), asm.Add.Reg(asm.R1, asm.R2), asm.StoreMem(asm.RFP, stackKey, asm.R1, asm.Word))
	w.lookup(w.counters, stackKey, done)
	if of.times > 0 {
		w.add(asm.Mov.Imm(asm.R1, of.times), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0))
	}
	if of.took {
		w.add(asm.AddAtomic.Mem(asm.R0, asm.R8, asm.DWord, 8))
	}
	if of.waited {
		w.add(asm.LoadMem(asm.R1, asm.RFP, stackWait, asm.DWord), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 16))
	}
	w.mark(done)
	w.add(asm.Mov.Imm(asm.R0, 0))
}

// countFor counts for the task in R7.
func (w *writer) countFor(slot int32, of what) {
	w.add(asm.LoadMem(asm.R1, asm.R7, taskPart, asm.DWord), asm.Mov.Imm(asm.R2, slot))
	w.count(of)
}

// enterCall counts a system call, and notes when it began.
func enterCall(timed bool) func(*writer) {
	return func(w *writer) {
		w.current("exit")
		w.argument(asm.R8, 1)
		w.add(asm.JGE.Imm(asm.R8, mostSyscalls, "exit"))
		w.add(asm.LoadMem(asm.R1, asm.R7, taskPart, asm.DWord), asm.Mov.Reg(asm.R2, asm.R8))
		w.count(what{times: 1})
		if !timed {
			return
		}
		w.add(asm.StoreMem(asm.R7, taskCall, asm.R8, asm.DWord))
		w.now(asm.R8)
		w.add(
			asm.StoreMem(asm.R7, taskSince, asm.R8, asm.DWord),
			asm.LoadMem(asm.R1, asm.R7, taskOff, asm.DWord),
			asm.StoreMem(asm.R7, taskSinceOff, asm.R1, asm.DWord),
		)
	}
}

// leaveCall adds what the call took: what it ran, and what it waited.
func leaveCall(w *writer) {
	w.current("exit")
	w.add(
		asm.LoadMem(asm.R9, asm.R7, taskCall, asm.DWord),
		asm.JGE.Imm(asm.R9, mostSyscalls, "exit"), // it began before the watching
		put(asm.R7, taskCall, noCall),
	)
	w.now(asm.R8)
	w.ran(taskSince, taskSinceOff)
	w.add(
		asm.StoreMem(asm.RFP, stackWait, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, taskPart, asm.DWord), asm.Mov.Reg(asm.R2, asm.R9),
	)
	w.count(what{took: true, waited: true})
}

// ran turns R8 from the present into the nanoseconds that the task in R7 ran
// since a moment; R1 is what it waited meanwhile.
func (w *writer) ran(since, sinceOff int16) {
	w.add(
		asm.LoadMem(asm.R1, asm.R7, since, asm.DWord), asm.Sub.Reg(asm.R8, asm.R1),
		asm.LoadMem(asm.R1, asm.R7, taskOff, asm.DWord),
		asm.LoadMem(asm.R2, asm.R7, sinceOff, asm.DWord), asm.Sub.Reg(asm.R1, asm.R2),
		asm.Sub.Reg(asm.R8, asm.R1),
	)
}

// switched counts one task off the processor, and ends the wait of the next.
func switched(o offsets) func(*writer) {
	return func(w *writer) {
		w.now(asm.R8)
		w.argument(asm.R9, 1)
		w.add(asm.LoadMem(asm.R1, asm.R9, o.pid, asm.Word))
		w.find("next")
		w.add(asm.StoreMem(asm.R7, taskOffAt, asm.R8, asm.DWord))
		// It left by itself if it was not preempted and is not ready to run.
		if o.stateGiven {
			w.argument(asm.R3, 3)
			w.add(asm.And.Imm(asm.R3, 0x7fffffff))
		} else {
			size := asm.DWord
			if o.stateSize == 4 {
				size = asm.Word
			}
			w.add(asm.LoadMem(asm.R3, asm.R9, o.state, size))
		}
		w.argument(asm.R4, 0)
		w.add(
			asm.LoadMem(asm.R1, asm.R7, taskPart, asm.DWord),
			asm.Mov.Imm(asm.R2, slotInvoluntary),
			asm.And.Imm(asm.R4, 0xff),
			asm.JNE.Imm(asm.R4, 0, "pushed"),
			asm.JEq.Imm(asm.R3, 0, "pushed"),
			asm.Mov.Imm(asm.R2, slotVoluntary),
		)
		w.mark("pushed")
		w.count(what{times: 1})
		w.mark("next")
		w.argument(asm.R9, 2)
		w.add(asm.LoadMem(asm.R1, asm.R9, o.pid, asm.Word))
		w.find("exit")
		w.add(
			asm.LoadMem(asm.R1, asm.R7, taskOffAt, asm.DWord),
			asm.JEq.Imm(asm.R1, 0, "exit"),
			put(asm.R7, taskOffAt, 0),
			asm.Sub.Reg(asm.R8, asm.R1),
			asm.LoadMem(asm.R1, asm.R7, taskOff, asm.DWord),
			asm.Add.Reg(asm.R1, asm.R8),
			asm.StoreMem(asm.R7, taskOff, asm.R1, asm.DWord),
		)
	}
}

// store makes a new task's state, of the part that R7's task has, for the number
// on the stack. keep are fields that are taken over as well.
func (w *writer) store(keep ...int16) {
	for i := int16(0); i < taskSize; i += 8 {
		w.add(put(asm.RFP, stackNew+i, 0))
	}
	for _, field := range append([]int16{taskPart}, keep...) {
		w.add(asm.LoadMem(asm.R1, asm.R7, field, asm.DWord), asm.StoreMem(asm.RFP, stackNew+field, asm.R1, asm.DWord))
	}
	w.add(
		put(asm.RFP, stackNew+taskCall, noCall),
		asm.LoadMapPtr(asm.R1, w.tasks.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stackTask),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, stackNew),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.StoreImm(asm.RFP, stackZero, 0, asm.Word),
	)
	w.lookup(w.lost, stackZero, "exit")
	w.add(asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0))
}

// forked takes in the child of a task that is watched.
func forked(o offsets) func(*writer) {
	return func(w *writer) {
		w.argument(asm.R8, 0)
		w.add(asm.LoadMem(asm.R1, asm.R8, o.pid, asm.Word))
		w.find("exit")
		w.argument(asm.R8, 1)
		w.add(asm.LoadMem(asm.R1, asm.R8, o.pid, asm.Word), asm.StoreMem(asm.RFP, stackTask, asm.R1, asm.Word))
		w.store()
	}
}

// executed follows a thread that took over its leader's number by an exec.
func executed(o offsets) func(*writer) {
	return func(w *writer) {
		w.argument(asm.R8, 0)
		w.add(asm.LoadMem(asm.R8, asm.R8, o.pid, asm.Word))
		w.argument(asm.R1, 1)
		w.add(asm.LSh.Imm(asm.R1, 32), asm.RSh.Imm(asm.R1, 32), asm.JEq.Reg(asm.R1, asm.R8, "exit"))
		w.find("exit")
		w.add(asm.StoreMem(asm.RFP, stackTask, asm.R8, asm.Word))
		w.store(taskMinor, taskMajor)
	}
}

// exited adds up the faults that the task had, and forgets it.
func exited(o offsets) func(*writer) {
	return func(w *writer) {
		w.argument(asm.R9, 0)
		w.add(asm.LoadMem(asm.R1, asm.R9, o.pid, asm.Word))
		w.find("exit")
		for _, f := range []struct {
			at, before int16
			slot       int32
		}{{o.minor, taskMinor, slotMinor}, {o.major, taskMajor, slotMajor}} {
			w.add(
				asm.LoadMem(asm.R8, asm.R9, f.at, asm.DWord),
				asm.LoadMem(asm.R1, asm.R7, f.before, asm.DWord), asm.Sub.Reg(asm.R8, asm.R1),
			)
			w.countFor(f.slot, what{took: true}) // the number of them, in the place of the time
		}
		w.add(
			asm.LoadMapPtr(asm.R1, w.tasks.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stackTask),
			asm.FnMapDeleteElem.Call(),
		)
	}
}

// raised notes that a softirq began on this processor.
func raised(w *writer) {
	w.argument(asm.R8, 0)
	w.processor()
	w.add(asm.Add.Imm(asm.R8, 1), asm.StoreMem(asm.R9, cpuSoftirq, asm.R8, asm.DWord))
	w.now(asm.R8)
	w.add(asm.StoreMem(asm.R9, cpuSince, asm.R8, asm.DWord))
}

// served counts the softirq: for the machine, and for the task that it
// interrupted.
func served(w *writer) {
	w.processor()
	w.now(asm.R8)
	w.add(
		asm.LoadMem(asm.R1, asm.R9, cpuSoftirq, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "exit"), // it began before the watching
		asm.JGT.Imm(asm.R1, int32(len(softirqs)), "exit"),
		put(asm.R9, cpuSoftirq, 0),
		asm.LoadMem(asm.R2, asm.R9, cpuSince, asm.DWord), asm.Sub.Reg(asm.R8, asm.R2),
		asm.Mov.Reg(asm.R9, asm.R1), asm.Add.Imm(asm.R9, slotSoftirq-1),
		asm.Mov.Imm(asm.R1, hostPart), asm.Mov.Reg(asm.R2, asm.R9),
	)
	w.count(what{times: 1, took: true})
	w.current("exit")
	w.add(asm.LoadMem(asm.R1, asm.R7, taskPart, asm.DWord), asm.Mov.Reg(asm.R2, asm.R9))
	w.count(what{times: 1, took: true})
}

package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"tare/internal/evidence"
	"tare/internal/sample"
)

// programs is the counting by BPF.
type programs struct {
	maps
	depth   Depth
	family  *family
	closers []interface{ Close() error }
	sampler *sampler // where the time goes; nil where nobody asks
	began   time.Time
	before  []counter // of the whole machine, when it began
}

func startPrograms(depth Depth, footprints []sample.Footprint) (_ *programs, err error) {
	if err := sameNumbers(); err != nil {
		return nil, err
	}
	p := &programs{depth: depth}
	if p.family, err = familyOf(footprints); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.close()
			err = fmt.Errorf("BPF: %w", err)
		}
	}()
	// From 5.11 on the memory is charged to the cgroup, and needs no limit raised.
	_ = rlimit.RemoveMemlock()
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("the kernel's description of its types (/sys/kernel/btf/vmlinux): %w", err)
	}
	o, err := kernelOffsets(types)
	if err != nil {
		return nil, err
	}
	if err := p.makeMaps(); err != nil {
		return nil, err
	}
	// Nothing is counted before the tasks are listed, so that the order in which
	// the programs begin does not matter.
	for _, spec := range p.tracepoints(o) {
		if err := p.attach(spec); err != nil {
			return nil, err
		}
	}
	if err := p.enlist(); err != nil {
		return nil, err
	}
	if p.before, err = p.read(hostPart); err != nil {
		return nil, err
	}
	if depth == All {
		p.sampler = startSampler(&p.maps)
	}
	p.began = time.Now()
	return p, nil
}

func (p *programs) makeMaps() (err error) {
	for _, m := range []struct {
		to   **ebpf.Map
		spec ebpf.MapSpec
	}{
		{&p.tasks, ebpf.MapSpec{Name: "tare_tasks", Type: ebpf.Hash, KeySize: 4, ValueSize: taskSize, MaxEntries: mostTasks}},
		{&p.counters, ebpf.MapSpec{Name: "tare_counters", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: counterSize, MaxEntries: (mostParts + 1) * slots}},
		{&p.processors, ebpf.MapSpec{Name: "tare_cpus", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: cpuSize, MaxEntries: 1}},
		{&p.lost, ebpf.MapSpec{Name: "tare_lost", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
	} {
		if *m.to, err = ebpf.NewMap(&m.spec); err != nil {
			return fmt.Errorf("making the map %s: %w", m.spec.Name, err)
		}
		p.closers = append(p.closers, *m.to)
	}
	return nil
}

// tracepoints are the programs that every kernel with BPF can have.
func (p *programs) tracepoints(o offsets) []*ebpf.ProgramSpec {
	all := p.depth == All
	list := []*ebpf.ProgramSpec{
		p.program("tare_fork", "sched_process_fork", forked(o)),
		p.program("tare_exec", "sched_process_exec", executed(o)),
		p.program("tare_exit", "sched_process_exit", exited(o)),
		p.program("tare_enter", "sys_enter", enterCall(all)),
	}
	if all {
		list = append(list,
			p.program("tare_leave", "sys_exit", leaveCall),
			p.program("tare_switch", "sched_switch", switched(o)),
			p.program("tare_raised", "softirq_entry", raised),
			p.program("tare_served", "softirq_exit", served),
		)
	}
	return list
}

func (p *programs) attach(spec *ebpf.ProgramSpec) error {
	program, err := ebpf.NewProgram(spec)
	if err != nil {
		return fmt.Errorf("loading %s for %s: %w", spec.Name, spec.AttachTo, err)
	}
	p.closers = append(p.closers, program)
	l, err := link.AttachTracing(link.TracingOptions{Program: program, AttachType: spec.AttachType})
	if err != nil {
		return fmt.Errorf("attaching %s to %s: %w", spec.Name, spec.AttachTo, err)
	}
	p.closers = append(p.closers, l)
	return nil
}

// enlist puts the tasks that live into the map. What they start from then on
// the kernel adds; what they started meanwhile the next look finds.
func (p *programs) enlist() error {
	known := map[int]bool{}
	for fresh := true; fresh; {
		fresh = false
		for tid, part := range p.family.look() {
			if known[tid] {
				continue
			}
			known[tid] = true
			minor, major, err := faults(tid)
			if err != nil {
				continue // it has ended
			}
			state := task{Part: uint64(part), Call: ^uint64(0), Minor: minor, Major: major}
			err = p.tasks.Update(uint32(tid), &state, ebpf.UpdateNoExist)
			if errors.Is(err, ebpf.ErrKeyExist) {
				continue // the kernel was faster
			}
			if err != nil {
				return fmt.Errorf("listing task %d: %w", tid, err)
			}
			fresh = true
			// One that ended just now would leave its number to somebody else.
			if _, _, err := faults(tid); err != nil {
				_ = p.tasks.Delete(uint32(tid)) // the kernel may have been faster
			}
		}
	}
	if len(known) == 0 {
		return errors.New("no process of the instance was there when the counting began")
	}
	return nil
}

// read is what the counters of a part are at now.
func (p *programs) read(part int) ([]counter, error) {
	sums := make([]counter, slots)
	var each []counter
	for slot := range sums {
		if err := p.counters.Lookup(uint32(part*slots+slot), &each); err != nil {
			return nil, fmt.Errorf("reading counter %d: %w", slot, err)
		}
		for _, c := range each {
			sums[slot] = sums[slot].plus(c)
		}
	}
	return sums, nil
}

func (p *programs) stop() evidence.Evidence {
	defer p.close()
	seconds := time.Since(p.began).Seconds()
	if p.sampler != nil {
		p.sampler.halt()
	}
	host, err := p.read(hostPart)
	if err != nil {
		return Without("BPF: " + err.Error())
	}
	for slot := range host {
		host[slot] = host[slot].minus(p.before[slot])
	}
	living := p.living()
	tallies := map[string][]counter{}
	for number, name := range p.family.parts {
		c, err := p.read(number)
		if err != nil {
			return Without("BPF: " + err.Error())
		}
		for slot, more := range living[uint64(number)] {
			c[slot] = c[slot].plus(more)
		}
		tallies[name] = c
	}
	e := p.evidence(tallies, host)
	if p.sampler != nil {
		p.sampler.addTo(&e, p.family.parts)
	}
	e.Seconds = seconds
	var lost uint64
	if p.lost.Lookup(uint32(0), &lost) == nil && lost > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%d tasks were not counted: more than %d lived at once", lost, mostTasks))
	}
	return e
}

// living are the faults of the tasks that have not ended, by part and slot.
func (p *programs) living() map[uint64]map[int]counter {
	sums := map[uint64]map[int]counter{}
	if p.depth != All {
		return sums
	}
	var tid uint32
	var state task
	for entries := p.tasks.Iterate(); entries.Next(&tid, &state); {
		minor, major, err := faults(int(tid))
		if err != nil {
			continue // it ended just now
		}
		if sums[state.Part] == nil {
			sums[state.Part] = map[int]counter{}
		}
		of := sums[state.Part]
		of[slotMinor] = of[slotMinor].plus(counter{Nanoseconds: minor - min(minor, state.Minor)})
		of[slotMajor] = of[slotMajor].plus(counter{Nanoseconds: major - min(major, state.Major)})
	}
	return sums
}

func (p *programs) close() {
	closeAll(p.closers)
	p.closers = nil
	if p.sampler != nil {
		p.sampler.close()
	}
}

// closeAll gives back the last first. Each takes the kernel a while, as it waits
// until nobody runs the program, so they go at the same time as far as they may.
func closeAll(list []interface{ Close() error }) {
	var all sync.WaitGroup
	for _, c := range slices.Backward(list) {
		if _, isLink := c.(link.Link); isLink {
			all.Go(func() { c.Close() })
		}
	}
	all.Wait()
	for _, c := range slices.Backward(list) {
		if _, isLink := c.(link.Link); !isLink {
			c.Close()
		}
	}
}

// evidence names the counters.
func (p *programs) evidence(tallies map[string][]counter, host []counter) evidence.Evidence {
	total := make([]counter, slots)
	for _, c := range tallies {
		for slot := range total {
			total[slot] = total[slot].plus(c[slot])
		}
	}
	sum := p.tally(total)
	e := evidence.Evidence{Counts: sum.Counts, Times: sum.Times}
	if len(tallies) > 1 {
		e.Parts = map[string]evidence.Tally{}
		for name, c := range tallies {
			e.Parts[name] = p.tally(c)
		}
	}
	if p.depth == All {
		whole := p.tally(host)
		for name := range whole.Counts {
			if strings.HasPrefix(name, evidence.Softirq) {
				e.Counts[evidence.Host+name], e.Times[evidence.Host+name] = whole.Counts[name], whole.Times[name]
			}
		}
	}
	return e
}

func (p *programs) tally(c []counter) evidence.Tally {
	t := evidence.Tally{Counts: map[string]sample.Figure{}}
	if p.depth == All {
		t.Times = map[string]sample.Figure{}
	}
	note := func(name string, c counter) {
		t.Counts[name] = sample.Known(float64(c.Count))
		if t.Times != nil {
			t.Times[name] = sample.Known(float64(c.Nanoseconds) / 1e9)
		}
	}
	var calls counter
	for number, one := range c[slotSyscall : slotSyscall+mostSyscalls] {
		if one == (counter{}) {
			continue
		}
		calls = calls.plus(one)
		name := syscallName(number)
		note(evidence.Syscall+name, one)
		if p.depth == All && one.Waited > 0 {
			t.Times[evidence.Wait+name] = sample.Known(float64(one.Waited) / 1e9)
		}
	}
	note(evidence.Syscalls, calls)
	if p.depth != All {
		return t
	}
	for name, slot := range map[string]int{evidence.Voluntary: slotVoluntary, evidence.Involuntary: slotInvoluntary} {
		t.Counts[name] = sample.Known(float64(c[slot].Count))
	}
	for name, slot := range map[string]int{evidence.MinorFaults: slotMinor, evidence.MajorFaults: slotMajor} {
		t.Counts[name] = sample.Known(float64(c[slot].Nanoseconds))
	}
	for i, name := range softirqs {
		if one := c[slotSoftirq+i]; one.Count > 0 {
			note(evidence.Softirq+name, one)
		}
	}
	return t
}

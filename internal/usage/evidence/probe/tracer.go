package probe

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf"

	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// tracer counts with BPF programs.
type tracer struct {
	depth   Depth
	tasks   *taskFinder
	objects objects
	closers []io.Closer
	sampler *sampler // nil unless the depth is All
	began   time.Time
	before  []counter // of the whole host at the start
}

func startTracer(depth Depth, footprints []usage.Footprint) (_ *tracer, err error) {
	if err := checkPIDNamespace(); err != nil {
		return nil, err
	}
	t := &tracer{depth: depth}
	if t.tasks, err = newTaskFinder(footprints); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.close()
			err = fmt.Errorf("BPF: %w", err)
		}
	}()
	if err := t.load(); err != nil {
		return nil, err
	}
	if err := t.addTasks(); err != nil {
		return nil, err
	}
	if t.before, err = t.read(hostPart); err != nil {
		return nil, err
	}
	if depth == All {
		t.sampler = startSampler(t.objects.Tasks)
	}
	t.began = time.Now()
	return t, nil
}

// addTasks puts the existing tasks into the map. From then on the programs add
// the tasks that they start. Tasks that were started in between are found by
// listing again until nothing new turns up.
func (t *tracer) addTasks() error {
	known := map[int]bool{}
	for more := true; more; {
		more = false
		for tid, part := range t.tasks.list() {
			if known[tid] {
				continue
			}
			known[tid] = true
			added, err := t.addTask(tid, part)
			if err != nil {
				return err
			}
			more = more || added
		}
	}
	if len(known) == 0 {
		return errors.New("the instance had no process when the counting began")
	}
	return nil
}

// addTask puts one task into the map, unless it has exited or a program was
// faster.
func (t *tracer) addTask(tid, part int) (added bool, _ error) {
	minor, major, err := faults(tid)
	if err != nil {
		return false, nil
	}
	state := task{Part: uint64(part), Call: noCall, Minor: minor, Major: major}
	err = t.objects.Tasks.Update(uint32(tid), &state, ebpf.UpdateNoExist)
	if errors.Is(err, ebpf.ErrKeyExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("adding task %d to the map: %w", tid, err)
	}
	// If it exited in between, its thread ID may be given to another task.
	if _, _, err := faults(tid); err != nil {
		_ = t.objects.Tasks.Delete(uint32(tid)) // a program may have been faster
	}
	return true, nil
}

// read returns the counters of a part, summed over the processors.
func (t *tracer) read(part int) ([]counter, error) {
	sums := make([]counter, slots)
	var perCPU []counter
	for slot := range sums {
		if err := t.objects.Counters.Lookup(uint32(part*slots+slot), &perCPU); err != nil {
			return nil, fmt.Errorf("reading counter %d: %w", slot, err)
		}
		for _, c := range perCPU {
			sums[slot] = sums[slot].plus(c)
		}
	}
	return sums, nil
}

func (t *tracer) stop() evidence.Evidence {
	defer t.close()
	seconds := time.Since(t.began).Seconds()
	if t.sampler != nil {
		t.sampler.disable()
	}
	host, err := t.read(hostPart)
	if err != nil {
		return Without("BPF: " + err.Error())
	}
	for slot := range host {
		host[slot] = host[slot].minus(t.before[slot])
	}
	living := t.living()
	parts := map[string][]counter{}
	for number, name := range t.tasks.parts {
		c, err := t.read(number)
		if err != nil {
			return Without("BPF: " + err.Error())
		}
		for slot, more := range living[uint64(number)] {
			c[slot] = c[slot].plus(more)
		}
		parts[name] = c
	}
	e := newEvidence(t.depth, parts, host)
	if t.sampler != nil {
		t.sampler.addTo(&e, t.tasks.parts)
	}
	e.Seconds = seconds
	var lost uint64
	if t.objects.Lost.Lookup(uint32(0), &lost) == nil && lost > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%d tasks were not counted: more than %d existed at the same time", lost, maxTasks))
	}
	return e
}

// living returns the page faults of tasks that have not exited, by part and
// slot. The programs add those of a task when it exits.
func (t *tracer) living() map[uint64]map[int]counter {
	sums := map[uint64]map[int]counter{}
	if t.depth != All {
		return sums
	}
	var tid uint32
	var state task
	for entries := t.objects.Tasks.Iterate(); entries.Next(&tid, &state); {
		minor, major, err := faults(int(tid))
		if err != nil {
			continue // it has just exited
		}
		if sums[state.Part] == nil {
			sums[state.Part] = map[int]counter{}
		}
		part := sums[state.Part]
		part[slotMinor] = part[slotMinor].plus(counter{Count: minor - min(minor, state.Minor)})
		part[slotMajor] = part[slotMajor].plus(counter{Count: major - min(major, state.Major)})
	}
	return sums
}

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// perfCounters counts with perf events, where BPF is not permitted. Each task gets
// an event of each kind, which its children inherit. Perf events give neither
// names of system calls nor times.
type perfCounters struct {
	depth    Depth
	counters []perfCounter
	began    time.Time
	notes    []string
}

type perfCounter struct {
	name    string
	missing string // why it counts nothing
	events  []int
}

func startPerfCounters(depth Depth, footprints []usage.Footprint, why error) (_ *perfCounters, err error) {
	finder, err := newTaskFinder(footprints)
	if err != nil {
		return nil, err
	}
	p := &perfCounters{depth: depth, notes: []string{fmt.Sprintf("counted with perf events, which give neither names of system calls nor times: %v", why)}}
	type kind struct {
		name string
		attr unix.PerfEventAttr
		err  error
	}
	id, err := tracepointID("raw_syscalls/sys_enter")
	kinds := []kind{{evidence.Syscalls, unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}, err}}
	if depth == All {
		for name, number := range map[string]uint64{
			evidence.Switches: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, evidence.MinorFaults: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, evidence.MajorFaults: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		} {
			kinds = append(kinds, kind{name: name, attr: unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: number}})
		}
	}
	tasks := finder.list()
	any := false
	for _, kind := range kinds {
		c := perfCounter{name: kind.name}
		if kind.err == nil {
			c.events, kind.err = openEvents(kind.attr, tasks)
		}
		if kind.err != nil {
			c.missing = kind.err.Error()
		}
		any = any || len(c.events) > 0
		p.counters = append(p.counters, c)
	}
	if !any {
		return nil, fmt.Errorf("perf events: %s", p.counters[0].missing)
	}
	p.began = time.Now()
	return p, nil
}

func openEvents(attr unix.PerfEventAttr, tasks map[int]int) (events []int, err error) {
	attr.Size = unix.PERF_ATTR_SIZE_VER5
	attr.Bits = unix.PerfBitInherit
	for tid := range tasks {
		event, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ESRCH) {
			continue // it has exited
		}
		if err != nil {
			for _, e := range events {
				unix.Close(e)
			}
			return nil, fmt.Errorf("perf_event_open on task %d: %w: see /proc/sys/kernel/perf_event_paranoid", tid, err)
		}
		events = append(events, event)
	}
	return events, nil
}

func (p *perfCounters) stop() evidence.Evidence {
	e := Without("BPF is not permitted here, and perf events do not count it")
	if p.depth == Syscalls {
		clear(e.Counts)
	}
	e.Seconds, e.Notes = time.Since(p.began).Seconds(), p.notes
	for _, c := range p.counters {
		var sum uint64
		for _, event := range c.events {
			var value [8]byte
			if _, err := unix.Read(event, value[:]); err != nil && c.missing == "" {
				c.missing = fmt.Sprintf("reading a perf event: %v", err)
			}
			sum += binary.NativeEndian.Uint64(value[:])
			unix.Close(event)
		}
		if e.Counts[c.name] = usage.Known(float64(sum)); c.missing != "" {
			e.Counts[c.name] = usage.Absent("%s", c.missing)
		}
	}
	return e
}

// tracepointID returns the ID of a tracepoint. If tracefs is not mounted, it reads
// the ID through a detached mount.
func tracepointID(name string) (uint64, error) {
	path := "events/" + name + "/id"
	text, err := os.ReadFile("/sys/kernel/tracing/" + path)
	if err != nil {
		text, err = readDetached("tracefs", path)
	}
	if err != nil {
		return 0, fmt.Errorf("finding the tracepoint %s: %w", name, err)
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// readDetached reads a file of a file system without mounting it in the tree.
func readDetached(kind, path string) ([]byte, error) {
	system, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("fsopen %s: %w", kind, err)
	}
	defer unix.Close(system)
	if err := unix.FsconfigCreate(system); err != nil {
		return nil, fmt.Errorf("creating %s: %w", kind, err)
	}
	root, err := unix.Fsmount(system, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("fsmount %s: %w", kind, err)
	}
	defer unix.Close(root)
	file, err := unix.Openat(root, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s of %s: %w", path, kind, err)
	}
	f := os.NewFile(uintptr(file), path)
	defer f.Close()
	text := make([]byte, 4096)
	n, err := f.Read(text)
	return text[:n], err
}

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

	"tare/internal/evidence"
	"tare/internal/sample"
)

// performance is the counting by the kernel's performance counters, where BPF is
// refused: each task that is there has one of each kind, which its children
// inherit. They know no names of system calls, and no times.
type performance struct {
	depth    Depth
	counters []performanceCounter
	began    time.Time
	notes    []string
}

type performanceCounter struct {
	name    string
	missing string // why it counts nothing
	files   []int
}

func startCounters(depth Depth, footprints []sample.Footprint, why error) (_ *performance, err error) {
	f, err := familyOf(footprints)
	if err != nil {
		return nil, err
	}
	p := &performance{depth: depth, notes: []string{fmt.Sprintf("counted by performance counters, which know no names and no times: %v", why)}}
	kinds := []struct {
		name string
		of   unix.PerfEventAttr
		err  error
	}{{name: evidence.Syscalls, of: unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT}}}
	kinds[0].of.Config, kinds[0].err = tracepoint("raw_syscalls/sys_enter")
	if depth == All {
		for name, number := range map[string]uint64{
			evidence.Switches: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, evidence.MinorFaults: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, evidence.MajorFaults: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		} {
			kinds = append(kinds, struct {
				name string
				of   unix.PerfEventAttr
				err  error
			}{name: name, of: unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: number}})
		}
	}
	tasks := f.look()
	any := false
	for _, kind := range kinds {
		c := performanceCounter{name: kind.name}
		if kind.err == nil {
			c.files, kind.err = countAll(kind.of, tasks)
		}
		if kind.err != nil {
			c.missing = kind.err.Error()
		}
		any = any || len(c.files) > 0
		p.counters = append(p.counters, c)
	}
	if !any {
		return nil, fmt.Errorf("performance counters: %s", p.counters[0].missing)
	}
	p.began = time.Now()
	return p, nil
}

// countAll begins to count in every task.
func countAll(of unix.PerfEventAttr, tasks map[int]int) (files []int, err error) {
	of.Size = unix.PERF_ATTR_SIZE_VER5
	of.Bits = unix.PerfBitInherit
	for tid := range tasks {
		file, err := unix.PerfEventOpen(&of, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			for _, f := range files {
				unix.Close(f)
			}
			return nil, fmt.Errorf("perf_event_open on task %d: %w: see /proc/sys/kernel/perf_event_paranoid", tid, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func (p *performance) stop() evidence.Evidence {
	e := Without("BPF is refused here, and performance counters do not have it")
	if p.depth == Syscalls {
		clear(e.Counts)
	}
	e.Seconds, e.Notes = time.Since(p.began).Seconds(), p.notes
	for _, c := range p.counters {
		var sum uint64
		for _, file := range c.files {
			var value [8]byte
			if _, err := unix.Read(file, value[:]); err != nil && c.missing == "" {
				c.missing = fmt.Sprintf("reading a performance counter: %v", err)
			}
			sum += binary.NativeEndian.Uint64(value[:])
			unix.Close(file)
		}
		if e.Counts[c.name] = sample.Known(float64(sum)); c.missing != "" {
			e.Counts[c.name] = sample.Absent("%s", c.missing)
		}
	}
	return e
}

// tracepoint is the number of one. Where the file system that says so is not
// mounted it is opened without being mounted anywhere.
func tracepoint(name string) (uint64, error) {
	path := "events/" + name + "/id"
	text, err := os.ReadFile("/sys/kernel/tracing/" + path)
	if err != nil {
		text, err = unmounted("tracefs", path)
	}
	if err != nil {
		return 0, fmt.Errorf("finding the tracepoint %s: %w", name, err)
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// unmounted reads a file of a file system that only this call sees.
func unmounted(kind, path string) ([]byte, error) {
	system, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", kind, err)
	}
	defer unix.Close(system)
	if err := unix.FsconfigCreate(system); err != nil {
		return nil, fmt.Errorf("making %s: %w", kind, err)
	}
	root, err := unix.Fsmount(system, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the root of %s: %w", kind, err)
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

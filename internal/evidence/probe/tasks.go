package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/evidence"
	"tare/internal/linux/cgroup"
	"tare/internal/sample"
)

// family is who belongs to the footprints, as far as it is known.
type family struct {
	groups    []*cgroup.Group
	processes []sample.Process
	// parts of the environment by their number; the first is inside.
	parts []string
}

func familyOf(footprints []sample.Footprint) (*family, error) {
	f := &family{parts: []string{evidence.Inside}}
	tree, err := cgroup.Host()
	for _, p := range footprints {
		for _, path := range p.Cgroups {
			if err != nil {
				return nil, fmt.Errorf("finding the processes of cgroup %s: %w", path, err)
			}
			f.groups = append(f.groups, tree.At(path))
		}
		f.processes = append(f.processes, p.Processes...)
	}
	if len(f.groups)+len(f.processes) == 0 {
		return nil, errors.New("the environment names neither a cgroup nor a process of the instance")
	}
	return f, nil
}

// part is the number of a role; the last number is for all that come later.
func (f *family) part(role string) int {
	for i, name := range f.parts {
		if name == role {
			return i
		}
	}
	if len(f.parts) == mostParts {
		return mostParts - 1
	}
	f.parts = append(f.parts, role)
	return len(f.parts) - 1
}

// look lists the tasks as they are now, with their parts: those in the groups
// are inside, whoever started them.
func (f *family) look() map[int]int {
	tasks := map[int]int{}
	inside := map[int]bool{}
	for _, g := range f.groups {
		pids, _ := g.PIDs()
		for _, pid := range pids {
			inside[pid] = true
			for _, tid := range threads(pid) {
				tasks[tid] = 0
			}
		}
	}
	for _, p := range f.processes {
		part := f.part(p.Role)
		for queue := []int{p.PID}; len(queue) > 0; queue = queue[1:] {
			if inside[queue[0]] {
				continue // its children are there as well
			}
			for _, tid := range threads(queue[0]) {
				if _, twice := tasks[tid]; twice {
					continue
				}
				tasks[tid] = part
				queue = append(queue, children(queue[0], tid)...)
			}
		}
	}
	return tasks
}

func threads(pid int) (list []int) {
	entries, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, tid)
		}
	}
	return list
}

func children(pid, tid int) (list []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid))
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			list = append(list, child)
		}
	}
	return list
}

// faults of one task since it began.
func faults(tid int) (minor, major uint64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", tid, tid))
	if err != nil {
		return 0, 0, err
	}
	// The name, in brackets, may hold anything.
	_, rest, _ := strings.Cut(string(text), ")")
	if i := strings.LastIndex(string(text), ")"); i >= 0 {
		rest = string(text)[i+1:]
	}
	fields := strings.Fields(rest) // from the third on: the state
	if len(fields) < 10 {
		return 0, 0, fmt.Errorf("/proc/%d/stat has no faults: %q", tid, text)
	}
	minor, err = strconv.ParseUint(fields[7], 10, 64)
	if err == nil {
		major, err = strconv.ParseUint(fields[9], 10, 64)
	}
	return minor, major, err
}

// sameNumbers says whether the numbers that this process sees are the kernel's
// own.
func sameNumbers() error {
	const first = "pid:[4026531836]" // of the first namespace, on every kernel
	space, err := os.Readlink("/proc/self/ns/pid")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the kernel has no such namespaces
	case err != nil:
		return fmt.Errorf("finding out the PID namespace: %w", err)
	case space != first:
		return fmt.Errorf("tare runs in a PID namespace (%s), where the kernel's numbers of processes are not known: run it outside of containers", space)
	}
	return nil
}

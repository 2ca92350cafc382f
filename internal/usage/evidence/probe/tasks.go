package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/linux/cgroup"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// taskFinder finds the tasks of the footprints.
type taskFinder struct {
	groups    []*cgroup.Group
	processes []usage.Process
	// parts of the environment by number; the first is that of the groups.
	parts []string
}

func newTaskFinder(footprints []usage.Footprint) (*taskFinder, error) {
	f := &taskFinder{parts: []string{evidence.Inside}}
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
		return nil, errors.New("the environment reports neither a cgroup nor a process of the instance")
	}
	return f, nil
}

// part returns the number of a role. Roles beyond the limit share the last one.
func (f *taskFinder) part(role string) int {
	for i, name := range f.parts {
		if name == role {
			return i
		}
	}
	if len(f.parts) == maxParts {
		return maxParts - 1
	}
	f.parts = append(f.parts, role)
	return len(f.parts) - 1
}

// list returns the existing tasks with their parts. Those in the groups belong to
// the first part, whichever process started them.
func (f *taskFinder) list() map[int]int {
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
				continue // the group has its children as well
			}
			for _, tid := range threads(queue[0]) {
				if _, known := tasks[tid]; known {
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

// faults returns the page faults of a task since its start.
func faults(tid int) (minor, major uint64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", tid, tid))
	if err != nil {
		return 0, 0, err
	}
	// The name, in parentheses, may contain any character.
	_, rest, _ := strings.Cut(string(text), ")")
	if i := strings.LastIndex(string(text), ")"); i >= 0 {
		rest = string(text)[i+1:]
	}
	fields := strings.Fields(rest) // from the third on, the state
	if len(fields) < 10 {
		return 0, 0, fmt.Errorf("parsing /proc/%d/task/%d/stat: too few fields: %q", tid, tid, text)
	}
	minor, err = strconv.ParseUint(fields[7], 10, 64)
	if err == nil {
		major, err = strconv.ParseUint(fields[9], 10, 64)
	}
	return minor, major, err
}

// checkPIDNamespace checks that this process is in the initial PID namespace. In
// another one it sees other thread IDs than BPF programs do.
func checkPIDNamespace() error {
	const initial = "pid:[4026531836]" // the same on every kernel
	namespace, err := os.Readlink("/proc/self/ns/pid")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the kernel has no PID namespaces
	case err != nil:
		return fmt.Errorf("reading the PID namespace: %w", err)
	case namespace != initial:
		return fmt.Errorf("tare runs in a PID namespace (%s), in which the thread IDs differ from those that BPF programs see: run it outside of containers", namespace)
	}
	return nil
}

// Package cgroup creates control groups, sets limits and reads the effective ones
// back, lists, freezes and kills their processes, and reads their usage. It supports
// v1, v2 and hybrid hierarchies through their files. A Tree has the mount points,
// so the same code works on a recorded hierarchy in a directory, and on the one
// that a process in a container or a guest sees.
//
// It must not know environments, owners or trials: its input is paths.
//
// A path such as "/tare/x/y" is below the mount point of every controller. On v2
// the controllers are enabled in the parent groups. This needs root; at the root
// of the hierarchy it is safe, since systemd manages only its own groups. An
// ordinary user, or root in a container, has only a subtree: see Top and vacate.
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"tare/internal/base/quantity"
)

// Limits of a group. The zero value of each is "none", but swap is always off.
type Limits struct {
	CPUs   float64        // quota, in cores
	Memory quantity.Bytes // of all processes together, with the page cache
	PIDs   int
	Cores  []int // the cores that the processes may run on
	IO     Throttle
}

// Throttle limits the I/O of one block device per second. The zero
// value of each is "none".
type Throttle struct {
	Device            string // MAJOR:MINOR of a whole disk, as fsinfo.DiskBelow finds it
	Read, Write       quantity.Bytes
	ReadOps, WriteOps int
}

// None reports whether nothing is throttled.
func (t Throttle) None() bool {
	return t.Read == 0 && t.Write == 0 && t.ReadOps == 0 && t.WriteOps == 0
}

// Tree has the mounted hierarchies of a machine.
type Tree struct {
	unified string            // mount point of the v2 hierarchy, "" if there is none
	v1      map[string]string // controller → mount point
	rest    map[string]string // the same of v1 controllers that are not wanted
	roots   map[string]string // mount point → which group of the hierarchy it shows
	proc    string            // where /proc is
	read    func(file string) ([]byte, error)
}

// The controllers in which groups are created. Others (devices, hugetlb) have no
// limit or counter that is used here, and every v1 hierarchy that a process joins
// makes its start slower. v1's freezer is joined at the first freeze, see Freezer. Container engines create groups in all
// of them, so groups are removed from all.
var wanted = []string{"cpu", "cpuacct", "cpuset", "memory", "pids"}

// throttling is v1's block I/O controller. A group is created in it only for a
// limit.
const throttling = "blkio"

// The v1 controllers from which groups are only removed.
var known = []string{throttling, "devices", "freezer", "hugetlb", "misc", "net_cls", "net_prio", "perf_event", "rdma"}

var host = sync.OnceValues(func() (*Tree, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading which cgroup hierarchies are mounted: %w", err)
	}
	defer f.Close()
	return treeFrom(f)
})

// Host returns the tree of this machine. It is read once.
func Host() (*Tree, error) { return host() }

// Through returns the tree that a process in a container or a guest sees, whose
// files the function reads. It is read-only.
func Through(read func(file string) ([]byte, error)) (*Tree, error) {
	table, err := read("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading which cgroup hierarchies are mounted: %w", err)
	}
	t, err := treeFrom(bytes.NewReader(table))
	if err != nil {
		return nil, err
	}
	t.read = read
	return t, nil
}

func treeFrom(table io.Reader) (*Tree, error) {
	mounts, err := mountinfo.GetMountsFromReader(table, mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, fmt.Errorf("reading which cgroup hierarchies are mounted from /proc/self/mountinfo: %w", err)
	}
	return treeOf(mounts)
}

func treeOf(mounts []*mountinfo.Info) (*Tree, error) {
	t := &Tree{v1: map[string]string{}, rest: map[string]string{}, roots: map[string]string{}, proc: "/proc", read: os.ReadFile}
	for _, m := range mounts {
		switch m.FSType {
		case "cgroup2":
			if t.unified == "" {
				t.unified, t.roots[m.Mountpoint] = m.Mountpoint, m.Root
			}
		case "cgroup":
			for _, controller := range strings.Split(m.VFSOptions, ",") {
				switch {
				case slices.Contains(wanted, controller) && t.v1[controller] == "":
					t.v1[controller], t.roots[m.Mountpoint] = m.Mountpoint, m.Root
				case (slices.Contains(known, controller) || strings.HasPrefix(controller, "name=")) && t.rest[controller] == "":
					t.rest[controller], t.roots[m.Mountpoint] = m.Mountpoint, m.Root
				}
			}
		}
	}
	if t.unified == "" && len(t.v1) == 0 {
		return nil, errors.New("no cgroup hierarchy is mounted")
	}
	return t, nil
}

// V2 returns a tree over a directory with the layout of a v2 hierarchy; proc is a
// directory with the layout of /proc.
func V2(directory, proc string) *Tree {
	return &Tree{unified: directory, roots: map[string]string{directory: "/"}, proc: proc, read: os.ReadFile}
}

// Mode returns v1, v2 or hybrid (v1 controllers and a v2 hierarchy).
func (t *Tree) Mode() string {
	switch {
	case len(t.v1) == 0:
		return "v2"
	case t.unified == "":
		return "v1"
	}
	return "hybrid"
}

// Controllers lists which of cpu, cpuacct, cpuset, memory, pids and io (v1's
// blkio) are available. On v2 CPU time needs no controller, so cpuacct always is.
func (t *Tree) Controllers() []string {
	there := []string{}
	for c := range t.v1 {
		there = append(there, c)
	}
	if t.rest[throttling] != "" {
		there = append(there, "io")
	}
	if t.unified != "" {
		listed := strings.Fields(text(t.read(filepath.Join(t.unified, "cgroup.controllers"))))
		if len(t.v1) == 0 {
			listed = append(listed, "cpuacct")
		}
		for _, c := range listed {
			if (slices.Contains(wanted, c) || c == "io") && !slices.Contains(there, c) {
				there = append(there, c)
			}
		}
	}
	sort.Strings(there)
	return there
}

// At returns the group at a path, whether it exists or not.
func (t *Tree) At(path string) *Group {
	g := &Group{tree: t, path: clean(path), dirs: map[string]string{}}
	if len(t.v1) > 0 && t.delegated(g.path) {
		g.dirs[""] = filepath.Join(t.unified, g.path)
		return g
	}
	for _, mounts := range []map[string]string{t.v1, t.rest} {
		for controller, mount := range mounts {
			g.dirs[controller] = filepath.Join(mount, g.path)
		}
	}
	if t.unified != "" {
		g.dirs[""] = filepath.Join(t.unified, g.path)
	}
	return g
}

// Of returns the group of a process, which may differ by controller.
func (t *Tree) Of(pid int) (*Group, error) { return t.of(fmt.Sprint(pid)) }

// Own returns the group of the process that sees the tree.
func (t *Tree) Own() (*Group, error) { return t.of("self") }

func (t *Tree) of(pid string) (*Group, error) {
	file := filepath.Join(t.proc, pid, "cgroup")
	data, err := t.read(file)
	if err != nil {
		return nil, fmt.Errorf("looking up the cgroup of process %s: %w", pid, err)
	}
	g := &Group{tree: t, dirs: map[string]string{}}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			mount, ok := t.v1[controller]
			if !ok {
				mount, ok = t.rest[controller]
			}
			if controller == "" {
				mount, ok = t.unified, t.unified != ""
			}
			if !ok {
				continue
			}
			// The mount may expose only a subtree, as in a container.
			path := clean(strings.TrimPrefix(parts[2], strings.TrimSuffix(t.roots[mount], "/")))
			if strings.HasPrefix(parts[2], "/../") {
				continue // a group outside the cgroup namespace
			}
			g.dirs[controller] = filepath.Join(mount, path)
			if len(path) > len(g.path) {
				g.path = path
			}
		}
	}
	if len(g.dirs) == 0 {
		return nil, fmt.Errorf("process %s is in no mounted cgroup hierarchy; %s says %q", pid, file, data)
	}
	return g, nil
}

// Mode returns the mode of this machine: v1, v2 or hybrid, or "" if no hierarchy is
// mounted.
func Mode() string {
	t, err := Host()
	if err != nil {
		return ""
	}
	return t.Mode()
}

// Create creates a group on this machine and sets its limits.
func Create(path string, l Limits) (*Group, error) {
	t, err := Host()
	if err != nil {
		return nil, err
	}
	return t.Create(path, l)
}

// At returns the group at a path on this machine, whether it exists or not.
func At(path string) (*Group, error) {
	t, err := Host()
	if err != nil {
		return nil, err
	}
	return t.At(path), nil
}

// Of returns the group of a process on this machine.
func Of(pid int) (*Group, error) {
	t, err := Host()
	if err != nil {
		return nil, err
	}
	return t.Of(pid)
}

func clean(path string) string { return filepath.Clean("/" + path) }

func readString(file string) string { return text(os.ReadFile(file)) }

// text returns the contents of a file, "" if it cannot be read.
func text(data []byte, err error) string {
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Writable returns nil if groups can be created here, or why not.
func (t *Tree) Writable() error {
	for _, dir := range t.At(t.Top()).directories() {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return fmt.Errorf("making cgroups in %s: %w", dir, err)
		}
	}
	return nil
}

// Package cgroup makes control groups, puts limits on them and reads back what
// took hold, lists and kills what runs in them, and reads what they used. It
// speaks v1, v2 and the hybrid of both, by plain files: a Tree stands over
// mount points, so the same code runs over a recorded hierarchy in a folder,
// and over one that is read through somebody else's eyes.
//
// It must not know environments, owners or trials: it is handed paths.
//
// A path such as "/tare/x/y" is below the mount point of every controller. On
// v2 the groups above it get their controllers switched on; that needs root
// and, at the root of the hierarchy, nobody's leave: systemd minds only the
// groups that it made itself. Who is not root, or is root of a container, has
// only a subtree: see Top and vacate.
package cgroup

import (
	"bytes"
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

	"tare/internal/quantity"
)

// Limits of a group. The zero value of each is "none", but swap is always off.
type Limits struct {
	CPUs   float64        // quota, in cores
	Memory quantity.Bytes // of all processes together, with the page cache
	PIDs   int
	Cores  []int // the cores that the processes may run on
	IO     Throttle
}

// Throttle is what may go to and from one block device in a second. The zero
// value of each is "none".
type Throttle struct {
	Device            string // MAJOR:MINOR of a whole disk, as DiskBelow finds it
	Read, Write       quantity.Bytes
	ReadOps, WriteOps int
}

// None says that nothing is throttled.
func (t Throttle) None() bool {
	return t.Read == 0 && t.Write == 0 && t.ReadOps == 0 && t.WriteOps == 0
}

// Tree is the mounted hierarchies of a machine.
type Tree struct {
	unified string            // mount point of the v2 hierarchy, "" if there is none
	v1      map[string]string // controller → mount point
	rest    map[string]string // the same of v1 controllers that are not wanted
	roots   map[string]string // mount point → which group of the hierarchy it shows
	proc    string            // where /proc is
	read    func(file string) ([]byte, error)
}

// The controllers that a group of ours is made in. Others (devices, freezer,
// hugetlb) neither limit nor count anything that is asked here, and every
// hierarchy that a process joins costs it time at its start. Container engines
// make their groups in all of them, so removing looks there too.
var wanted = []string{"cpu", "cpuacct", "cpuset", "memory", "pids"}

// throttling is v1's controller of disks, in which a group is made only where
// a limit asks for it.
const throttling = "blkio"

// The controllers that only v1's removing looks at.
var known = []string{throttling, "devices", "freezer", "hugetlb", "misc", "net_cls", "net_prio", "perf_event", "rdma"}

var host = sync.OnceValues(func() (*Tree, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading which cgroup hierarchies are mounted: %w", err)
	}
	defer f.Close()
	return treeFrom(f)
})

// Host is the tree of this machine, looked up once.
func Host() (*Tree, error) { return host() }

// Through is the tree that somebody else sees whose files can be read: a
// process in a container or in a guest. It can be read only.
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
		return nil, fmt.Errorf("no cgroup hierarchy is mounted: mount one with `mount -t cgroup2 none /sys/fs/cgroup`")
	}
	return t, nil
}

// V2 is a tree over a folder that looks like a v2 hierarchy; proc is a folder
// that looks like /proc.
func V2(folder, proc string) *Tree {
	return &Tree{unified: folder, roots: map[string]string{folder: "/"}, proc: proc, read: os.ReadFile}
}

// V1 is a tree over folders that look like v1 hierarchies, by controller.
func V1(folders map[string]string, proc string) *Tree {
	t := &Tree{v1: map[string]string{}, rest: map[string]string{}, roots: map[string]string{}, proc: proc, read: os.ReadFile}
	for controller, folder := range folders {
		if t.roots[folder] = "/"; controller == throttling {
			t.rest[controller] = folder
		} else {
			t.v1[controller] = folder
		}
	}
	return t
}

// Mode is v1, v2 or hybrid (v1 controllers beside a v2 hierarchy).
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
// blkio) there are. On v2 counting CPU time needs no controller, so cpuacct is
// always there.
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

// At is the group at a path, whether it is there or not.
func (t *Tree) At(path string) *Group {
	g := &Group{tree: t, path: clean(path), dirs: map[string]string{}}
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

// Of is the group that a process is in, which may be another one for each
// controller.
func (t *Tree) Of(pid int) (*Group, error) { return t.of(fmt.Sprint(pid)) }

// Own is the group of the process through whose eyes the tree is seen.
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
			// The mount may show only a part of the hierarchy, as in a container.
			path := clean(strings.TrimPrefix(parts[2], strings.TrimSuffix(t.roots[mount], "/")))
			if strings.HasPrefix(parts[2], "/../") {
				continue // a group that lies outside of what this namespace shows
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

// Mode is the mode of this machine: v1, v2 or hybrid, or "" when no hierarchy
// is mounted.
func Mode() string {
	t, err := Host()
	if err != nil {
		return ""
	}
	return t.Mode()
}

// Create makes a group on this machine and puts the limits on it.
func Create(path string, l Limits) (*Group, error) {
	t, err := Host()
	if err != nil {
		return nil, err
	}
	return t.Create(path, l)
}

// At is the group at a path on this machine, whether it is there or not.
func At(path string) (*Group, error) {
	t, err := Host()
	if err != nil {
		return nil, err
	}
	return t.At(path), nil
}

// Of is the group that a process on this machine is in.
func Of(pid int) (*Group, error) {
	t, err := Host()
	if err != nil {
		return nil, err
	}
	return t.Of(pid)
}

func clean(path string) string { return filepath.Clean("/" + path) }

func readString(file string) string { return text(os.ReadFile(file)) }

// text is what stands in a file, "" where it cannot be read.
func text(data []byte, err error) string {
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Writable says whether groups can be made here: nil, or what stands against it.
func (t *Tree) Writable() error {
	for _, dir := range t.At(t.Top()).folders() {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return fmt.Errorf("making cgroups in %s: %w", dir, err)
		}
	}
	return nil
}

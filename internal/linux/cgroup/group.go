package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tare/internal/linux/procfile"
)

// Group is one control group: a directory in each hierarchy.
type Group struct {
	tree *Tree
	path string
	dirs map[string]string // controller → directory; "" is the v2 hierarchy
}

// Create creates a group and sets its limits. A limit whose controller is missing
// is not an error: Check reports it. A limit that the kernel rejects is an error.
func (t *Tree) Create(path string, l Limits) (*Group, error) {
	g := t.At(path)
	if g.path == "/" {
		return nil, fmt.Errorf("creating a cgroup: %q is the root", path)
	}
	dirs := g.directories()
	if dir, there := g.dirs[throttling]; there && !l.IO.None() && !slices.Contains(dirs, dir) {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		if err := t.makeDirectory(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("creating cgroup %s: %w", dir, err), g.Remove())
		}
	}
	if err := g.limit(l); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

// makeDirectory creates a group and its parents, each set up so that it can have
// groups or processes.
func (t *Tree) makeDirectory(dir string) (err error) {
	mount := t.mountOf(dir)
	below := strings.Split(strings.Trim(strings.TrimPrefix(dir, mount), "/"), "/")
	// If another process removes an empty parent at this moment, mkdir fails; the
	// next round creates it again.
	for range 10 {
		at := mount
		for _, name := range below {
			if mount == t.unified {
				if err = t.vacate(at); err != nil {
					return err
				}
				t.enableBelow(at)
			}
			parent := at
			at = filepath.Join(at, name)
			if err = os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				break
			}
			if err = nil; mount == t.v1["cpuset"] {
				if err = inheritCpuset(parent, at); err != nil {
					break
				}
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// enableBelow enables the controllers for the groups below a v2 group, one by one,
// so that one that is rejected does not prevent the others. Check reports what is
// missing.
func (t *Tree) enableBelow(dir string) {
	on := strings.Fields(readString(filepath.Join(dir, "cgroup.subtree_control")))
	there := strings.Fields(readString(filepath.Join(dir, "cgroup.controllers")))
	for _, c := range append([]string{"io"}, wanted...) {
		if !slices.Contains(there, c) || slices.Contains(on, c) {
			continue
		}
		_ = write(filepath.Join(dir, "cgroup.subtree_control"), "+"+c)
	}
}

// inheritCpuset copies the parent's values: a new v1 cpuset is empty, and no
// process can join it.
func inheritCpuset(parent, child string) error {
	for _, file := range []string{"cpuset.mems", "cpuset.cpus"} {
		if readString(filepath.Join(child, file)) != "" {
			continue
		}
		if err := write(filepath.Join(child, file), readString(filepath.Join(parent, file))); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) mountOf(dir string) string {
	for mount := range t.roots {
		if dir == mount || strings.HasPrefix(dir, mount+"/") {
			return mount
		}
	}
	return "/"
}

// directories returns the group's directories, each once: controllers may share
// one. That of v2 comes first, since it has cgroup.kill. That of v1's throttling
// is included only if it exists.
func (g *Group) directories() []string {
	seen, list := map[string]bool{}, []string{}
	for _, c := range append([]string{""}, wanted...) {
		if dir := g.dirs[c]; dir != "" && !seen[dir] {
			seen[dir] = true
			list = append(list, dir)
		}
	}
	if dir := g.dirs[throttling]; dir != "" && !seen[dir] && dir != g.tree.mountOf(dir) {
		if _, err := os.Stat(dir); err == nil {
			list = append(list, dir)
		}
	}
	return list
}

// own returns the directories in all hierarchies, except roots.
func (g *Group) own() []string {
	list := g.directories()
	for c := range g.tree.rest {
		if dir := g.dirs[c]; dir != "" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return slices.DeleteFunc(list, func(dir string) bool { return dir == g.tree.mountOf(dir) })
}

// Path returns the path below each controller's mount point; for a group from Of,
// the longest of its paths.
func (g *Group) Path() string { return g.path }

// Dir returns the directory of a controller's files, in v1 or v2.
func (g *Group) Dir(controller string) (string, bool) {
	if dir, ok := g.dirs[controller]; ok {
		return dir, true
	}
	dir, ok := g.dirs[""]
	return dir, ok && len(g.tree.v1) == 0
}

// Same reports whether both are the same group in all hierarchies that are used.
func (g *Group) Same(other *Group) bool {
	return !slices.ContainsFunc(append([]string{""}, wanted...), func(c string) bool { return g.dirs[c] != other.dirs[c] })
}

// Exists reports whether the group exists in any hierarchy.
func (g *Group) Exists() bool {
	return slices.ContainsFunc(g.own(), func(dir string) bool {
		_, err := os.Stat(dir)
		return err == nil
	})
}

// ProcsFiles returns the files by which a process joins the group: it writes its
// PID, or "0", to each of them.
func (g *Group) ProcsFiles() []string {
	list := []string{}
	for _, dir := range g.directories() {
		list = append(list, filepath.Join(dir, "cgroup.procs"))
	}
	return list
}

// Add moves a process into the group, without its existing children.
func (g *Group) Add(pid int) error {
	for _, file := range g.ProcsFiles() {
		if err := write(file, strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("moving process %d into cgroup %s: %w", pid, g.path, err)
		}
	}
	return nil
}

// PIDs lists the processes in the group and in the groups below it.
func (g *Group) PIDs() ([]int, error) { return g.list(g.own()) }

func (g *Group) list(dirs []string) ([]int, error) {
	seen, list := map[int]bool{}, []int{}
	for _, dir := range dirs {
		err := walk(dir, func(at string) error {
			pids, err := pidsIn(at)
			for _, pid := range pids {
				if !seen[pid] {
					seen[pid] = true
					list = append(list, pid)
				}
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing the processes of cgroup %s: %w", g.path, err)
		}
	}
	sort.Ints(list)
	return list, nil
}

// pidsIn lists the processes in one directory.
func pidsIn(dir string) (list []int, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	// ENODEV and ENOENT: removed in the meantime. EOPNOTSUPP: a threaded group,
	// whose processes are listed in its parent.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EOPNOTSUPP) {
		return nil, nil
	}
	for _, field := range strings.Fields(string(data)) {
		// 0 is a process of another PID namespace.
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			list = append(list, pid)
		}
	}
	return list, err
}

// Kill kills all processes of the group and of those below it, until none is left,
// including those started in the meantime, and frozen ones. It fails if the caller is
// in the group.
func (g *Group) Kill(ctx context.Context) error {
	for {
		pids, err := g.PIDs()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if pid == os.Getpid() {
				return fmt.Errorf("killing cgroup %s: process %d in it is this one", g.path, pid)
			}
		}
		if err := g.Thaw(); err != nil {
			return err
		}
		if dir, ok := g.dirs[""]; ok && dir != g.tree.mountOf(dir) {
			_ = write(filepath.Join(dir, "cgroup.kill"), "1") // absent before Linux 5.14
		}
		for _, pid := range pids {
			if _, err := procfile.Kill(ctx, pid, nil); err != nil {
				return fmt.Errorf("killing cgroup %s: process %d: %w", g.path, pid, err)
			}
		}
	}
}

// Remove removes the group and the groups below it. It is not an error if it does
// not exist; it is one if it has processes.
func (g *Group) Remove() error {
	if g.path == "/" {
		return fmt.Errorf("removing a cgroup: %q is the root", g.path)
	}
	var problems []error
	for _, dir := range g.own() {
		problems = append(problems, walk(dir, removeDirectory))
	}
	return errors.Join(problems...)
}

// RemoveEmpty removes the group if it has neither groups nor processes.
func (g *Group) RemoveEmpty() {
	for _, dir := range g.own() {
		_ = os.Remove(dir)
	}
}

// Children lists the names of the groups directly below, in any hierarchy.
func (g *Group) Children() ([]string, error) {
	names := []string{}
	for _, dir := range g.own() {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("listing the groups below cgroup %s: %w", g.path, err)
		}
		for _, e := range entries {
			if e.IsDir() && !slices.Contains(names, e.Name()) {
				names = append(names, e.Name())
			}
		}
	}
	return names, nil
}

// removeDirectory removes one empty group. The kernel releases a group some time
// after its last process has exited, without an event, so EBUSY without a process
// is retried a limited number of times.
func removeDirectory(dir string) (err error) {
	pause := time.Millisecond
	for range 10 {
		err = os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if procs := strings.Fields(readString(filepath.Join(dir, "cgroup.procs"))); len(procs) > 0 {
			return fmt.Errorf("removing cgroup %s: processes %s are still in it", dir, strings.Join(procs, ", "))
		}
		if !errors.Is(err, syscall.EBUSY) {
			break
		}
		time.Sleep(pause)
		pause = min(2*pause, 200*time.Millisecond)
	}
	return fmt.Errorf("removing a cgroup: %w", err)
}

// walk visits a group after the groups below it.
func walk(dir string, visit func(dir string) error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := walk(filepath.Join(dir, e.Name()), visit); err != nil {
				return err
			}
		}
	}
	return visit(dir)
}

// write never creates a file: a missing file means a missing controller.
func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if errClose := f.Close(); err == nil {
		err = errClose
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", text, err)
	}
	return nil
}

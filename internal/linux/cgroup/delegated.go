package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// aside is the group to which processes are moved that are in the parent of groups
// with limits: v2 enables no controller below a group that has processes.
const aside = "tare-aside"

// Top returns the group below which this process may create groups: "/", or on v2,
// if it may not write there, the subtree that was delegated to it, for example by
// systemd-run --user --scope -p Delegate=yes. If there is none, Top returns "/",
// and Writable returns the error. v1's controllers are not delegated: below the
// subtree of a hybrid machine groups are in the v2 hierarchy alone, see At.
func (t *Tree) Top() string {
	if t.unified == "" || writable(t.unified) {
		return "/"
	}
	own, err := t.Own()
	if err != nil || own.dirs[""] == "" {
		return "/"
	}
	path := clean(strings.TrimPrefix(own.dirs[""], t.unified))
	// Another tare has moved the scope's processes aside, and one of them started
	// this process.
	if filepath.Base(path) == aside {
		path = filepath.Dir(path)
	}
	if writable(filepath.Join(t.unified, path)) {
		return path
	}
	return "/"
}

// delegated reports whether a group is in the subtree that was delegated to this process.
func (t *Tree) delegated(path string) bool {
	top := t.Top()
	return top != "/" && (path == top || strings.HasPrefix(path, top+"/"))
}

// Delegated returns the subtree of the hierarchy in which alone this process may create
// groups, and the controllers that it has there; "" where there is none.
func (t *Tree) Delegated() (top string, controllers []string) {
	if top = t.Top(); top == "/" {
		return "", nil
	}
	subtree := Tree{unified: filepath.Join(t.unified, top), read: t.read}
	return top, subtree.Controllers()
}

// Top returns the group below which this process may create groups on this machine.
func Top() string {
	t, err := Host()
	if err != nil {
		return "/"
	}
	return t.Top()
}

// writable reports whether a group is delegated, which includes these files.
func writable(dir string) bool {
	return !slices.ContainsFunc([]string{"", "cgroup.procs", "cgroup.subtree_control"}, func(name string) bool {
		return unix.Access(filepath.Join(dir, name), unix.W_OK) != nil
	})
}

// vacate moves the processes of a v2 group into a group below it, as container
// engines in a container do. It does so only for the top of this process's
// subtree: the root of a container's cgroup namespace, or a delegated subtree. At
// the real root of the hierarchy, which has no type, processes prevent nothing.
//
// It comes before any controller is enabled. The kernel refuses memory and io where
// there are processes, but not cpu, cpuset and pids: the group then becomes the root
// of a threaded subtree, and no process can join a group below it (EOPNOTSUPP).
func (t *Tree) vacate(dir string) error {
	if dir != filepath.Join(t.unified, t.Top()) || !hasControllers(dir) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); err != nil {
		return nil
	}
	pids, err := pidsIn(dir)
	if err != nil || len(pids) == 0 {
		return err
	}
	below := filepath.Join(dir, aside)
	if err := os.Mkdir(below, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making a group for the processes of %s: %w", dir, err)
	}
	return moveAll(below, func() ([]int, error) { return pidsIn(dir) })
}

// hasControllers reports whether a v2 group has controllers that are wanted.
func hasControllers(dir string) bool {
	return slices.ContainsFunc(strings.Fields(readString(filepath.Join(dir, "cgroup.controllers"))), func(c string) bool {
		return c == "io" || slices.Contains(wanted, c)
	})
}

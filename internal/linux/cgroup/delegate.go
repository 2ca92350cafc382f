package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// aside is the group that processes are moved to which lie where groups with
// limits are to be made: v2 gives no controller to the groups below one that
// has processes of its own.
const aside = "tare-aside"

// Top is the group below which this process may make groups: "/", or on v2,
// for who may not write there, the subtree that was delegated to it, such as
// systemd-run --user --scope -p Delegate=yes makes one. Where there is none
// either it is "/", and Writable says what stands against it.
func (t *Tree) Top() string {
	if t.unified == "" || len(t.v1) > 0 || writable(t.unified) {
		return "/"
	}
	own, err := t.Own()
	if err != nil {
		return "/"
	}
	path := own.path
	// Another process of this kind has moved the scope's processes aside, and
	// this one was started by one of them.
	if filepath.Base(path) == aside {
		path = filepath.Dir(path)
	}
	if writable(filepath.Join(t.unified, path)) {
		return path
	}
	return "/"
}

// Top is the group below which this process may make groups on this machine.
func Top() string {
	t, err := Host()
	if err != nil {
		return "/"
	}
	return t.Top()
}

// writable: a group is delegated together with these files, or it is not.
func writable(dir string) bool {
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if unix.Access(filepath.Join(dir, name), unix.W_OK) != nil {
			return false
		}
	}
	return true
}

// vacate moves the processes of a v2 group into a group below it, as container
// engines do that run in a container. It does so only with the top of what this
// process was given: the root of a container's view, or a delegated subtree. In
// the real root of the hierarchy processes are in nobody's way.
func (t *Tree) vacate(dir string) error {
	if dir != filepath.Join(t.unified, t.Top()) {
		return fmt.Errorf("%s is not the top of this process's subtree", dir)
	}
	below := filepath.Join(dir, aside)
	if err := os.Mkdir(below, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making a group for the processes of %s: %w", dir, err)
	}
	// Some may start others meanwhile, so it is looked again until none is left.
	for range 20 {
		pids := strings.Fields(readString(filepath.Join(dir, "cgroup.procs")))
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := write(filepath.Join(below, "cgroup.procs"), pid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("moving process %s out of %s: %w", pid, dir, err)
			}
		}
	}
	return fmt.Errorf("%s fills with processes faster than they can be moved", dir)
}

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// freezeTimeout bounds a freeze and a thaw. A process that waits for a disk freezes
// when the disk has answered.
const freezeTimeout = 10 * time.Second

// Freezer stops the processes of a group and lets them go on: through cgroup.freeze
// where the v2 hierarchy has them, also on a hybrid machine, else through v1's
// freezer.state.
type Freezer struct {
	group *Group
	own   bool

	mutex sync.Mutex
	at    freezerAt // without a directory until the first freeze
}

// Freezer returns the freezer of a group. The group of an engine (own is false) is
// frozen where the engine has put its processes. Processes of a group that Create made
// are moved at the first freeze, if v1's freezer has to be used: joining one more
// hierarchy would make every start slower.
func (g *Group) Freezer(own bool) *Freezer { return &Freezer{group: g, own: own} }

// Freeze returns when all processes have stopped. After an error they run. The error
// wraps errors.ErrUnsupported if this machine, or its user, cannot freeze them.
func (f *Freezer) Freeze(ctx context.Context) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.find(); err != nil {
		return fmt.Errorf("freezing cgroup %s: %w", f.group.path, err)
	}
	if err := f.set(ctx, true); err != nil {
		err = fmt.Errorf("freezing cgroup %s: %w", f.group.path, err)
		return errors.Join(err, f.set(context.WithoutCancel(ctx), false))
	}
	return nil
}

// Thaw returns when the processes run again.
func (f *Freezer) Thaw(ctx context.Context) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.at.dir == "" {
		return nil // it was never frozen
	}
	if err := f.set(ctx, false); err != nil {
		return fmt.Errorf("thawing cgroup %s: %w", f.group.path, err)
	}
	return nil
}

// Thaw lets the processes of the group and of those below it go on, in every hierarchy:
// v1 delays a SIGKILL until the thaw. It is not an error if none was frozen.
func (g *Group) Thaw() error {
	var problems []error
	for _, p := range g.freezers() {
		problems = append(problems, walk(p.dir, func(dir string) error {
			err := write(p.file(dir), p.state(false))
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, fs.ErrPermission) {
				return nil // a group without a freezer, or one that this user could not have frozen
			}
			return err
		}))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("thawing cgroup %s: %w", g.path, err)
	}
	return nil
}

// freezerAt is the directory of a group in a hierarchy that can freeze it.
type freezerAt struct {
	dir string
	v1  bool
}

func (p freezerAt) file(dir string) string {
	if p.v1 {
		return filepath.Join(dir, "freezer.state")
	}
	return filepath.Join(dir, "cgroup.freeze")
}

func (p freezerAt) state(frozen bool) string {
	switch {
	case p.v1 && frozen:
		return "FROZEN"
	case p.v1:
		return "THAWED"
	case frozen:
		return "1"
	}
	return "0"
}

// freezers returns the group's directories in both hierarchies, v2's first. A group in
// which Of found a process is left out where the process is in another one.
func (g *Group) freezers() (list []freezerAt) {
	for _, p := range []freezerAt{{g.dirs[""], false}, {g.dirs["freezer"], true}} {
		if mount := g.tree.mountOf(p.dir); p.dir != "" && g.path != "/" && p.dir == filepath.Join(mount, g.path) {
			list = append(list, p)
		}
	}
	return list
}

// find looks for the hierarchy that has all processes of the group.
func (f *Freezer) find() error {
	if f.at.dir != "" {
		return nil
	}
	places := f.group.freezers()
	var problems []error
	for _, p := range places {
		outside, err := f.group.outside(p.dir)
		if err != nil {
			return err
		}
		if len(outside) > 0 {
			continue
		}
		if err := unix.Access(p.file(p.dir), unix.W_OK); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.file(p.dir), err))
			continue
		}
		f.at = p
		return nil
	}
	if f.own && len(places) > 0 {
		p := places[len(places)-1] // v1's: where there is v2, Create's processes are in it
		if err := f.gather(p.dir); err != nil {
			return err
		}
		f.at = p
		return nil
	}
	if len(problems) == 0 {
		problems = []error{errors.New("its processes are neither in a cgroup v2 nor in one of v1's freezer")}
	}
	return fmt.Errorf("%w: %w", errors.ErrUnsupported, errors.Join(problems...))
}

// gather moves all processes of the group into its directory of one more hierarchy.
func (f *Freezer) gather(dir string) error {
	if err := f.group.tree.makeDirectory(dir); err != nil {
		return fmt.Errorf("%w: creating %s: %w", errors.ErrUnsupported, dir, err)
	}
	return moveAll(dir, func() ([]int, error) { return f.group.outside(dir) })
}

// moveAll moves the processes of a list into a group's directory until the list is empty:
// they may fork in the meantime.
func moveAll(dir string, list func() ([]int, error)) error {
	for range 20 {
		pids, err := list()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("moving process %d into %s: %w", pid, dir, err)
			}
		}
	}
	return fmt.Errorf("%s: processes are started faster than they can be moved", dir)
}

// outside lists the processes of the group that are not in its directory of a hierarchy.
func (g *Group) outside(dir string) ([]int, error) {
	before, err := g.PIDs()
	if err != nil {
		return nil, err
	}
	inside, err := g.list([]string{dir})
	if err != nil {
		return nil, err
	}
	after, err := g.PIDs() // without those that exited between the first two lists
	return slices.DeleteFunc(before, func(pid int) bool { return slices.Contains(inside, pid) || !slices.Contains(after, pid) }), err
}

// set writes the state and waits until it is reached.
func (f *Freezer) set(ctx context.Context, frozen bool) error {
	ctx, cancel := context.WithTimeout(ctx, freezeTimeout)
	defer cancel()
	p := f.at
	if err := write(p.file(p.dir), p.state(frozen)); err != nil {
		return fmt.Errorf("%s: %w", p.file(p.dir), err)
	}
	shown, want := filepath.Join(p.dir, "cgroup.events"), "frozen "+p.state(frozen)
	if p.v1 {
		shown, want = p.file(p.dir), p.state(frozen)
	}
	events, err := os.Open(shown)
	if err != nil {
		return err
	}
	defer events.Close()
	text := make([]byte, 256)
	// v1's file has no event, and v2's kernel reports at most one in 10 ms, so the
	// file is also read after a short time.
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		n, err := events.ReadAt(text, 0)
		if n == 0 && err != nil {
			return fmt.Errorf("reading %s: %w", shown, err)
		}
		if slices.Contains(strings.Split(string(text[:n]), "\n"), want) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s still says %q, a process in it may wait for a disk: %w", shown, strings.TrimSpace(string(text[:n])), ctx.Err())
		}
		wait := unix.NsecToTimespec(int64(pause))
		_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}, &wait, nil)
		if p.v1 {
			_ = write(p.file(p.dir), p.state(frozen)) // for a process that was forked meanwhile
		}
	}
}

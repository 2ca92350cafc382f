package docker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linux/cgroup"
	"tare/internal/linux/procfile"
)

// process is referred to by a pidfd, so that a reused PID cannot stand for it.
type process struct{ pid, fd int }

func watch(pid int) (*process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("opening process %d: %w", pid, err)
	}
	return &process{pid, fd}, nil
}

func (p *process) close() { unix.Close(p.fd) }

// parent is the PID of the parent, 0 if it cannot be read.
func (p *process) parent() int { return procfile.Parent(p.pid) }

// ended waits for the exit; false after the timeout.
func (p *process) ended(ctx context.Context, timeout time.Duration) bool {
	until := time.Now().Add(timeout)
	if limit, ok := ctx.Deadline(); ok && limit.Before(until) {
		until = limit
	}
	for {
		left := max(time.Until(until).Milliseconds(), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(left))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}

// helperTimeout is for processes whose container is gone: a shim exits shortly after
// its container.
const helperTimeout = 3 * time.Second

// endAll waits until the processes have exited, kills those that stay, and closes
// all.
func endAll(ctx context.Context, processes []*process) error {
	var problems []error
	for _, p := range processes {
		if !p.ended(ctx, helperTimeout) {
			if err := unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				problems = append(problems, fmt.Errorf("killing process %d: %w", p.pid, err))
			} else if !p.ended(ctx, helperTimeout) {
				problems = append(problems, fmt.Errorf("process %d does not exit on SIGKILL", p.pid))
			}
		}
		p.close()
	}
	return errors.Join(problems...)
}

// isHelper reports whether a process serves a container.
func isHelper(pid int) bool {
	words := procfile.CommandLine(pid)
	if len(words) == 0 {
		return false
	}
	program := filepath.Base(words[0])
	return slices.ContainsFunc([]string{"containerd-shim", "conmon", "runsc"}, func(helper string) bool { return strings.HasPrefix(program, helper) })
}

// endHelpers ends the processes that serve a container which is gone, and removes the
// cgroups that a runtime made for it: runsc leaves both when a start fails. The
// command lines of the processes contain the container's unique id. parent is the
// cgroup in which the container's was to be created, "" if the engine decided.
func endHelpers(ctx context.Context, id, parent string) error {
	found := []*process{}
	for _, pid := range procfile.PIDs() {
		if !isHelper(pid) || !strings.Contains(strings.Join(procfile.CommandLine(pid), " "), id) {
			continue
		}
		if p, err := watch(pid); err == nil {
			found = append(found, p)
		}
	}
	err := endAll(ctx, found)
	groups := []string{"/docker/" + id, "/libpod_parent/libpod-" + id}
	if parent != "" {
		groups = append(groups, parent+"/"+id)
	}
	for _, path := range groups {
		if group, e := cgroup.At(path); e == nil && group.Exists() {
			err = errors.Join(err, group.Kill(ctx), group.Remove())
		}
	}
	return err
}

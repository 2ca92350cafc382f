// Package shims handles the processes outside of a container that serve it, a shim of
// containerd or Podman's conmon, and the container's first process, their child.
//
// It must not know engines.
package shims

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/procfile"
)

// Process is referred to by a pidfd, so that a reused PID cannot stand for it.
type Process struct{ PID, FD int }

// Watch opens a process.
func Watch(pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("opening process %d: %w", pid, err)
	}
	return &Process{pid, fd}, nil
}

// Close closes the descriptor.
func (p *Process) Close() { unix.Close(p.FD) }

// Parent is the PID of the parent, 0 if it cannot be read.
func (p *Process) Parent() int { return procfile.Parent(p.PID) }

// Ended waits for the exit; false after the timeout.
func (p *Process) Ended(ctx context.Context, timeout time.Duration) bool {
	until := time.Now().Add(timeout)
	if limit, ok := ctx.Deadline(); ok && limit.Before(until) {
		until = limit
	}
	for {
		left := max(time.Until(until).Milliseconds(), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.FD), Events: unix.POLLIN}}, int(left))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}

// helperTimeout is for processes whose container is gone: a shim exits shortly after
// its container.
const helperTimeout = 3 * time.Second

// EndAll waits until the processes have exited, kills those that stay, and closes
// all.
func EndAll(ctx context.Context, processes []*Process) error {
	var problems []error
	for _, p := range processes {
		if !p.Ended(ctx, helperTimeout) {
			if err := unix.PidfdSendSignal(p.FD, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				problems = append(problems, fmt.Errorf("killing process %d: %w", p.PID, err))
			} else if !p.Ended(ctx, helperTimeout) {
				problems = append(problems, fmt.Errorf("process %d does not exit on SIGKILL", p.PID))
			}
		}
		p.Close()
	}
	return errors.Join(problems...)
}

// guests are the programs of Kata Containers' guests. Its shim ends them; if it is killed
// they stay.
var guests = []string{"qemu-system", "cloud-hypervisor", "firecracker", "virtiofsd"}

// IsHelper reports whether a process serves a container.
func IsHelper(pid int) bool { return runs(pid, []string{"containerd-shim", "conmon", "runsc"}) }

func runs(pid int, programs []string) bool {
	words := procfile.CommandLine(pid)
	return len(words) > 0 && slices.ContainsFunc(programs, func(p string) bool { return strings.HasPrefix(filepath.Base(words[0]), p) })
}

// Around opens the parent of a container's first process if it serves the container; nil for
// another parent, such as a daemon that runs containers as its own children.
func Around(first *Process) *Process {
	p, err := Watch(first.Parent())
	if err != nil {
		return nil
	}
	if !IsHelper(p.PID) {
		p.Close()
		return nil
	}
	return p
}

// Serving opens the processes that serve a container, whose unique id is in their command
// lines, and those of its guest.
func Serving(id string) (found []*Process) {
	for _, pid := range procfile.PIDs() {
		if !IsHelper(pid) && !runs(pid, guests) || !strings.Contains(strings.Join(procfile.CommandLine(pid), " "), id) {
			continue
		}
		if p, err := Watch(pid); err == nil {
			found = append(found, p)
		}
	}
	return found
}

// Overhead is the path of the cgroup in which Kata Containers starts all that serves a guest,
// and keeps its shim and virtiofsd; "" where there is none. id is that of the container or
// sandbox.
func Overhead(id string) string {
	if strings.Trim(id, ".") == "" || strings.Contains(id, "/") {
		return ""
	}
	group, err := cgroup.At("/kata_overhead/" + id)
	if err != nil || !group.Exists() {
		return ""
	}
	return group.Path()
}

// EndOverhead ends what is in that group, and removes it: Kata leaves it on cgroup v2.
func EndOverhead(ctx context.Context, id string) error {
	path := Overhead(id)
	if path == "" {
		return nil
	}
	group, err := cgroup.At(path)
	if err != nil {
		return err
	}
	return errors.Join(group.Kill(ctx), group.Remove())
}

// ViaEngine begins the note on an agent that is reached through the engine.
const ViaEngine = "the agent's messages pass the engine, whose processes wake around each sample"

// Shorten lets the agent of a started container be reached without the engine and its shim,
// whose processes would wake for each message. Where that fails, the engine's stream stays in
// use, and a note says why.
func Shorten(ctx context.Context, c *agent.Client, first *Process) (notes []string, err error) {
	err = c.Shortcut(ctx, first.FD)
	if err == nil || c.Err() != nil || ctx.Err() != nil {
		return nil, err
	}
	return []string{ViaEngine + ": " + err.Error()}, nil
}

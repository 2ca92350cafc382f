// Package shim waits for a container whose runtime exits after the start, as the
// shim of a container engine does. The container inherits the runtime's standard
// input and output, so that no process copies them.
//
// It must not know which runtime it is, and treats the streams as opaque.
package shim

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Run starts a container with a command that exits and writes the PID of the
// container's init to a file. It waits for that process to exit, then runs
// another command, which deletes the container. If the start fails, Run returns
// an *exec.ExitError. The commands' messages go to stderr.
func Run(pidFile string, start, after []string) error {
	// As a subreaper the shim is the parent of the container's init after the
	// runtime exits, and can wait for it.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	starting := exec.Command(start[0], start[1:]...)
	starting.Stdin, starting.Stdout, starting.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := starting.Start()
	if err == nil {
		// If the shim kept them open, their readers would not see EOF.
		if err = closeStdio(); err == nil {
			err = starting.Wait()
		}
	}
	if err == nil {
		err = wait(pidFile)
	}
	clearing := exec.Command(after[0], after[1:]...)
	clearing.Stderr = os.Stderr
	if err != nil {
		// The container may not exist, and the start's message says why.
		clearing.Stderr = nil
		_ = clearing.Run()
		return err
	}
	return clearing.Run()
}

// closeStdio redirects standard input and output to /dev/null.
func closeStdio() error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Dup3(null, 0, 0), unix.Dup3(null, 1, 0), unix.Close(null))
	}
	if err != nil {
		return fmt.Errorf("closing standard input and output: %w", err)
	}
	return nil
}

// wait returns when the container's init has exited, or no child is left.
func wait(pidFile string) error {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return fmt.Errorf("reading the container's PID: %w", err)
	}
	first, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("reading the container's PID from %s: %w", pidFile, err)
	}
	// An init that exited early may have been reaped by the runtime. Waiting for any
	// child would then wait for what the container left behind.
	pid, err := unix.Wait4(first, nil, unix.WNOHANG, nil)
	if pid == first || errors.Is(err, unix.ECHILD) {
		return nil
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return fmt.Errorf("waiting for the container: %w", err)
		case pid == first:
			return nil
		}
	}
}

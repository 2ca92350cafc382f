// Package shim waits for a container beside which its runtime does not stay, as
// an engine's shim does: the runtime hands its own standard input and output on to
// the container, and no byte passes a process between.
//
// It must not know which runtime it is, nor what passes.
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

// Run starts a container by a command that does not wait for it and writes the
// number of its first process to a file, waits for that process's end, and runs
// another command after it, which clears up. A start that fails gives an
// *exec.ExitError; what the commands complain of goes to standard error.
func Run(pidFile string, start, after []string) error {
	// The container's orphans are ours: nobody else waits for them.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the parent of the container: %w", err)
	}
	starting := exec.Command(start[0], start[1:]...)
	starting.Stdin, starting.Stdout, starting.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := starting.Start()
	if err == nil {
		// Held here, neither end would be seen to close.
		if err = letGo(); err == nil {
			err = starting.Wait()
		}
	}
	if err == nil {
		err = wait(pidFile)
	}
	clearing := exec.Command(after[0], after[1:]...)
	clearing.Stderr = os.Stderr
	if err != nil {
		// Where nothing came to be, there is nothing to clear up, and the words
		// that count have been said.
		clearing.Stderr = nil
		_ = clearing.Run()
		return err
	}
	return clearing.Run()
}

// letGo covers standard input and output.
func letGo() error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Dup3(null, 0, 0), unix.Dup3(null, 1, 0), unix.Close(null))
	}
	if err != nil {
		return fmt.Errorf("letting go of standard input and output: %w", err)
	}
	return nil
}

// wait returns when the first process has ended, or when no child is left.
func wait(pidFile string) error {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return fmt.Errorf("reading the number of the first process: %w", err)
	}
	first, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("reading the number of the first process from %s: %w", pidFile, err)
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return fmt.Errorf("waiting for the container's end: %w", err)
		case pid == first:
			return nil
		}
	}
}

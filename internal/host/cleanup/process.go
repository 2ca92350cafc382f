package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/linux/procfile"
)

// A recorded process is a file named by its PID that has its start time and its
// role.

func record(dir string, pid int, role string) (file string, err error) {
	start, err := startTime(pid)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, processDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file = filepath.Join(dir, strconv.Itoa(pid))
	return file, os.WriteFile(file, []byte(start+" "+role+"\n"), 0o644)
}

// startTime returns the start time of a process. PID and start time identify it until the
// next boot.
func startTime(pid int) (string, error) {
	fields := procfile.Stat(pid)
	if len(fields) <= procfile.StatStart {
		return "", fmt.Errorf("/proc/%d/stat: %w", pid, fs.ErrNotExist)
	}
	return fields[procfile.StatStart], nil
}

// killRecorded kills the recorded processes that are still running.
func killRecorded(ctx context.Context, dir string) (removed []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, processDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var problems []error
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, processDir, e.Name()))
		if err != nil {
			continue // its owner released it
		}
		start, role, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
		killed, err := kill(ctx, pid, start)
		if err != nil {
			problems = append(problems, fmt.Errorf("process %d (%s): %w", pid, role, err))
		} else if killed {
			removed = append(removed, fmt.Sprintf("process %d (%s)", pid, role))
		}
	}
	return removed, errors.Join(problems...)
}

// kill kills the process with that PID and start time and waits for its exit. It
// uses a pidfd, so that no other process with the same PID is killed.
func kill(ctx context.Context, pid int, start string) (killed bool, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	// The pidfd refers to the process that has the PID now. The start time, read
	// after the pidfd was opened, tells whether it is the recorded one.
	if now, err := startTime(pid); err != nil || now != start {
		return false, nil
	}
	ended := func(wait int) bool {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, wait)
		return n > 0
	}
	if ended(0) {
		return false, nil // a zombie
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return false, err
	}
	for !ended(50) {
		if ctx.Err() != nil {
			return false, fmt.Errorf("it is still running after SIGKILL: %w", ctx.Err())
		}
	}
	return true, nil
}

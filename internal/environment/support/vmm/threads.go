package vmm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Threads finds the threads of virtual CPUs by name; the first group of the
// expression is the number. It waits for all of them, since some VMMs name them
// only after the request that runs the guest has returned.
func Threads(ctx context.Context, pid int, name *regexp.Regexp, count int) ([]int, error) {
	const interval, timeout = time.Millisecond, 200 * time.Millisecond
	for began := time.Now(); ; {
		found := NamedThreads(fmt.Sprintf("/proc/%d/task", pid), name)
		threads := make([]int, 0, count)
		for n := range count {
			if id, ok := found[n]; ok {
				threads = append(threads, id)
			}
		}
		if len(threads) == count {
			return threads, nil
		}
		if time.Since(began) > timeout {
			return nil, fmt.Errorf("process %d has %d threads that match %s, not %d", pid, len(threads), name, count)
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// NamedThreads returns the thread IDs in a task directory, by the number in their names;
// no number is 0.
func NamedThreads(dir string, name *regexp.Regexp) map[int]int {
	found := map[int]int{}
	files, _ := filepath.Glob(filepath.Join(dir, "[0-9]*", "comm"))
	for _, file := range files {
		comm, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has exited
		}
		match := name.FindStringSubmatch(strings.TrimSpace(string(comm)))
		if match == nil {
			continue
		}
		number, errNumber := strconv.Atoi(cmp.Or(match[1], "0"))
		id, errID := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if errNumber == nil && errID == nil {
			found[number] = id
		}
	}
	return found
}

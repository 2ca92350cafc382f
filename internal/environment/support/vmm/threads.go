package vmm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Threads finds the threads of virtual CPUs by their names, in which the first
// group of the expression is the number. It waits for as many as there shall
// be, since some VMMs name them after they answered that the guest runs.
func Threads(ctx context.Context, pid int, name *regexp.Regexp, count int) ([]int, error) {
	const between, patience = time.Millisecond, 200 * time.Millisecond
	for began := time.Now(); ; {
		found := named(fmt.Sprintf("/proc/%d/task", pid), name)
		threads := make([]int, 0, count)
		for n := range count {
			if id, ok := found[n]; ok {
				threads = append(threads, id)
			}
		}
		if len(threads) == count {
			return threads, nil
		}
		if time.Since(began) > patience {
			return nil, fmt.Errorf("process %d has %d threads whose name is like %s, not %d", pid, len(threads), name, count)
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// named are the threads in a folder of them, by the number in their names.
func named(folder string, name *regexp.Regexp) map[int]int {
	found := map[int]int{}
	files, _ := filepath.Glob(filepath.Join(folder, "[0-9]*", "comm"))
	for _, file := range files {
		comm, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		match := name.FindStringSubmatch(strings.TrimSpace(string(comm)))
		if match == nil {
			continue
		}
		number, errNumber := strconv.Atoi(match[1])
		id, errID := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if errNumber == nil && errID == nil {
			found[number] = id
		}
	}
	return found
}

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/quantity"
)

// CPU is the processor time that a group and those below it have used since it
// was made.
type CPU struct {
	Total time.Duration // exact
	// User and System tell only how Total is to be divided: v1 samples them at
	// the timer's tick, so they do not add up to Total.
	User, System time.Duration
	// Throttled is how long the group or one below it had work and was held
	// back by its quota.
	Throttled time.Duration
}

// Since is the time used since an earlier reading, divided as v2 does it: the
// exact total in the proportion of the sampled parts.
func (c CPU) Since(before CPU) (user, system time.Duration) {
	total := max(c.Total-before.Total, 0)
	u, s := max(c.User-before.User, 0), max(c.System-before.System, 0)
	if u+s == 0 {
		return total, 0
	}
	system = time.Duration(float64(total) * (float64(s) / float64(u+s)))
	return total - system, system
}

// Memory is what a group and those below it hold now.
type Memory struct {
	Current quantity.Bytes // everything that is charged to the group
	Cache   quantity.Bytes // page cache, Shmem included
	Shmem   quantity.Bytes
	// Faults are page faults so far; the major ones waited for storage.
	Faults, MajorFaults int64
}

// WorkingSet is what the group holds without the page cache: anonymous and
// shared memory, and what the kernel holds on its behalf.
func (m Memory) WorkingSet() quantity.Bytes { return max(m.Current-m.Cache+m.Shmem, 0) }

// IO is what a group and those below it have moved to and from block devices.
type IO struct {
	Read, Written quantity.Bytes
	Reads, Writes int64 // operations
}

func (g *Group) reading(what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the %s of cgroup %s: the group or its controller does not exist: %w", what, g.path, err)
	}
	return fmt.Errorf("reading the %s of cgroup %s: %w", what, g.path, err)
}

// OOMKills is how many processes of the group, and of those below it, the kernel has killed
// because memory was used up; 0 where it does not count them.
func (g *Group) OOMKills() (kills int64) {
	// v2 counts in memory.events, for the groups below too.
	for _, dir := range []string{g.dirs[""], g.dirs["memory"]} {
		if n, counts := oomKills(filepath.Join(dir, "memory.events")); counts {
			return n
		}
	}
	// v1 counts in memory.oom_control, for each group alone: of a pod, the containers'.
	_ = filepath.WalkDir(g.dirs["memory"], func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			n, _ := oomKills(filepath.Join(path, "memory.oom_control"))
			kills += n
		}
		return nil // a group may be removed meanwhile
	})
	return kills
}

func oomKills(file string) (n int64, counts bool) {
	for line := range strings.Lines(readString(file)) {
		if count, is := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); is {
			n, _ = strconv.ParseInt(count, 10, 64)
			return n, true
		}
	}
	return 0, false
}

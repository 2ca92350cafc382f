package cgroup

import (
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

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

package cgroup

import (
	"path/filepath"
	"strconv"
	"strings"
)

// OOMKills is how many processes of the group the kernel has killed because memory was
// used up; 0 where it does not count them.
func (g *Group) OOMKills() int64 {
	// v2 counts in memory.events, v1 in memory.oom_control.
	for _, file := range []string{filepath.Join(g.dirs[""], "memory.events"), filepath.Join(g.dirs["memory"], "memory.events"), filepath.Join(g.dirs["memory"], "memory.oom_control")} {
		for line := range strings.Lines(readString(file)) {
			if count, counts := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); counts {
				n, _ := strconv.ParseInt(count, 10, 64)
				return n
			}
		}
	}
	return 0
}

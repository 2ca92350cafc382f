package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// ticks a second in which /proc counts CPU time: the kernel's interface fixes
// it on every architecture that Go runs on.
const ticks = 100

// readAccount reads one process; a process that is gone is no account.
func readAccount(fs procfs.FS, pid int) (account, bool) {
	p, err := fs.Proc(pid)
	if err != nil {
		return account{}, false
	}
	stat, err := p.Stat()
	if err != nil {
		return account{}, false
	}
	a := account{parent: stat.PPID, started: stat.Starttime}
	a.own[cpuUser], a.own[cpuSystem] = float64(stat.UTime)/ticks, float64(stat.STime)/ticks
	a.inherited[cpuUser], a.inherited[cpuSystem] = float64(stat.CUTime)/ticks, float64(stat.CSTime)/ticks
	if io, err := p.IO(); err == nil {
		a.own[diskRead], a.own[diskWritten] = float64(io.ReadBytes), float64(io.WriteBytes)
	}
	return a, true
}

// family reads processes and all that they started.
func family(fs procfs.FS, root string, pids []int, inside map[int]bool) map[int]account {
	found := map[int]account{}
	for queue := append([]int{}, pids...); len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if _, twice := found[pid]; twice {
			continue
		}
		a, lives := readAccount(fs, pid)
		if !lives {
			continue
		}
		a.apart = inside[pid]
		found[pid] = a
		if !a.apart { // its children are in the cgroup as well
			queue = append(queue, children(root, pid)...)
		}
	}
	return found
}

// children lists the processes that a process and its threads have started and
// that still live. A kernel without the file gives none.
func children(root string, pid int) []int {
	tasks := filepath.Join(root, strconv.Itoa(pid), "task")
	folder, err := os.Open(tasks)
	if err != nil {
		return nil
	}
	defer folder.Close()
	threads, _ := folder.Readdirnames(-1)
	list := []int{}
	for _, thread := range threads {
		data, _ := os.ReadFile(filepath.Join(tasks, thread, "children"))
		for _, field := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// resident is the memory of a process without the files that it maps.
func resident(fs procfs.FS, pid int) (float64, error) {
	p, err := fs.Proc(pid)
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	return float64(status.RssAnon + status.RssShmem), nil
}

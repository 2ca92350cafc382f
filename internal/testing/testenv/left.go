package testenv

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/procfile"
)

// Left lists what is left of the owners of a home whose ids begin with ids: objects of
// every kind of environment, processes, cgroups, network interfaces, mounts, loop devices
// and directories. Only for what an engine holds it uses the code under test, which
// removes what it finds.
func Left(ctx context.Context, home, ids string) (list []string) {
	theirs := func(id string) bool { return strings.HasPrefix(id, ids) }
	for _, sweep := range environment.Sweepers() {
		removed, err := sweep(ctx, home, theirs)
		if err != nil {
			removed = append(removed, err.Error())
		}
		list = append(list, removed...)
	}
	for pid, line := range commandLines() {
		if strings.Contains(line, home+"/work/"+ids) || strings.Contains(line, "tare-"+ids) {
			list = append(list, fmt.Sprintf("process %d: %s", pid, line))
		}
	}
	if root, err := cgroup.At(cleanup.CgroupRoot()); err == nil {
		owners, _ := root.Children()
		for _, id := range owners {
			group, err := cgroup.At(cleanup.CgroupRoot() + "/" + id)
			if err != nil || !theirs(id) {
				continue
			}
			instances, _ := group.Children()
			for _, name := range instances {
				list = append(list, "group "+group.Path()+"/"+name)
			}
		}
	}
	interfaces, _ := filepath.Glob("/sys/class/net/*" + ids + "*")
	for _, path := range interfaces {
		list = append(list, "interface "+filepath.Base(path))
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, home+"/work/"+ids) {
			list = append(list, "mount "+strings.TrimSpace(line))
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range loops {
		if backing, err := os.ReadFile(file); err == nil && strings.Contains(string(backing), home+"/") {
			list = append(list, fmt.Sprintf("loop device %s of %s", file, backing))
		}
	}
	directories, _ := fs.Glob(os.DirFS(home), "work/"+ids+"*/[^.]*")
	for _, directory := range directories {
		list = append(list, "directory "+filepath.Join(home, directory))
	}
	return list
}

// commandLines are the command lines of all processes by PID; a zombie has none.
func commandLines() map[int]string {
	lines := map[int]string{}
	for _, pid := range procfile.PIDs() {
		if words := procfile.CommandLine(pid); len(words) > 0 && pid != os.Getpid() {
			lines[pid] = strings.Join(words, " ")
		}
	}
	return lines
}

// Processes refers to processes by pidfds, so that their exits can be observed.
type Processes map[int]*held

type held struct {
	fd   int
	line string
}

// Hold opens pidfds of running processes.
func Hold(t testing.TB, pids ...int) Processes {
	t.Helper()
	lines, processes := commandLines(), Processes{}
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			processes[pid] = &held{fd, lines[pid]}
			t.Cleanup(func() { unix.Close(fd) })
		}
	}
	return processes
}

// HoldInstance opens pidfds of all processes of an instance that are visible outside.
func HoldInstance(t testing.TB, i environment.Instance) Processes {
	t.Helper()
	pids := InstancePIDs(i)
	if len(pids) == 0 {
		t.Errorf("no process is in %v", i.Footprint().Cgroups)
	}
	return Hold(t, pids...)
}

// InstancePIDs are the processes of an instance that are visible outside.
func InstancePIDs(i environment.Instance) []int {
	pids, _ := groupPIDs(Cgroups(i))
	for _, p := range i.Footprint().Processes {
		pids = append(pids, p.PID)
	}
	return pids
}

// Cgroups are the cgroups of an instance. For one on another host, which in tests is a
// namespace of this machine, it is the cgroup of the agent.
func Cgroups(i environment.Instance) []string {
	if groups := i.Footprint().Cgroups; len(groups) > 0 {
		return groups
	}
	if group, err := cgroup.Of(i.Agent().Hello().PID); err == nil && strings.HasPrefix(group.Path(), cleanup.CgroupRoot()+"/") {
		return []string{group.Path()}
	}
	return nil
}

// PIDs are the processes in cgroups.
func PIDs(t testing.TB, groups ...string) []int {
	t.Helper()
	pids, err := groupPIDs(groups)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

func groupPIDs(groups []string) (pids []int, err error) {
	for _, path := range groups {
		group, err := cgroup.At(path)
		if err != nil {
			return pids, err
		}
		inside, err := group.PIDs()
		if err != nil {
			return pids, err
		}
		pids = append(pids, inside...)
	}
	return pids, nil
}

// Running lists those that have not exited after the timeout.
func (p Processes) Running(timeout time.Duration) (list []string) {
	deadline := time.Now().Add(timeout)
	for pid, h := range p {
		left := max(0, time.Until(deadline).Milliseconds())
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(left))
		for err == unix.EINTR {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(left))
		}
		if n != 1 {
			list = append(list, fmt.Sprintf("process %d still runs: %s", pid, h.line))
		}
	}
	return list
}

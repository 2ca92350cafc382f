package observe

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

var (
	processTexts = []string{"status", "stat", "limits", "cmdline", "environ", "oom_score_adj", "attr/current", "uid_map"}
	processLinks = []string{"exe", "cwd", "ns/pid", "ns/mnt", "ns/net", "ns/ipc", "ns/uts", "ns/cgroup", "ns/user", "ns/time"}
	// starters run another program and stay until its end.
	starters = []string{"sh", "dash", "bash", "ash", "busybox", "ksh", "zsh", "su", "sudo", "runuser", "tini", "dumb-init", "timeout", "setpriv"}
)

// mostOpen files of a process are listed.
const mostOpen = 512

// process looks at what the agent started, or at what that started in turn
// where it is a shell or the like. 0 is the process that looks.
func (a *Answer) process(name string, pid int) {
	folder := "/proc/self"
	if pid > 0 {
		folder = "/proc/" + strconv.Itoa(serving(pid))
	}
	p := Process{Texts: map[string]string{}}
	for _, file := range processTexts {
		if text, err := read(filepath.Join(folder, file)); err == nil {
			p.Texts[file] = strings.ToValidUTF8(text, "?")
		} else {
			a.absent(name+": "+file, err)
		}
	}
	for _, link := range processLinks {
		if target, err := os.Readlink(filepath.Join(folder, link)); err == nil {
			p.Texts[link] = target
		} else {
			a.absent(name+": "+link, err)
		}
	}
	if pid > 0 {
		p.Libraries = libraries(folder)
		p.Files = a.open(name, folder)
	} else if text, err := inherited(); err == nil {
		p.Texts["limits"] = text
	} else {
		delete(p.Texts, "limits")
		a.Absent[name+": limits"] = "asking cat for them: " + err.Error()
	}
	a.Processes[name] = p
}

// inherited are the limits of what the agent starts. A program written in Go, as
// this one, raises its own.
func inherited() (string, error) {
	path, err := inPath("cat")
	if err != nil {
		return "", err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	pid, err := syscall.ForkExec(path, []string{"cat", "/proc/self/limits"}, &syscall.ProcAttr{Files: []uintptr{0, write.Fd(), 2}})
	write.Close()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(read)
	_, _ = syscall.Wait4(pid, nil, 0, nil)
	if err == nil && len(text) == 0 {
		err = errors.New("it printed nothing")
	}
	return string(text), err
}

// serving follows starters to what they run.
func serving(pid int) int {
	for range 8 {
		exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
		if err != nil || !slices.Contains(starters, filepath.Base(exe)) {
			break
		}
		child := firstChild(pid)
		if child == 0 {
			break
		}
		pid = child
	}
	return pid
}

// firstChild is the one with the smallest number; 0 where there is none.
func firstChild(of int) (first int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || first > 0 && pid > first {
			continue
		}
		stat, err := read("/proc/" + e.Name() + "/stat")
		// pid (name) state parent ...; the name may hold anything.
		rest := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		if err == nil && len(rest) > 1 && rest[1] == strconv.Itoa(of) {
			first = pid
		}
	}
	return first
}

func libraries(folder string) (list []string) {
	text, _ := read(folder + "/maps")
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 6 && strings.Contains(fields[1], "x") && strings.HasPrefix(fields[5], "/") && !slices.Contains(list, fields[5]) {
			list = append(list, fields[5])
		}
	}
	return list
}

func (a *Answer) open(name, folder string) (list []File) {
	entries, err := os.ReadDir(folder + "/fd")
	if err != nil {
		a.absent(name+": fd", err)
	}
	for _, e := range entries[:min(len(entries), mostOpen)] {
		number, err := strconv.Atoi(e.Name())
		target, gone := os.Readlink(folder + "/fd/" + e.Name())
		if errors.Is(gone, os.ErrPermission) {
			a.absent(name+": fd", gone)
		}
		if err != nil || gone != nil || strings.HasPrefix(target, "socket:") || strings.HasPrefix(target, "anon_inode:") {
			continue
		}
		f := File{Number: number, Target: target}
		info, _ := read(folder + "/fdinfo/" + e.Name())
		for line := range strings.Lines(info) {
			if flags, ok := strings.CutPrefix(line, "flags:"); ok {
				f.Flags = strings.TrimSpace(flags)
			}
		}
		list = append(list, f)
	}
	return list
}

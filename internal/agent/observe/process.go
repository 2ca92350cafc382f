package observe

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linux/procfile"
	"tare/internal/linux/searchpath"
)

var (
	processTexts = []string{"status", "stat", "limits", "cmdline", "environ", "oom_score_adj", "attr/current", "uid_map"}
	processLinks = []string{"exe", "cwd", "ns/pid", "ns/mnt", "ns/net", "ns/ipc", "ns/uts", "ns/cgroup", "ns/user", "ns/time"}
	// launchers run another program and wait for it.
	launchers = []string{"sh", "dash", "bash", "ash", "busybox", "ksh", "zsh", "su", "sudo", "runuser", "tini", "dumb-init", "timeout", "setpriv"}
)

// maxOpenFiles bounds how many open files of a process are listed.
const maxOpenFiles = 512

// process describes a process that the agent started, or the program that it
// runs if it is a shell or another launcher. 0 is the calling process.
func (a *Answer) process(name string, pid int) {
	if pid == 0 {
		p := a.textsAndLinks(name, "/proc/self")
		if text, err := inheritedLimits(); err == nil {
			p.Texts["limits"] = text
		} else {
			delete(p.Texts, "limits")
			a.Absent[name+": limits"] = "reading them with cat: " + err.Error()
		}
		a.Processes[name] = p
		return
	}
	for range 100 {
		if a.settled(name, "/proc/"+strconv.Itoa(followLaunchers(pid))) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// settled describes a process. It returns false for one that another program is just
// replacing: it has no command line, or that of one program and the file of the other.
func (a *Answer) settled(name, dir string) bool {
	defer asOwner(dir)()
	p := a.textsAndLinks(name, dir)
	p.Libraries = libraries(dir)
	p.Files = a.openFiles(name, dir)
	a.Processes[name] = p
	exe, err := os.Readlink(dir + "/exe")
	return err != nil || exe == p.Texts["exe"] && p.Texts["cmdline"] != ""
}

func (a *Answer) textsAndLinks(name, dir string) Process {
	p := Process{Texts: map[string]string{}}
	for _, file := range processTexts {
		if text, err := read(filepath.Join(dir, file)); err == nil {
			p.Texts[file] = strings.ToValidUTF8(text, "?")
			delete(a.Absent, name+": "+file) // of another program, which it replaced
		} else {
			a.absent(name+": "+file, err)
		}
	}
	for _, link := range processLinks {
		if target, err := os.Readlink(filepath.Join(dir, link)); err == nil {
			p.Texts[link] = target
			delete(a.Absent, name+": "+link)
		} else {
			a.absent(name+": "+link, err)
		}
	}
	return p
}

// asOwner takes the identity of a process's user for access to files, until the
// function that it returns is called. Without CAP_SYS_PTRACE, which containers lack, the
// kernel shows most of /proc/PID to the process's own user alone, not to root.
func asOwner(dir string) func() {
	var owner unix.Stat_t
	if unix.Stat(dir, &owner) != nil || owner.Uid == uint32(os.Getuid()) {
		return func() {}
	}
	runtime.LockOSThread() // the identity is the thread's
	_ = unix.Setfsgid(int(owner.Gid))
	_ = unix.Setfsuid(int(owner.Uid))
	return func() {
		_ = unix.Setfsuid(os.Getuid())
		_ = unix.Setfsgid(os.Getgid())
		runtime.UnlockOSThread()
	}
}

// executable is the program of a process.
func executable(dir string) (string, error) {
	defer asOwner(dir)()
	return os.Readlink(dir + "/exe")
}

// inheritedLimits returns the limits of a process that the agent starts. The
// agent's own differ, since the Go runtime raises RLIMIT_NOFILE.
func inheritedLimits() (string, error) {
	path, err := searchpath.Find("cat", os.Getenv("PATH"))
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

// followLaunchers returns the process that a chain of launchers runs.
func followLaunchers(pid int) int {
	for range 8 {
		exe, err := executable("/proc/" + strconv.Itoa(pid))
		if err != nil || !slices.Contains(launchers, filepath.Base(exe)) {
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

// firstChild returns the child with the smallest PID, 0 if there is none.
func firstChild(of int) (first int) {
	for pid, parent := range procfile.Parents() {
		if parent == of && (first == 0 || pid < first) {
			first = pid
		}
	}
	return first
}

// libraries lists the files that are mapped executable.
func libraries(dir string) (list []string) {
	text, _ := read(dir + "/maps")
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 6 && strings.Contains(fields[1], "x") && strings.HasPrefix(fields[5], "/") && !slices.Contains(list, fields[5]) {
			list = append(list, fields[5])
		}
	}
	return list
}

// openFiles lists the open files that are neither sockets nor anonymous inodes.
func (a *Answer) openFiles(name, dir string) (list []File) {
	entries, err := os.ReadDir(dir + "/fd")
	if err != nil {
		a.absent(name+": fd", err)
	}
	for _, e := range entries[:min(len(entries), maxOpenFiles)] {
		number, err := strconv.Atoi(e.Name())
		target, gone := os.Readlink(dir + "/fd/" + e.Name())
		if errors.Is(gone, os.ErrPermission) {
			a.absent(name+": fd", gone)
		}
		if err != nil || gone != nil || strings.HasPrefix(target, "socket:") || strings.HasPrefix(target, "anon_inode:") {
			continue
		}
		f := File{Number: number, Target: target}
		info, _ := read(dir + "/fdinfo/" + e.Name())
		for line := range strings.Lines(info) {
			if flags, ok := strings.CutPrefix(line, "flags:"); ok {
				f.Flags = strings.TrimSpace(flags)
			}
		}
		list = append(list, f)
	}
	return list
}

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testing/sshguest"
)

// launch starts the process of a VM, as VirtualBox's daemon does it: it is
// nobody's child here, and it stays when VBoxManage ends.
func (b *box) launch(v *machine) (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	said, say, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer said.Close()
	s := v.Settings
	cmd := exec.Command(self)
	cmd.Args = append([]string{"/usr/lib/virtualbox/VBoxHeadless", "--comment", v.Name, "--startvm", v.UUID, "--vrde", "config"}, s.Forwards...)
	cmd.Env = append(os.Environ(), "VBOX_USER_HOME="+b.folder, "DISK="+b.disk(v), "CPUS="+strconv.Itoa(s.CPUs), "MEMORY="+strconv.Itoa(s.Memory))
	cmd.ExtraFiles = []*os.File{say}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		say.Close()
		return 0, err
	}
	say.Close()
	line, err := bufio.NewReader(said).ReadString('\n')
	if strings.TrimSpace(line) != "running" {
		cmd.Process.Kill()
		cmd.Wait()
		return 0, fmt.Errorf("The virtual machine '%s' has terminated unexpectedly during startup: %s (%v)", v.Name, line, err)
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// headless is the process of a VM: threads called as VirtualBox calls those
// that run the guest's code, and the guest's stand-in.
func headless(words []string) {
	runtime.LockOSThread()
	said := os.NewFile(3, "said")
	unix.CloseOnExec(3)
	fail := func(err error) {
		fmt.Fprintln(said, err)
		os.Exit(1)
	}
	folder := os.Getenv("VBOX_USER_HOME")
	g := sshguest.Guest{Keys: sshguest.Keys(filepath.Join(folder, "keys")), Folder: os.Getenv("DISK")}
	g.Images, _ = filepath.EvalSymlinks(filepath.Join(folder, "images")) // of the template, if it has any
	mib, _ := strconv.ParseInt(os.Getenv("MEMORY"), 10, 64)
	g.Place = sshguest.Memory(mib << 20)
	var forwards []string
	for _, word := range words {
		if strings.Count(word, ",") == 5 {
			forwards = append(forwards, word)
		}
	}
	for _, rule := range forwards {
		parts := strings.Split(rule, ",")
		l, err := net.Listen("tcp4", net.JoinHostPort(parts[2], parts[3]))
		if err != nil {
			continue // VirtualBox notes it in its log, and the VM runs on
		}
		door, err := l.(*net.TCPListener).File()
		if err != nil {
			fail(err)
		}
		l.Close()
		g.Forwarded = append(g.Forwarded, door)
	}
	cpus, _ := strconv.Atoi(os.Getenv("CPUS"))
	for n := range cpus {
		go func() {
			runtime.LockOSThread()
			os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()), []byte(fmt.Sprintf("EMT-%d", n)), 0)
			select {}
		}()
	}
	fmt.Fprintln(said, "running")
	said.Close()
	// Now this process is moved to where it belongs. A guest's code runs in the
	// threads of its VM and goes with them; a stand-in's has to be started there.
	where := group()
	for deadline := time.Now().Add(time.Second); group() == where && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := sshguest.Boot(g); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(-1, &status, 0, nil); err != unix.EINTR {
			return // a guest that has ended powers its VM off
		}
	}
}

func group() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	return string(text)
}

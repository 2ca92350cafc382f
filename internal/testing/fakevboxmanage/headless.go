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

// launch starts the process of a VM. As with VirtualBox's daemon, it is not a child
// of tare, and it outlives VBoxManage.
func (b *box) launch(v *machine) (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer statusR.Close()
	s := v.Settings
	cmd := exec.Command(self)
	cmd.Args = append([]string{"/usr/lib/virtualbox/VBoxHeadless", "--comment", v.Name, "--startvm", v.UUID, "--vrde", "config"}, s.Forwards...)
	cmd.Env = append(os.Environ(), "VBOX_USER_HOME="+b.folder, "DISK="+b.disk(v), "CPUS="+strconv.Itoa(s.CPUs), "MEMORY="+strconv.Itoa(s.Memory))
	cmd.ExtraFiles = []*os.File{statusW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		statusW.Close()
		return 0, err
	}
	statusW.Close()
	line, err := bufio.NewReader(statusR).ReadString('\n')
	if strings.TrimSpace(line) != "running" {
		cmd.Process.Kill()
		cmd.Wait()
		return 0, fmt.Errorf("The virtual machine '%s' has terminated unexpectedly during startup: %s (%v)", v.Name, line, err)
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// headless is the process of a VM: threads with the names of VirtualBox's emulation
// threads, and the fake guest.
func headless(words []string) {
	runtime.LockOSThread()
	status := os.NewFile(3, "status")
	unix.CloseOnExec(3)
	fail := func(err error) {
		fmt.Fprintln(status, err)
		os.Exit(1)
	}
	folder := os.Getenv("VBOX_USER_HOME")
	g := sshguest.Guest{Keys: sshguest.Keys(filepath.Join(folder, "keys")), Folder: os.Getenv("DISK")}
	g.Images, _ = filepath.EvalSymlinks(filepath.Join(folder, "images")) // of the template, if it has images
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
			continue // VirtualBox logs this, and starts the VM
		}
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			fail(err)
		}
		l.Close()
		g.Forwarded = append(g.Forwarded, file)
	}
	cpus, _ := strconv.Atoi(os.Getenv("CPUS"))
	for n := range cpus {
		go func() {
			runtime.LockOSThread()
			os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()), []byte(fmt.Sprintf("EMT-%d", n)), 0)
			select {}
		}()
	}
	fmt.Fprintln(status, "running")
	status.Close()
	// Now tare moves this process into its cgroup. A real guest runs in the threads of
	// this process; the fake one must be started after the move.
	where := group()
	for deadline := time.Now().Add(time.Minute); group() == where && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := sshguest.Boot(g); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var wait unix.WaitStatus
	for {
		if _, err := unix.Wait4(-1, &wait, 0, nil); err != unix.EINTR {
			return // the exit of the guest powers off its VM
		}
	}
}

func group() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	return string(text)
}

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
func (b *box) launch(v *machine) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer statusR.Close()
	cmd := exec.Command(self)
	cmd.Args = []string{"/usr/lib/virtualbox/VBoxHeadless", "--comment", v.Name, "--startvm", v.UUID, "--vrde", "config"}
	cmd.Env = append(os.Environ(), "VBOX_USER_HOME="+b.folder)
	cmd.ExtraFiles = []*os.File{statusW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	statusW.Close()
	if err != nil {
		return err
	}
	if line, err := bufio.NewReader(statusR).ReadString('\n'); line != "running\n" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("The virtual machine '%s' has terminated unexpectedly during startup: %s (%v)", v.Name, line, err)
	}
	v.PID = cmd.Process.Pid
	return cmd.Process.Release()
}

// headless is the process of a VM: threads with the names of VirtualBox's emulation
// threads, and the fake guest.
func headless(folder, uuid string) {
	runtime.LockOSThread()
	status := os.NewFile(3, "status")
	unix.CloseOnExec(3)
	b := read(folder)
	v, err := b.find(uuid)
	if err != nil {
		panic(err) // what launched it has found it
	}
	g := sshguest.Guest{Keys: sshguest.Keys(filepath.Join(folder, "keys")), Folder: b.disk(v)}
	g.Images, _ = filepath.EvalSymlinks(filepath.Join(folder, "images")) // of the template, if it has images
	mib, _ := strconv.ParseInt(v.Settings.Values["memory"], 10, 64)
	g.Place = sshguest.Memory(mib << 20)
	for _, rule := range v.Settings.Forwards {
		parts := strings.Split(rule, ",")
		l, err := net.Listen("tcp4", net.JoinHostPort(parts[2], parts[3]))
		if err != nil {
			continue // VirtualBox logs this, and starts the VM
		}
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			panic(err)
		}
		l.Close()
		g.Forwarded = append(g.Forwarded, file)
	}
	cpus, _ := strconv.Atoi(v.Settings.Values["cpus"])
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

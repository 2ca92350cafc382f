// Package sshguest stands in for the guest of a hypervisor in tests, where no
// hypervisor is: a real sshd, up some time after its VM was started, in
// namespaces of its own for processes, mounts, network and control groups. When
// the process that runs the VM ends, all in the guest ends.
//
// Its kernel and files are this machine's, except for tare's home. So it shows
// the way to a guest and the life of a VM, and nothing of what a VM costs or
// holds back. Only tests import it.
package sshguest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linux/netns"
)

// Keys is the folder of what a template would have inside, and its user outside.
type Keys string

// NewKeys makes a host key and a user's key.
func NewKeys(folder string) (Keys, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"host", "user"} {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if said, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "stand-in", "-f", file).CombinedOutput(); err != nil {
			return "", fmt.Errorf("making a key: %w: %s", err, said)
		}
	}
	return Keys(folder), nil
}

// Identity is the file of the key that the guest lets in.
func (k Keys) Identity() string { return filepath.Join(string(k), "user") }

// HostKey is the guest's public key.
func (k Keys) HostKey() string {
	line, _ := os.ReadFile(filepath.Join(string(k), "host.pub"))
	return strings.TrimSpace(string(line))
}

// Guest says what a guest is booted from.
type Guest struct {
	Keys   Keys
	Folder string // of the VM: its disk, as it were
	// Images is a store of images that the template has inside already; "" for none.
	Images string
	// Forwarded are listeners outside that lead to the guest's sshd, as the ports do
	// that a user-mode network stack forwards.
	Forwarded []*os.File `json:"-"`
	// NetNS is a network namespace with a network card for the guest; nil for
	// one of its own with a loopback alone.
	NetNS *os.File `json:"-"`
	// Place puts the guest's first process where it belongs, before it goes on.
	Place func(pid int) error `json:"-"`
	// Visible leaves the guest's processes the numbers that they have here. Then
	// whoever boots it ends its group, since not all end with the first process.
	Visible bool
}

const asked = "TARE_STANDIN"

// BootTime passes between a VM's start and its guest's sshd, at least.
const BootTime = 300 * time.Millisecond

// Boot starts a guest that ends with the calling thread: lock it.
func Boot(g Guest) (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(g.Folder, "home"), 0o700); err != nil {
		return nil, err
	}
	console, err := os.OpenFile(filepath.Join(g.Folder, "console.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer console.Close()
	what, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	waits, placed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer waits.Close()
	cmd := exec.Command(self)
	cmd.Args = []string{"stand-in-guest"}
	cmd.Env = append(os.Environ(), asked+"="+string(what))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = console, console, append([]*os.File{waits}, g.Forwarded...)
	flags := unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
	if !g.Visible {
		flags |= unix.CLONE_NEWPID
	}
	start := cmd.Start
	if g.NetNS == nil {
		flags |= unix.CLONE_NEWNET
	} else {
		start = func() error { return netns.Within(g.NetNS, cmd.Start) }
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: uintptr(flags), Pdeathsig: syscall.SIGKILL}
	err = start()
	if err == nil && g.Place != nil {
		if err = g.Place(cmd.Process.Pid); err != nil {
			cmd.Process.Kill()
		}
	}
	placed.Close()
	if err != nil {
		return nil, fmt.Errorf("starting the stand-in of a guest: %w", err)
	}
	return cmd.Process, nil
}

// Memory places a guest into a group below this process's own, in which all may
// take so many bytes together. It needs control groups of version 1.
func Memory(bytes int64) func(pid int) error {
	return func(pid int) error {
		here, ok := memoryGroup()
		if !ok {
			return nil
		}
		there := filepath.Join(here, "stand-in")
		if err := os.Mkdir(there, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		return errors.Join(
			os.WriteFile(filepath.Join(there, "memory.limit_in_bytes"), []byte(fmt.Sprint(bytes)), 0),
			os.WriteFile(filepath.Join(there, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0))
	}
}

// memoryGroup is the folder of this process's group of the controller memory,
// in version 1.
func memoryGroup() (string, bool) {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && parts[1] == "memory" {
			folder := filepath.Join("/sys/fs/cgroup/memory", parts[2])
			_, err := os.Stat(folder)
			return folder, err == nil
		}
	}
	return "", false
}

func run(words ...string) error {
	if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(said)))
	}
	return nil
}

// RunIfAsked is the first line of a program that boots guests: the same program
// is the guest's first process.
func RunIfAsked() {
	text, ok := os.LookupEnv(asked)
	if !ok {
		return
	}
	os.Unsetenv(asked)
	runtime.LockOSThread()
	var g Guest
	err := json.Unmarshal([]byte(text), &g)
	if err == nil {
		err = g.run()
	}
	fmt.Fprintln(os.Stderr, "stand-in of a guest:", err)
	os.Exit(1)
}

// run is the life of the guest's first process. What it needs of its own lies
// below /mnt, since sshd's configuration cannot name every path.
func (g Guest) run() error {
	io.Copy(io.Discard, os.NewFile(3, "placed"))
	time.Sleep(BootTime)
	if err := g.scene(); err != nil {
		return err
	}
	sshd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", "/mnt/sshd_config")
	sshd.Stdout, sshd.Stderr = os.Stdout, os.Stderr
	if err := sshd.Start(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		door, err := net.FileListener(os.NewFile(uintptr(4+n), "door"))
		if err != nil {
			break // there is no further one
		}
		go relay(door)
	}
	return fmt.Errorf("sshd ended: %w", sshd.Wait())
}

const config = `Port 22
HostKey /mnt/host
AuthorizedKeysFile /mnt/user.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
MaxStartups 100
MaxSessions 100
SetEnv TARE_HOME=/var/lib/tare
`

// Home is where tare's files are inside of a machine: the guest has its own.
const Home = "/var/lib/tare"

// scene makes the mounts and the network that a guest has of its own.
func (g Guest) scene() error {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil { // now that it is where it belongs
		return fmt.Errorf("control groups of its own: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if err := ownGroups(); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(Home, 0o755), os.MkdirAll("/run/sshd", 0o755)); err != nil {
		return err
	}
	if err := unix.Mount(filepath.Join(g.Folder, "home"), Home, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s: %w", Home, err)
	}
	files := map[string][]byte{"sshd_config": []byte(config)}
	for _, name := range []string{"host", "user.pub"} {
		content, err := os.ReadFile(filepath.Join(string(g.Keys), name))
		if err != nil {
			return err
		}
		files[name] = content
	}
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("/mnt: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join("/mnt", name), content, 0o600); err != nil {
			return err
		}
	}
	if err := g.images(); err != nil {
		return err
	}
	// What this machine's root has its shells do is nobody's business there.
	if err := unix.Mount("tmpfs", "/root", "tmpfs", 0, "mode=700"); err != nil {
		return fmt.Errorf("/root: %w", err)
	}
	unix.Sethostname([]byte("guest"))
	return run("ip", "link", "set", "lo", "up")
}

// images shows the template's store, and keeps what is written to it in the VM's
// own folder, as a differencing disk does.
func (g Guest) images() error {
	if g.Images == "" {
		return nil
	}
	own := filepath.Join(g.Folder, "images")
	shown := filepath.Join(Home, "images")
	for _, folder := range []string{g.Images, filepath.Join(own, "upper"), filepath.Join(own, "work"), shown, "/mnt/below", "/mnt/own"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	// The options of an overlay cannot name every path.
	return errors.Join(
		unix.Mount(g.Images, "/mnt/below", "", unix.MS_BIND, ""),
		unix.Mount(own, "/mnt/own", "", unix.MS_BIND, ""),
		unix.Mount("overlay", shown, "overlay", 0, "lowerdir=/mnt/below,upperdir=/mnt/own/upper,workdir=/mnt/own/work"),
	)
}

// ownGroups mounts the groups anew: in their namespace the guest's own group is
// the root of each hierarchy.
func ownGroups() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		// 31 24 0:27 / /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu
		place, kind, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(place), strings.Fields(kind)
		if len(where) < 5 || len(what) < 3 || !strings.HasPrefix(what[0], "cgroup") {
			continue
		}
		data := ""
		if what[0] == "cgroup" {
			data = strings.TrimPrefix(strings.TrimPrefix(what[2], "rw"), ",")
		}
		if err := unix.Unmount(where[4], unix.MNT_DETACH); err != nil {
			return fmt.Errorf("%s: %w", where[4], err)
		}
		if err := unix.Mount(what[0], where[4], what[0], 0, data); err != nil {
			return fmt.Errorf("%s with %q: %w", where[4], data, err)
		}
	}
	return nil
}

// relay carries each connection to the sshd of the guest that it runs in. One
// that leads nowhere is closed, as before sshd is up.
func relay(door net.Listener) {
	for {
		outer, err := door.Accept()
		if err != nil {
			return
		}
		go func() {
			defer outer.Close()
			inner, err := net.Dial("tcp", "127.0.0.1:22")
			if err != nil {
				return
			}
			defer inner.Close()
			over := make(chan struct{}, 2)
			carry := func(to, from net.Conn) {
				io.Copy(to, from)
				to.(*net.TCPConn).CloseWrite()
				over <- struct{}{}
			}
			go carry(inner, outer)
			carry(outer, inner)
			<-over
			<-over
		}()
	}
}

// Package sshguest is a test double of a hypervisor's guest: a real sshd that is up
// some time after its VM was started, in separate PID, mount, network and cgroup
// namespaces. When the process of the VM exits, all processes of the guest are
// killed.
//
// Its kernel and files are this machine's, except for tare's home. It therefore
// tests the connection to a guest and the lifecycle of a VM, but not the cost of a
// VM or its limits. Only tests import it.
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

// Keys is a directory with the host key of a guest and the key of its user.
type Keys string

// NewKeys creates a host key and a user's key.
func NewKeys(folder string) (Keys, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"host", "user"} {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if output, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "fake-guest", "-f", file).CombinedOutput(); err != nil {
			return "", fmt.Errorf("creating a key: %w: %s", err, output)
		}
	}
	return Keys(folder), nil
}

// Identity is the private key file of the user.
func (k Keys) Identity() string { return filepath.Join(string(k), "user") }

// HostKey is the public host key of the guest.
func (k Keys) HostKey() string {
	line, _ := os.ReadFile(filepath.Join(string(k), "host.pub"))
	return strings.TrimSpace(string(line))
}

// Guest is the configuration of a guest.
type Guest struct {
	Keys   Keys
	Folder string // of the VM, in place of its disk
	// Images is an image store that the template contains; "" for none.
	Images string
	// Forwarded are listeners outside whose connections go to the guest's sshd, like
	// the forwarded ports of a user-mode network stack.
	Forwarded []*os.File `json:"-"`
	// NetNS is the network namespace of the guest; nil for a new one with only a
	// loopback.
	NetNS *os.File `json:"-"`
	// Place moves the guest's first process into its cgroup before it continues.
	Place func(pid int) error `json:"-"`
	// Visible runs the guest in the host's PID namespace. The caller of Boot must
	// then kill the cgroup, since not all processes exit with the first one.
	Visible bool
}

const asked = "TARE_FAKE_GUEST"

// BootTime is the minimum time between the start of a VM and that of its sshd.
const BootTime = 300 * time.Millisecond

// Boot starts a guest, which is killed when the calling thread exits: call
// runtime.LockOSThread first.
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
	cmd.Args = []string{"fake-guest"}
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
		return nil, fmt.Errorf("starting the fake guest: %w", err)
	}
	return cmd.Process, nil
}

// Memory returns a Place that moves a guest into a cgroup below that of this process,
// with a limit of memory. It has an effect only with cgroup v1.
func Memory(bytes int64) func(pid int) error {
	return func(pid int) error {
		here, ok := memoryGroup()
		if !ok {
			return nil
		}
		there := filepath.Join(here, "fake-guest")
		if err := os.Mkdir(there, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		return errors.Join(
			os.WriteFile(filepath.Join(there, "memory.limit_in_bytes"), []byte(fmt.Sprint(bytes)), 0),
			os.WriteFile(filepath.Join(there, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0))
	}
}

// memoryGroup returns the directory of this process's cgroup of the memory
// controller in cgroup v1.
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
	if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// RunIfAsked must be the first call in main of a program that boots guests, since the
// guest's first process is the same program.
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
	fmt.Fprintln(os.Stderr, "fake guest:", err)
	os.Exit(1)
}

// run is the guest's first process. Its files are below /mnt, since sshd's
// configuration cannot contain every path.
func (g Guest) run() error {
	io.Copy(io.Discard, os.NewFile(3, "placed"))
	time.Sleep(BootTime)
	if err := g.isolate(); err != nil {
		return err
	}
	sshd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", "/mnt/sshd_config")
	sshd.Stdout, sshd.Stderr = os.Stdout, os.Stderr
	if err := sshd.Start(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		forwarded, err := net.FileListener(os.NewFile(uintptr(4+n), "forwarded"))
		if err != nil {
			break // no more listeners
		}
		go forward(forwarded)
	}
	return fmt.Errorf("sshd exited: %w", sshd.Wait())
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

// Home is tare's home in the guest, which is not that of this machine.
const Home = "/var/lib/tare"

// isolate creates the mounts and the network of the guest.
func (g Guest) isolate() error {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil { // now that it is in its cgroup
		return fmt.Errorf("cgroup namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount propagation: %w", err)
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
	// The guest must not read the shell configuration of this machine's root.
	if err := unix.Mount("tmpfs", "/root", "tmpfs", 0, "mode=700"); err != nil {
		return fmt.Errorf("/root: %w", err)
	}
	unix.Sethostname([]byte("guest"))
	return run("ip", "link", "set", "lo", "up")
}

// images mounts the template's store with an overlay in the VM's directory, like a
// differencing disk.
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
	// The mount options of overlayfs cannot contain every path.
	return errors.Join(
		unix.Mount(g.Images, "/mnt/below", "", unix.MS_BIND, ""),
		unix.Mount(own, "/mnt/own", "", unix.MS_BIND, ""),
		unix.Mount("overlay", shown, "overlay", 0, "lowerdir=/mnt/below,upperdir=/mnt/own/upper,workdir=/mnt/own/work"),
	)
}

// ownGroups remounts the cgroup hierarchies: in the new namespace the guest's cgroup
// is the root of each.
func ownGroups() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		// 31 24 0:27 / /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu
		mount, filesystem, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(mount), strings.Fields(filesystem)
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

// forward proxies each connection to the guest's sshd. A connection is closed if sshd
// is not up yet.
func forward(listener net.Listener) {
	for {
		outer, err := listener.Accept()
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
			done := make(chan struct{}, 2)
			copyTo := func(to, from net.Conn) {
				io.Copy(to, from)
				to.(*net.TCPConn).CloseWrite()
				done <- struct{}{}
			}
			go copyTo(inner, outer)
			copyTo(outer, inner)
			<-done
			<-done
		}()
	}
}

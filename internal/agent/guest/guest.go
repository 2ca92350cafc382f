// Package guest makes the agent a virtual machine's first process: it loads
// the drivers, mounts the image's disk, opens the channel to the host, serves,
// and switches the machine off. The kernel's command line configures it
// (see Words).
//
// It must not know the protocol, nor which hypervisor it runs under.
package guest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/agent/server"
)

// Run is the whole life of a guest. It does not return: a first process that
// ends is a kernel panic.
func Run(o server.Options) {
	words := Config{}
	defer func() {
		if crash := recover(); crash != nil {
			say(fmt.Errorf("it crashed: %v\n%s", crash, debug.Stack()))
		}
		switchOff(words)
	}()
	channel, err := setUp(&words)
	if err == nil && words.Timer != 0 {
		stopTimer(words.Timer)
	}
	if err == nil {
		err = server.Serve(channel, o)
	}
	if err != nil {
		say(err)
	}
}

// setUp turns a bare kernel into the image's system with a channel to the host.
func setUp(words *Config) (io.ReadWriter, error) {
	for _, m := range []struct{ kind, to string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}} {
		if err := mount(m.kind, m.to, m.kind, 0, ""); err != nil {
			return nil, err
		}
	}
	useConsole()
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's command line: %w", err)
	}
	if *words, err = ParseCommandLine(string(line)); err != nil {
		return nil, err
	}
	news, err := listen()
	if err != nil {
		return nil, err
	}
	defer news.close()
	if err := loadModules("/modules", string(line), news); err != nil {
		return nil, err
	}
	if words.Root != "" {
		if err := news.waitFor(words.Root); err != nil {
			return nil, err
		}
		if err := mountRoot(*words, news); err != nil {
			return nil, err
		}
		if err := enter(); err != nil {
			return nil, err
		}
	}
	if err := furnish(*words, news); err != nil {
		return nil, err
	}
	if err := connectNetworks(words.Nets, news); err != nil {
		return nil, err
	}
	limitFiles()
	os.Clearenv()
	for _, entry := range append([]string{"PATH=" + server.Path, "HOME=/root", "TERM=dumb"}, words.Env...) {
		key, value, _ := strings.Cut(entry, "=")
		os.Setenv(key, value)
	}
	return openChannel(*words, news)
}

// stopTimer writes the byte that a VMM's boot timer waits for. Without it only
// the VMM's own figure is missing.
func stopTimer(address uint64) {
	const up = 123
	memory, err := os.OpenFile("/dev/mem", os.O_RDWR|unix.O_SYNC, 0)
	if err != nil {
		say(fmt.Errorf("stopping the boot timer: %w", err))
		return
	}
	defer memory.Close()
	page, err := unix.Mmap(int(memory.Fd()), int64(address), os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		say(fmt.Errorf("stopping the boot timer at %#x: %w", address, err))
		return
	}
	page[0] = up
	unix.Munmap(page)
}

// useConsole sends what the program itself prints, a crash of Go's runtime
// too, to where the host looks.
func useConsole() {
	fd, err := unix.Open("/dev/console", unix.O_WRONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	unix.Dup3(fd, 1, 0)
	unix.Dup3(fd, 2, 0)
	unix.Close(fd)
}

// root is where the root file system is mounted before it becomes the root.
const root = "/mnt"

// mountRoot mounts the disk, or lays what is written over a disk that several
// guests share.
func mountRoot(w Config, news *news) error {
	if !w.Over {
		return mount(w.Root, root, "ext4", 0, "")
	}
	const lower, upper = "/lower", "/upper"
	if err := mount(w.Root, lower, "ext4", unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if err := news.waitFor(w.Data); err != nil {
		return err
	}
	if err := mount(w.Data, upper, "ext4", 0, ""); err != nil {
		return err
	}
	for _, folder := range []string{"/root", "/work", "/data"} {
		if err := os.MkdirAll(upper+folder, 0o755); err != nil {
			return fmt.Errorf("making %s on the data disk: %w", folder, err)
		}
	}
	if err := mount("overlay", root, "overlay", 0, "lowerdir="+lower+",upperdir="+upper+"/root,workdir="+upper+"/work"); err != nil {
		return err
	}
	return mount(upper+"/data", root+"/data", "", unix.MS_BIND, "")
}

// enter makes the mounted file system the root and takes /dev, /proc and /sys
// along. What lay in the initramfs is deleted, since it lies in memory.
func enter() error {
	os.RemoveAll("/modules")
	os.Remove("/init")
	for _, folder := range []string{"/dev", "/proc", "/sys"} {
		if err := os.MkdirAll(root+folder, 0o755); err != nil {
			return fmt.Errorf("the root file system lacks %s: %w", folder, err)
		}
		if err := unix.Mount(folder, root+folder, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("moving %s into the root file system: %w", folder, err)
		}
	}
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("entering the root file system: %w", err)
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("moving the root file system to the top: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	return os.Chdir("/")
}

// furnish mounts what programs expect, and the data disk.
func furnish(w Config, news *news) error {
	for _, m := range []struct {
		kind, to, options string
		flags             uintptr
	}{
		{"devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=0620", unix.MS_NOSUID | unix.MS_NOEXEC},
		{"tmpfs", "/dev/shm", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", "/run", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := mount(m.kind, m.to, m.kind, m.flags, m.options); err != nil {
			return err
		}
	}
	// What devtmpfs leaves to the first process.
	for link, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		os.Symlink(to, "/dev/"+link)
	}
	// Nothing depends on it but what runs containers in here, and a limit on
	// processes, which is looked at from outside.
	mount("cgroup2", cgroups, "cgroup2", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if w.PIDs > 0 {
		if err := limitProcesses(w.PIDs); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/tmp", 0o1777); err != nil {
		return err
	}
	os.Chmod("/tmp", os.ModeSticky|0o777)
	if w.Data != "" && !w.Over {
		if err := news.waitFor(w.Data); err != nil {
			return err
		}
		if err := mount(w.Data, "/data", "ext4", 0, ""); err != nil {
			return err
		}
		os.Remove("/data/lost+found") // a data folder is empty in every environment
	} else if err := os.MkdirAll("/data", 0o755); err != nil {
		return err
	}
	// Servers run as users of their own and write there, so everybody may.
	if err := os.Chmod("/data", 0o777); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(w.Hostname)); err != nil {
		return fmt.Errorf("setting the host name %q: %w", w.Hostname, err)
	}
	return nil
}

// loadModules loads the kernel modules in the order that the file "order"
// lists. One that fails is remembered: what is missing because of it is missed
// later, and the message then names both.
func loadModules(folder, line string, news *news) error {
	order, err := os.ReadFile(filepath.Join(folder, "order"))
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel that has all built in
	}
	if err != nil {
		return fmt.Errorf("reading the list of modules: %w", err)
	}
	for _, name := range strings.Fields(string(order)) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, name)
		}
		if err := loadModule(path, parameters(line, name)); err != nil {
			news.failed = append(news.failed, fmt.Sprintf("%s: %v", name, err))
		}
	}
	return nil
}

// parameters are a module's own on the kernel's command line, MODULE.KEY=VALUE,
// by which some VMMs say where their devices are. The kernel itself hands them
// only to what is built in.
func parameters(line, file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	var list []string
	for _, word := range split(line) {
		if module, parameter, ok := strings.Cut(word, "."); ok && strings.ReplaceAll(module, "-", "_") == strings.ReplaceAll(name, "-", "_") {
			list = append(list, parameter)
		}
	}
	return strings.Join(list, " ")
}

func loadModule(path, parameters string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = unix.FinitModule(int(f.Fd()), parameters, 0)
	if err == unix.EEXIST || err == unix.ENODEV { // already there, or no such device
		return nil
	}
	return err
}

const cgroups = "/sys/fs/cgroup"

// limitProcesses puts this process, and so all that it will start, into a group
// that holds no more than so many. Here the limit is the guest kernel's: the
// host's does not know what runs in here.
func limitProcesses(n int) error {
	const group = cgroups + "/tare"
	for _, step := range []struct{ file, text string }{
		{cgroups + "/cgroup.subtree_control", "+pids"},
		{group + "/pids.max", strconv.Itoa(n)},
		{group + "/cgroup.procs", "0"},
	} {
		if err := os.MkdirAll(filepath.Dir(step.file), 0o755); err != nil {
			return fmt.Errorf("limiting the processes to %d: %w", n, err)
		}
		if err := os.WriteFile(step.file, []byte(step.text), 0o644); err != nil {
			return fmt.Errorf("limiting the processes to %d: writing %q: %w", n, step.text, err)
		}
	}
	return nil
}

// limitFiles gives commands the usual limits for open files. The kernel's own
// for its first process are lower than servers expect.
func limitFiles() {
	syscall.Setrlimit(unix.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1024, Max: 524288})
}

func mount(source, to, kind string, flags uintptr, options string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("making the folder %s: %w", to, err)
	}
	if err := unix.Mount(source, to, kind, flags, options); err != nil && err != unix.EBUSY {
		return fmt.Errorf("mounting %s (%s) on %s: %w", source, kind, to, err)
	}
	return nil
}

// say prints an error to the console and waits until it is out: the machine
// may be switched off next.
func say(err error) {
	console, opening := os.OpenFile("/dev/console", os.O_WRONLY|unix.O_NOCTTY, 0)
	if opening != nil {
		console = os.Stderr
	}
	fmt.Fprintf(console, "tare-agent: %v\n", err)
	unix.IoctlSetInt(int(console.Fd()), unix.TCSBRK, 1) // tcdrain
}

// switchOff ends the machine. It returns only where the kernel refuses.
func switchOff(w Config) {
	unix.Sync()
	how := unix.LINUX_REBOOT_CMD_POWER_OFF
	if w.Off == "reboot" {
		how = unix.LINUX_REBOOT_CMD_RESTART
	}
	say(fmt.Errorf("switching off: %w", unix.Reboot(how)))
}

// Package guest is the init (PID 1) of a virtual machine: it loads kernel
// modules, mounts the image's disk and switches root to it, opens the stream to
// the host, runs the agent, and powers the machine off. The kernel command line
// configures it (see Config).
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

// Run runs the guest and powers it off. It does not return, since the exit of
// PID 1 is a kernel panic.
func Run(o server.Options) {
	config := Config{}
	defer func() {
		if crash := recover(); crash != nil {
			logToConsole(fmt.Errorf("panic: %v\n%s", crash, debug.Stack()))
		}
		powerOff(config)
	}()
	channel, err := setUp(&config)
	if err == nil && config.Timer != 0 {
		stopTimer(config.Timer)
	}
	if err == nil {
		err = server.Serve(channel, o)
	}
	if err != nil {
		logToConsole(err)
	}
}

// setUp mounts the image's root file system, configures the network, and opens
// the stream to the host.
func setUp(config *Config) (io.ReadWriter, error) {
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
	if *config, err = ParseCommandLine(string(line)); err != nil {
		return nil, err
	}
	uevents, err := listenUevents()
	if err != nil {
		return nil, err
	}
	defer uevents.close()
	if err := loadModules("/modules", string(line), uevents); err != nil {
		return nil, err
	}
	if config.Root != "" {
		if err := uevents.waitForDevice(config.Root); err != nil {
			return nil, err
		}
		if err := mountRoot(*config, uevents); err != nil {
			return nil, err
		}
		if err := switchRoot(); err != nil {
			return nil, err
		}
	}
	if err := mountFilesystems(*config, uevents); err != nil {
		return nil, err
	}
	if err := connectNetworks(config.Nets, uevents); err != nil {
		return nil, err
	}
	// The kernel's defaults for init are lower than servers expect.
	_ = syscall.Setrlimit(unix.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1024, Max: 524288})
	os.Clearenv()
	for _, entry := range append([]string{"PATH=" + server.Path, "HOME=/root", "TERM=dumb"}, config.Env...) {
		key, value, _ := strings.Cut(entry, "=")
		_ = os.Setenv(key, value)
	}
	return openChannel(*config, uevents)
}

// stopTimer writes the byte that stops the VMM's boot timer. If it fails, only
// the VMM's own measurement of the boot is missing.
func stopTimer(address uint64) {
	const up = 123
	memory, err := os.OpenFile("/dev/mem", os.O_RDWR|unix.O_SYNC, 0)
	if err != nil {
		logToConsole(fmt.Errorf("stopping the boot timer: %w", err))
		return
	}
	defer memory.Close()
	page, err := unix.Mmap(int(memory.Fd()), int64(address), os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		logToConsole(fmt.Errorf("stopping the boot timer at %#x: %w", address, err))
		return
	}
	page[0] = up
	_ = unix.Munmap(page)
}

// useConsole redirects stdout and stderr to the console, which the host records.
func useConsole() {
	fd, err := unix.Open("/dev/console", unix.O_WRONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.Dup3(fd, 1, 0)
	_ = unix.Dup3(fd, 2, 0)
	unix.Close(fd)
}

// root is where the root file system is mounted before switch_root.
const root = "/mnt"

// mountRoot mounts the root disk, or an overlayfs with the root disk, which
// several guests share, as its lower layer.
func mountRoot(c Config, uevents *ueventListener) error {
	if !c.Over {
		return mount(c.Root, root, "ext4", 0, "")
	}
	const lower, upper = "/lower", "/upper"
	if err := mount(c.Root, lower, "ext4", unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if err := uevents.waitForDevice(c.Data); err != nil {
		return err
	}
	if err := mount(c.Data, upper, "ext4", 0, ""); err != nil {
		return err
	}
	for _, dir := range []string{"/root", "/work", "/data"} {
		if err := os.MkdirAll(upper+dir, 0o755); err != nil {
			return fmt.Errorf("creating %s on the data disk: %w", dir, err)
		}
	}
	if err := mount("overlay", root, "overlay", 0, "lowerdir="+lower+",upperdir="+upper+"/root,workdir="+upper+"/work"); err != nil {
		return err
	}
	return mount(upper+"/data", root+"/data", "", unix.MS_BIND, "")
}

// switchRoot makes the mounted file system the root, as switch_root(8) does: it
// deletes the initramfs, whose files take memory, moves /dev, /proc and /sys, and
// moves the mount to /. pivot_root(2) does not work on an initramfs.
func switchRoot() error {
	os.RemoveAll("/modules")
	os.Remove("/init")
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			return fmt.Errorf("creating %s in the root file system: %w", dir, err)
		}
		if err := unix.Mount(dir, root+dir, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("moving %s into the root file system: %w", dir, err)
		}
	}
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("entering the root file system: %w", err)
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("moving the root file system to /: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("changing root: %w", err)
	}
	return os.Chdir("/")
}

// mountFilesystems mounts the pseudo file systems that programs expect, and the
// data disk.
func mountFilesystems(c Config, uevents *ueventListener) error {
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
	// devtmpfs leaves these to init.
	for link, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		_ = os.Symlink(to, "/dev/"+link)
	}
	// It may fail: only container engines in the guest and tare.pids need it, and
	// the host checks the limit of processes.
	_ = mount("cgroup2", cgroups, "cgroup2", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if c.PIDs > 0 {
		if err := limitProcesses(c.PIDs); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/tmp", 0o1777); err != nil {
		return err
	}
	_ = os.Chmod("/tmp", os.ModeSticky|0o777)
	if c.Data != "" && !c.Over {
		if err := uevents.waitForDevice(c.Data); err != nil {
			return err
		}
		if err := mount(c.Data, "/data", "ext4", 0, ""); err != nil {
			return err
		}
		os.Remove("/data/lost+found") // the data directory is empty in every environment
	} else if err := os.MkdirAll("/data", 0o755); err != nil {
		return err
	}
	// Servers run as various users, and all of them write there.
	if err := os.Chmod("/data", 0o777); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(c.Hostname)); err != nil {
		return fmt.Errorf("setting the host name %q: %w", c.Hostname, err)
	}
	return nil
}

// loadModules loads the kernel modules that the file "order" lists. A module
// that fails to load is recorded, and named if a device is missing later.
func loadModules(dir, line string, uevents *ueventListener) error {
	order, err := os.ReadFile(filepath.Join(dir, "order"))
	if errors.Is(err, os.ErrNotExist) {
		return nil // all drivers are built into the kernel
	}
	if err != nil {
		return fmt.Errorf("reading the list of modules: %w", err)
	}
	for _, name := range strings.Fields(string(order)) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, name)
		}
		if err := loadModule(path, parameters(line, name)); err != nil {
			uevents.failed = append(uevents.failed, fmt.Sprintf("%s: %v", name, err))
		}
	}
	return nil
}

// parameters returns a module's parameters on the kernel command line,
// MODULE.KEY=VALUE, by which some VMMs pass the addresses of their devices. The
// kernel passes them to built-in drivers only.
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
	if err == unix.EEXIST || err == unix.ENODEV { // already loaded, or no such device
		return nil
	}
	return err
}

const cgroups = "/sys/fs/cgroup"

// limitProcesses moves this process, and so all that it starts, to a cgroup with
// pids.max. The guest's kernel enforces the limit, since the host's does not see
// the guest's processes.
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

func mount(source, to, kind string, flags uintptr, options string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("creating directory %s: %w", to, err)
	}
	if err := unix.Mount(source, to, kind, flags, options); err != nil && err != unix.EBUSY {
		return fmt.Errorf("mounting %s (%s) on %s: %w", source, kind, to, err)
	}
	return nil
}

// logToConsole prints an error to the console and waits until it is transmitted,
// since the machine may be powered off next.
func logToConsole(err error) {
	console, opening := os.OpenFile("/dev/console", os.O_WRONLY|unix.O_NOCTTY, 0)
	if opening != nil {
		console = os.Stderr
	}
	fmt.Fprintf(console, "tare-agent: %v\n", err)
	_ = unix.IoctlSetInt(int(console.Fd()), unix.TCSBRK, 1) // tcdrain
}

// powerOff powers the machine off or resets it. It returns only on an error.
func powerOff(c Config) {
	unix.Sync()
	how := unix.LINUX_REBOOT_CMD_POWER_OFF
	if c.Off == "reboot" {
		how = unix.LINUX_REBOOT_CMD_RESTART
	}
	logToConsole(fmt.Errorf("powering off: %w", unix.Reboot(how)))
}

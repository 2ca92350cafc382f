// Package native sets up an agent that runs on the host, in an image's root file
// system: cgroups, a private mount namespace, pivot_root. The mounts are in the
// agent's mount namespace and vanish with it.
//
// It must not know the protocol. At the end the agent is executed again.
package native

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Config is the configuration from the command line.
type Config struct {
	Root    string   // "/" is the host's root
	Cgroups []string // cgroup.procs or tasks files to write the agent's PID to
	Binds   []string // SRC:DST[:ro], DST below the root
	Tmpfs   []string // DST below the root

	// Mapped says that the process is root of a user namespace, which may mount no
	// /proc and no /sys of its own: those of the host are shown.
	Mapped       bool
	HostDev      bool     // the host's /dev, not a minimal one
	Masked       []string // paths that are hidden
	ReadOnly     []string // paths of the kernel that are read-only
	Capabilities string   // all, or names with commas between; "" for none
}

// hostRoot says that the root stays the host's.
func (s Config) hostRoot() bool { return s.Root == "" || s.Root == "/" }

type bind struct {
	from     *os.File
	to       string
	readOnly bool
	isDir    bool
}

// Enter moves the calling process into the cgroups, the mount namespace and the
// root. It must be called on the locked main thread, and Exec must follow:
// namespaces and root belong to a thread, and only the main thread's survive the
// exec.
func Enter(s Config) error {
	for _, file := range s.Cgroups {
		if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return fmt.Errorf("joining the cgroup: %w", err)
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("creating a mount namespace (this needs root, also of a user namespace): %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	// Sources are opened while the host's paths are reachable. All is mounted
	// after the change of root, so that a symbolic link in the image cannot direct
	// a mount out of it.
	binds, err := s.openBinds()
	if err != nil {
		return err
	}
	leave := func() error { return nil }
	if !s.hostRoot() {
		nodes, err := openDevices()
		if err != nil {
			return err
		}
		kernel := mountKernelFilesystems
		if s.Mapped {
			if kernel, err = cloneKernelFilesystems(); err != nil {
				return err
			}
		}
		if leave, err = s.changeRoot(); err != nil {
			return err
		}
		if err := kernel(); err != nil {
			return err
		}
		if !s.HostDev {
			if err := makeDevices(nodes); err != nil {
				return err
			}
		}
	}
	for _, b := range binds {
		if err := b.mount(); err != nil {
			return err
		}
		if !s.HostDev && !s.hostRoot() {
			if err := withoutDevices(b.to); err != nil {
				return err
			}
		}
	}
	for _, to := range s.Tmpfs {
		if err := mount("tmpfs", to, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
			return err
		}
	}
	if err := conceal(s.Masked, s.ReadOnly); err != nil {
		return err
	}
	if err := leave(); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return keepCapabilities(s.Capabilities)
}

func (s Config) openBinds() (binds []bind, err error) {
	texts := s.Binds
	if s.HostDev && !s.hostRoot() {
		texts = append([]string{"/dev:/dev"}, texts...)
	}
	for _, text := range texts {
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "ro" || !filepath.IsAbs(parts[0]) || !filepath.IsAbs(parts[1]) {
			return nil, fmt.Errorf("--bind %s: it must be /SOURCE:/TARGET or /SOURCE:/TARGET:ro", text)
		}
		from, err := openPath(parts[0])
		if err != nil {
			return nil, fmt.Errorf("--bind %s: %w", text, err)
		}
		info, err := from.Stat()
		if err != nil {
			return nil, fmt.Errorf("--bind %s: %w", text, err)
		}
		binds = append(binds, bind{from, filepath.Clean(parts[1]), len(parts) == 3, info.IsDir()})
	}
	return binds, nil
}

// changeRoot makes the image's directory the root, with pivot_root(2). The
// function that it returns unmounts the host's root, which the sources of the
// binds need until then.
func (s Config) changeRoot() (leave func() error, err error) {
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return nil, fmt.Errorf("--root %s: %w", s.Root, err)
	}
	if err := unix.Mount(root, root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return nil, fmt.Errorf("binding the root %s: %w", root, err)
	}
	if !s.HostDev {
		if err := withoutDevices(root); err != nil {
			return nil, err
		}
	}
	host, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the host's root: %w", err)
	}
	if err := unix.Chdir(root); err != nil {
		return nil, fmt.Errorf("entering the root %s: %w", root, err)
	}
	// pivot_root(".", ".") stacks the old root on top of the new one; it is
	// unmounted through the descriptor of the old root, see pivot_root(2).
	if err := unix.PivotRoot(".", "."); err == nil {
		return func() error {
			defer unix.Close(host)
			if err := errors.Join(unix.Fchdir(host), unix.Unmount(".", unix.MNT_DETACH)); err != nil {
				return fmt.Errorf("unmounting the host's root: %w", err)
			}
			return nil
		}, nil
	}
	// On an initramfs pivot_root fails; move the mount and chroot instead, as
	// switch_root does.
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return nil, fmt.Errorf("moving %s to /: %w", root, err)
	}
	if err := unix.Chroot("."); err != nil {
		return nil, fmt.Errorf("changing root to %s: %w", root, err)
	}
	return func() error { return unix.Close(host) }, nil
}

// mountKernelFilesystems mounts what the kernel itself provides.
func mountKernelFilesystems() error {
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	return mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "")
}

func (b bind) mount() error {
	if b.isDir {
		if err := os.MkdirAll(b.to, 0o755); err != nil {
			return fmt.Errorf("creating %s in the root: %w", b.to, err)
		}
	} else if err := b.makeFile(); err != nil {
		return fmt.Errorf("creating %s in the root: %w", b.to, err)
	}
	source := fmt.Sprintf("/proc/self/fd/%d", b.from.Fd())
	if err := unix.Mount(source, b.to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding %s to %s: %w", b.from.Name(), b.to, err)
	}
	b.from.Close()
	if b.readOnly {
		if err := restrict(b.to, 0); err != nil {
			return err
		}
	}
	switch b.to {
	case "/dev":
		return privateDevices()
	case "/data":
		// All users of the workload write here, and no workload needs privileges from
		// there. mount_setattr(2) keeps options of the source, such as noatime; Linux
		// before 5.12 lacks it.
		err := unix.MountSetattr(unix.AT_FDCWD, b.to, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV})
		if err != nil && !errors.Is(err, unix.ENOSYS) {
			return fmt.Errorf("mounting %s with nosuid and nodev: %w", b.to, err)
		}
	}
	return nil
}

func (b bind) makeFile() error {
	if _, err := os.Stat(b.to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(b.to, nil, 0o644)
}

// privateDevices mounts private instances over what processes share in the
// host's /dev. It creates no directory, since that would be in the host's /dev.
func privateDevices() error {
	for _, m := range []struct{ kind, to, options string }{
		{"tmpfs", "/dev/shm", "mode=1777"},
		{"devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=0620"},
	} {
		if _, err := os.Stat(m.to); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := unix.Mount(m.kind, m.to, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, m.options); err != nil {
			return fmt.Errorf("mounting %s: %w", m.to, err)
		}
	}
	return nil
}

func mount(source, to, kind string, flags uintptr, options string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("creating %s in the root: %w", to, err)
	}
	if err := unix.Mount(source, to, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", kind, to, err)
	}
	return nil
}

// Exec replaces this process with a program that was opened before the root was
// changed. It returns only on an error.
func Exec(program *os.File, argv, env []string) error {
	path := fmt.Sprintf("/proc/self/fd/%d", program.Fd())
	return fmt.Errorf("executing the agent inside its root: %w", syscall.Exec(path, argv, env))
}

// Package native sets the scene for an agent that runs on the host itself, in
// an image's root file system: cgroups, private mounts, chroot. All mounts lie
// in a mount namespace of the agent's own and vanish with it.
//
// It must not know the protocol; it ends by executing the agent again.
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

// Config is what the command line asks for.
type Config struct {
	Root    string   // "/" for the host's own
	Cgroups []string // cgroup.procs or tasks files to write the own process into
	Binds   []string // SRC:DST[:ro], DST below the root
	Tmpfs   []string // DST below the root
}

type bind struct {
	from     *os.File
	to       string
	readOnly bool
	folder   bool
}

// Enter builds the scene and moves the calling process into it. It must be
// called on the main thread, locked: namespaces and root belong to a thread,
// and only the caller's survives the exec that must follow.
func Enter(s Config) error {
	for _, file := range s.Cgroups {
		if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return fmt.Errorf("joining the cgroup: %w", err)
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("making a mount namespace (this needs root): %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	// Sources are opened while the host's paths are still in sight. Everything
	// is mounted after the chroot, so that a symbolic link in the image cannot
	// lead a mount out of it.
	binds, err := s.open()
	if err != nil {
		return err
	}
	leave := func() error { return nil }
	if s.Root != "" && s.Root != "/" {
		if leave, err = s.change(); err != nil {
			return err
		}
		if err := kernelFolders(); err != nil {
			return err
		}
	}
	for _, b := range binds {
		if err := b.mount(); err != nil {
			return err
		}
	}
	for _, to := range s.Tmpfs {
		if err := mount("tmpfs", to, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
			return err
		}
	}
	if err := leave(); err != nil {
		return err
	}
	return os.Chdir("/")
}

func (s Config) open() (binds []bind, err error) {
	texts := s.Binds
	if s.Root != "" && s.Root != "/" {
		texts = append([]string{"/dev:/dev"}, texts...)
	}
	for _, text := range texts {
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "ro" || !filepath.IsAbs(parts[0]) || !filepath.IsAbs(parts[1]) {
			return nil, fmt.Errorf("--bind %s: it takes /SOURCE:/TARGET or /SOURCE:/TARGET:ro", text)
		}
		fd, err := unix.Open(parts[0], unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("--bind %s: opening %s: %w", text, parts[0], err)
		}
		from := os.NewFile(uintptr(fd), parts[0])
		info, err := from.Stat()
		if err != nil {
			return nil, fmt.Errorf("--bind %s: %w", text, err)
		}
		binds = append(binds, bind{from, filepath.Clean(parts[1]), len(parts) == 3, info.IsDir()})
	}
	return binds, nil
}

// change makes the image's folder the root. The host's mounts are left by what
// it returns, and not before: the sources of the binds lie there.
func (s Config) change() (leave func() error, err error) {
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return nil, fmt.Errorf("--root %s: %w", s.Root, err)
	}
	if err := unix.Mount(root, root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return nil, fmt.Errorf("binding the root %s: %w", root, err)
	}
	host, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the host's root: %w", err)
	}
	if err := unix.Chdir(root); err != nil {
		return nil, fmt.Errorf("entering the root %s: %w", root, err)
	}
	// The old root ends up on top of the new one, where only the open folder
	// leads to it, and is taken off from there.
	if err := unix.PivotRoot(".", "."); err == nil {
		return func() error {
			defer unix.Close(host)
			if err := errors.Join(unix.Fchdir(host), unix.Unmount(".", unix.MNT_DETACH)); err != nil {
				return fmt.Errorf("leaving the host's root: %w", err)
			}
			return nil
		}, nil
	}
	// A host that runs from its initramfs cannot pivot.
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return nil, fmt.Errorf("moving %s to the top: %w", root, err)
	}
	if err := unix.Chroot("."); err != nil {
		return nil, fmt.Errorf("changing the root to %s: %w", root, err)
	}
	return func() error { return unix.Close(host) }, nil
}

// kernelFolders mounts what the kernel itself provides.
func kernelFolders() error {
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	return mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "")
}

func (b bind) mount() error {
	if b.folder {
		if err := os.MkdirAll(b.to, 0o755); err != nil {
			return fmt.Errorf("making %s in the root: %w", b.to, err)
		}
	} else if err := b.makeFile(); err != nil {
		return fmt.Errorf("making %s in the root: %w", b.to, err)
	}
	source := fmt.Sprintf("/proc/self/fd/%d", b.from.Fd())
	if err := unix.Mount(source, b.to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding %s to %s: %w", b.from.Name(), b.to, err)
	}
	b.from.Close()
	if b.readOnly {
		if err := unix.Mount("", b.to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("making %s read-only: %w", b.to, err)
		}
	}
	if b.to == "/dev" {
		return privateDevices()
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

// privateDevices covers what processes share through the host's /dev. It makes
// no folder there: that would be the host's.
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
		return fmt.Errorf("making %s in the root: %w", to, err)
	}
	if err := unix.Mount(source, to, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", kind, to, err)
	}
	return nil
}

// Exec executes a program, opened before the root was changed, in place of
// this process. It returns only on an error.
func Exec(program *os.File, argv, env []string) error {
	path := fmt.Sprintf("/proc/self/fd/%d", program.Fd())
	return fmt.Errorf("executing the agent inside its root: %w", syscall.Exec(path, argv, env))
}

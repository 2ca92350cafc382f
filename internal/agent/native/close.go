package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/linux/capability"
)

// devices are the nodes of a minimal /dev, which reach no hardware.
var devices = []struct {
	name         string
	major, minor uint32
}{
	{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
}

// links of a minimal /dev.
var links = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
}

// makeDevices mounts a minimal /dev. Nodes are made rather than bound: a change of
// their mode stays inside. sources are the host's nodes for where none can be made.
func makeDevices(sources map[string]*os.File) error {
	if err := mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755,size=64k"); err != nil {
		return err
	}
	for _, d := range devices {
		path := "/dev/" + d.name
		err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(d.major, d.minor)))
		if err == nil {
			err = os.Chmod(path, 0o666) // whatever the umask is
		} else if errors.Is(err, unix.EPERM) {
			err = bind{from: sources[d.name], to: path}.mount()
		}
		if err != nil {
			return fmt.Errorf("making %s: %w", path, err)
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return err
		}
	}
	for _, name := range []string{"/dev/shm", "/dev/pts"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			return err
		}
	}
	return privateDevices()
}

// openDevices opens the host's nodes.
func openDevices() (map[string]*os.File, error) {
	sources := map[string]*os.File{}
	for _, d := range devices {
		file, err := openPath("/dev/" + d.name)
		if err != nil {
			return nil, err
		}
		sources[d.name] = file
	}
	return sources, nil
}

// withoutDevices makes device nodes of a tree of mounts ordinary files that cannot be
// opened: an image can contain the node of a disk.
func withoutDevices(tree string) error {
	err := unix.MountSetattr(unix.AT_FDCWD, tree, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NODEV})
	if err != nil && !errors.Is(err, unix.ENOSYS) { // Linux before 5.12
		return fmt.Errorf("mounting %s with nodev: %w", tree, err)
	}
	return nil
}

// conceal hides paths by empty mounts, and makes others read-only. What the kernel does
// not have is left out.
func conceal(masked, readOnly []string) error {
	for _, path := range masked {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
		case info.IsDir():
			err = unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=0")
		default:
			err = unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("hiding %s: %w", path, err)
		}
	}
	for _, path := range readOnly {
		err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, "")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("making %s read-only: %w", path, err)
		}
		if err := restrict(path, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC); err != nil {
			return err
		}
	}
	return nil
}

// restrict makes a mount read-only, with more options. mount_setattr(2) keeps those that
// it has, of which a user namespace may take none away; Linux before 5.12 lacks it.
func restrict(path string, more uintptr) error {
	const same = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC // as MS_
	err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: same & uint64(unix.MS_RDONLY|more)})
	if errors.Is(err, unix.ENOSYS) {
		err = unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|more, "")
	}
	if err != nil {
		return fmt.Errorf("making %s read-only: %w", path, err)
	}
	return nil
}

// keepCapabilities takes all other capabilities from what this thread executes: root's
// programs get those of the bounding set.
func keepCapabilities(list string) error {
	if list == "all" {
		return nil
	}
	keep := strings.Split(list, ",")
	for bit := range 64 {
		name := capability.Name(bit)
		if slices.Contains(keep, name) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(bit), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // the kernel has no more
		}
		if err != nil {
			return fmt.Errorf("dropping %s: %w", name, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("clearing the ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	err := unix.Capget(&header, &sets[0])
	if err == nil {
		sets[0].Inheritable, sets[1].Inheritable = 0, 0
		err = unix.Capset(&header, &sets[0])
	}
	if err != nil {
		return fmt.Errorf("clearing the inheritable capabilities: %w", err)
	}
	return nil
}

func openPath(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "opening", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), filepath.Clean(path)), nil
}

// cloneKernelFilesystems copies the host's mounts at /proc and /sys, with all that is
// mounted below, and returns the function that puts them into the new root. The kernel
// lets a user namespace mount a new /proc or /sys only for PIDs or a network of its own.
func cloneKernelFilesystems() (attach func() error, err error) {
	type tree struct {
		path   string
		fd     int
		closed uint64 // mount options
	}
	trees := []tree{
		{path: "/proc", closed: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC},
		{path: "/sys", closed: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY},
	}
	for n := range trees {
		t := &trees[n]
		t.fd, err = unix.OpenTree(unix.AT_FDCWD, t.path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err == nil {
			err = unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: t.closed})
		}
		if err != nil {
			return nil, fmt.Errorf("copying the mount at %s (Linux 5.12 or later can): %w", t.path, err)
		}
	}
	return func() error {
		for _, t := range trees {
			if err := os.MkdirAll(t.path, 0o755); err != nil {
				return fmt.Errorf("creating %s in the root: %w", t.path, err)
			}
			if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
				return fmt.Errorf("mounting the host's %s: %w", t.path, err)
			}
			unix.Close(t.fd)
		}
		// A new /sys has none of these: cgroups, debugging, traces.
		for _, path := range []string{"/sys/fs/cgroup", "/sys/fs/bpf", "/sys/fs/pstore", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/config", "/sys/kernel/security"} {
			if err := conceal([]string{path}, nil); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

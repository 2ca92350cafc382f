package native

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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

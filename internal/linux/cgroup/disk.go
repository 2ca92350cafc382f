package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// DiskBelow is the whole disk (MAJOR:MINOR) below a file or folder: the kernel
// throttles disks, not partitions, and knows file systems of several devices by
// numbers that are no device's.
func DiskBelow(path string) (string, error) {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return "", fmt.Errorf("looking for the disk below %s: %w", path, err)
	}
	disk, err := diskBelow(path, mounts, "/sys", 0)
	if err != nil {
		return "", fmt.Errorf("looking for the disk below %s: %w", path, err)
	}
	return disk, nil
}

func diskBelow(path string, mounts []*mountinfo.Info, sys string, depth int) (string, error) {
	var file unix.Stat_t
	if err := unix.Stat(path, &file); err != nil {
		return "", err
	}
	major, minor := unix.Major(file.Dev), unix.Minor(file.Dev)
	if major > 0 {
		return WholeDisk(fmt.Sprintf("%d:%d", major, minor), sys), nil
	}
	// btrfs, zfs and overlays: their mount names what lies below.
	mount := holding(path, mounts)
	switch {
	case mount == nil || depth > 8:
		return "", fmt.Errorf("no mount is known for it")
	case mount.FSType == "overlay":
		for _, option := range strings.Split(mount.VFSOptions, ",") {
			if upper, ok := strings.CutPrefix(option, "upperdir="); ok {
				return diskBelow(upper, mounts, sys, depth+1)
			}
		}
	case strings.HasPrefix(mount.Source, "/dev/"):
		if err := unix.Stat(mount.Source, &file); err != nil {
			return "", err
		}
		return WholeDisk(fmt.Sprintf("%d:%d", unix.Major(file.Rdev), unix.Minor(file.Rdev)), sys), nil
	}
	return "", fmt.Errorf("it is on a file system without a block device (%s on %s)", mount.FSType, mount.Mountpoint)
}

// WholeDisk is the disk that a partition is on, and any other device itself.
// sys is where /sys is.
func WholeDisk(device, sys string) string {
	directory := filepath.Join(sys, "dev", "block", device)
	if _, err := os.Stat(filepath.Join(directory, "partition")); err != nil {
		return device
	}
	real, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return device
	}
	if disk := readString(filepath.Join(filepath.Dir(real), "dev")); disk != "" {
		return disk
	}
	return device
}

// Node is the file in /dev that stands for a device.
func Node(device string) string {
	for line := range strings.Lines(readString(filepath.Join("/sys/dev/block", device, "uevent"))) {
		if name, ok := strings.CutPrefix(line, "DEVNAME="); ok {
			return "/dev/" + strings.TrimSpace(name)
		}
	}
	return "/dev/block/" + device // udev's name for it
}

// holding is the mount that a path lies in: the longest mount point above it,
// and of those at one place the last.
func holding(path string, mounts []*mountinfo.Info) (best *mountinfo.Info) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	for _, m := range mounts {
		point := strings.TrimSuffix(m.Mountpoint, "/")
		if (path == point || strings.HasPrefix(path, point+"/")) && (best == nil || len(m.Mountpoint) >= len(best.Mountpoint)) {
			best = m
		}
	}
	return best
}

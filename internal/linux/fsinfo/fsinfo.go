// Package fsinfo finds the file system of the host that a path is on, in the form
// of reports, "ext4 on vda1", and the disk below it. If the disks of two environments
// are on different ones, their comparison also compares these.
//
// It must not know environments.
package fsinfo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Of names the file system below a path of the host; "" where the kernel does
// not say.
func Of(path string) string {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return ""
	}
	return find(mounts, resolved)
}

func find(mounts []*mountinfo.Info, path string) string {
	m := holding(path, mounts)
	if m == nil {
		return ""
	}
	if device, of := strings.CutPrefix(m.Source, "/dev/"); of {
		return m.FSType + " on " + device
	}
	return m.FSType
}

// Device is what Of says of a device that no file system of the host is on.
func Device(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return "device " + strings.TrimPrefix(path, "/dev/")
}

// holding is the mount that a path is on: the one with the longest mount point above it,
// and of those at one place the last, which covers the others.
func holding(path string, mounts []*mountinfo.Info) (best *mountinfo.Info) {
	for _, m := range mounts {
		point := strings.TrimSuffix(m.Mountpoint, "/")
		if (path == point || strings.HasPrefix(path, point+"/")) && (best == nil || len(m.Mountpoint) >= len(best.Mountpoint)) {
			best = m
		}
	}
	return best
}

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
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
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
	if disk, err := os.ReadFile(filepath.Join(filepath.Dir(real), "dev")); err == nil {
		return strings.TrimSpace(string(disk))
	}
	return device
}

// Node is the file in /dev that stands for a device.
func Node(device string) string {
	text, _ := os.ReadFile(filepath.Join("/sys/dev/block", device, "uevent"))
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "DEVNAME="); ok {
			return "/dev/" + strings.TrimSpace(name)
		}
	}
	return "/dev/block/" + device // udev's name for it
}

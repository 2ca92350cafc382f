// Package blockdevice formats a block device that a study names for one instance. It
// overwrites a device only if that is blank or has a file system made by tare, so that
// a mistyped name destroys nothing.
//
// It must not know any kind of environment.
package blockdevice

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
)

// Labels of the file systems that tare makes: of an image's disk, and of one
// for data.
const (
	imageLabel = "tare"
	dataLabel  = "tare-data"
)

// Named reports whether an option's value is the path of a device.
func Named(value string) bool { return strings.HasPrefix(value, "/") }

// Valid checks that a path can be one of a block device.
func Valid(path string) error {
	if !strings.HasPrefix(path, "/dev/") || filepath.Clean(path) != path || strings.ContainsAny(path, ", \t\n") {
		return fmt.Errorf("%q is not a block device: use its path, such as /dev/sdb1", path)
	}
	return nil
}

// Requirement is for an environment that overwrites a device.
func Requirement(path string) environment.Requirement {
	return environment.Requirement{What: "the device " + path + ", unused, and blank or written by tare", Check: func(context.Context) environment.Finding {
		return environment.Tested(Check(path), environment.Fix{})
	}}
}

// ValidOption checks an option that is one of the known values, or the path of a device.
func ValidOption(key, value string, known ...string) error {
	if !Named(value) {
		return environment.OneOf(key, value, append(known, "/dev/...")...)
	}
	if err := Valid(value); err != nil {
		return strictyaml.AtKey(key, "%w", err)
	}
	return nil
}

// Check returns why a device must not be overwritten; it changes nothing. The device
// must not be mounted or open exclusively.
func Check(path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// open opens a device that is free and can be overwritten.
func open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("examining the device: %w", err)
	}
	if info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0 {
		return nil, fmt.Errorf("%s is not a block device", path)
	}
	// O_EXCL: the kernel refuses it while the device is mounted.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_EXCL, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("%s is in use: it is mounted, or another instance uses it; only one instance at a time can use a device", path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the device: %w", err)
	}
	if err := checkContents(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, nil
}

// Offsets of the magic number and the label in an ext4 file system.
const (
	superblock = 1024
	magicAt    = superblock + 56
	labelAt    = superblock + 120
	labelEnd   = labelAt + 16
	magic      = 0xEF53
)

// checkContents returns an error unless a device is blank or has a file system made by
// tare.
func checkContents(device io.ReaderAt) error {
	head := make([]byte, 1<<20)
	n, err := device.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading its first MiB: %w", err)
	}
	if head = head[:n]; len(bytes.Trim(head, "\x00")) == 0 {
		return nil
	}
	what := "data other than an ext4 file system"
	if n > labelEnd && binary.LittleEndian.Uint16(head[magicAt:]) == magic {
		label := string(bytes.TrimRight(head[labelAt:labelEnd], "\x00"))
		if slices.Contains([]string{imageLabel, dataLabel}, label) {
			return nil
		}
		what = fmt.Sprintf("an ext4 file system with the label %q", label)
	}
	return fmt.Errorf("it contains %s, and tare overwrites only what it wrote: if the contents are not needed, run wipefs -a and clear the first MiB", what)
}

// Hold opens a formatted device exclusively, so that no other process of this machine
// can use it until the file is closed.
func Hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_EXCL, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the device for an instance: %w", err)
	}
	return f, nil
}

// Format makes a fresh ext4 file system on a device.
func Format(ctx context.Context, path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	argv := []string{"-q", "-F", "-t", "ext4", "-m", "0", "-L", dataLabel, "-E", "lazy_itable_init=0,lazy_journal_init=0,discard", path}
	if output, err := exec.CommandContext(ctx, "mke2fs", argv...).CombinedOutput(); err != nil {
		return fmt.Errorf("mke2fs %s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(output))
	}
	return nil
}

// Mount makes a fresh file system on a device and mounts it at a directory: empty, and
// writable by all.
func Mount(ctx context.Context, path, directory string) error {
	if err := Format(ctx, path); err != nil {
		return err
	}
	if err := unix.Mount(path, directory, "ext4", unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("mounting %s at %s: %w", path, directory, err)
	}
	err := os.Remove(filepath.Join(directory, "lost+found"))
	if err == nil {
		err = os.Chmod(directory, 0o777)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("opening the fresh file system on %s: %w", path, err), Unmount(directory))
	}
	return nil
}

// Fresh makes the same file system and unmounts it again from the directory.
func Fresh(ctx context.Context, path, directory string) error {
	if err := Mount(ctx, path, directory); err != nil {
		return err
	}
	return Unmount(directory)
}

// Unmount unmounts what Mount mounted; nothing mounted is no error.
func Unmount(directory string) error {
	err := unix.Unmount(directory, 0)
	if errors.Is(err, unix.EBUSY) {
		err = unix.Unmount(directory, unix.MNT_DETACH)
	}
	if err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return fmt.Errorf("unmounting %s: %w", directory, err)
}

// Write writes a disk image to a device.
func Write(disk, path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	err = copyTo(f, disk, func(size int64) error {
		room, err := f.Seek(0, io.SeekEnd)
		if err == nil && room < size {
			err = fmt.Errorf("the device has %d bytes, and the disk image %d", room, size)
		}
		return err
	}, func(from, to int64) error { return zero(f, from, to) })
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s to %s: %w", disk, path, err)
	}
	return nil
}

// Copy copies a disk image with its holes.
func Copy(disk, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = copyTo(f, disk, f.Truncate, func(int64, int64) error { return nil })
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("copying %s to %s: %w", disk, path, err)
	}
	return nil
}

// copyTo copies the data of a disk image, and calls hole for each hole. It syncs before
// it returns, so that nothing is written back while an instance is measured.
func copyTo(to *os.File, disk string, room func(size int64) error, hole func(from, to int64) error) error {
	from, err := os.Open(disk)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if err := room(info.Size()); err != nil {
		return err
	}
	for at := int64(0); at < info.Size(); {
		start, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // nothing but a hole is left
			start = info.Size()
		} else if err != nil {
			return fmt.Errorf("SEEK_DATA: %w", err)
		}
		if err := hole(at, start); err != nil || start == info.Size() {
			return errors.Join(err, to.Sync())
		}
		if at, err = unix.Seek(int(from.Fd()), start, unix.SEEK_HOLE); err != nil {
			return fmt.Errorf("SEEK_HOLE: %w", err)
		}
		if _, err := io.Copy(io.NewOffsetWriter(to, start), io.NewSectionReader(from, start, at-start)); err != nil {
			return err
		}
	}
	return to.Sync()
}

// zero writes zeros to a range of a device, by the device itself if it supports that.
func zero(f *os.File, from, to int64) error {
	if from == to {
		return nil
	}
	if zeroOut(f, from, to-from) == nil {
		return nil
	}
	empty := make([]byte, 1<<20)
	for from < to {
		n, err := f.WriteAt(empty[:min(int64(len(empty)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// zeroOut asks the device to make a range read as zeros.
func zeroOut(f *os.File, from, length int64) error {
	extent := [2]uint64{uint64(from), uint64(length)}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.BLKZEROOUT, uintptr(unsafe.Pointer(&extent))); errno != 0 {
		return errno
	}
	return nil
}

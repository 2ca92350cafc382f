// Package blockdevice makes a block device that a study names fresh for one
// instance. A device is written over only if it is blank or if tare wrote it:
// whoever mistypes a name loses nothing.
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

	"golang.org/x/sys/unix"

	"tare/internal/environment"
)

// Labels of the file systems that tare makes: of an image's disk, and of one
// for data.
const (
	imageLabel = "tare"
	dataLabel  = "tare-data"
)

// Named says whether an option's value names a device instead of a form.
func Named(value string) bool { return strings.HasPrefix(value, "/") }

// Valid says whether the name can be one of a device.
func Valid(path string) error {
	if !strings.HasPrefix(path, "/dev/") || filepath.Clean(path) != path || strings.ContainsAny(path, ", \t\n") {
		return fmt.Errorf("%q names no block device: write its path, such as /dev/sdb1", path)
	}
	return nil
}

// Requirement is that of an environment that writes over a device.
func Requirement(path string) environment.Requirement {
	return environment.Requirement{What: "the device " + path + ", free and blank or tare's", Check: func(context.Context) environment.Finding {
		if err := Check(path); err != nil {
			return environment.Finding{State: environment.Missing, Reason: err.Error()}
		}
		return environment.Finding{State: environment.Usable}
	}}
}

// Check says why a device may not be written over; it changes nothing. Nobody
// else may have it open or mounted.
func Check(path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// open opens a device that is free and may be written over.
func open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("looking at the device: %w", err)
	}
	if info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0 {
		return nil, fmt.Errorf("%s is no block device", path)
	}
	// O_EXCL: the kernel refuses it while somebody has mounted it.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_EXCL, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("%s is in use: it is mounted, or another instance has it; one instance at a time can have a device", path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the device: %w", err)
	}
	if err := ours(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, nil
}

// Where ext4 keeps its magic number and its label.
const (
	superblock = 1024
	magicAt    = superblock + 56
	labelAt    = superblock + 120
	labelEnd   = labelAt + 16
	magic      = 0xEF53
)

// ours says why what is at the beginning of a device is neither nothing nor
// tare's.
func ours(device io.ReaderAt) error {
	head := make([]byte, 1<<20)
	n, err := device.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading its beginning: %w", err)
	}
	if head = head[:n]; len(bytes.Trim(head, "\x00")) == 0 {
		return nil
	}
	what := "something that is no ext4 file system"
	if n > labelEnd && binary.LittleEndian.Uint16(head[magicAt:]) == magic {
		label := string(bytes.TrimRight(head[labelAt:labelEnd], "\x00"))
		if slices.Contains([]string{imageLabel, dataLabel}, label) {
			return nil
		}
		what = fmt.Sprintf("an ext4 file system with the label %q", label)
	}
	return fmt.Errorf("it holds %s, and tare writes over nothing that it did not make: if nobody needs it, run wipefs -a on it and empty its first MiB", what)
}

// Hold keeps others of this machine's from taking a device until the file is
// closed; it has been made fresh before.
func Hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_EXCL, 0)
	if err != nil {
		return nil, fmt.Errorf("taking the device for an instance: %w", err)
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
	if said, err := exec.CommandContext(ctx, "mke2fs", argv...).CombinedOutput(); err != nil {
		return fmt.Errorf("mke2fs %s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(said))
	}
	return nil
}

// Mount makes a fresh file system on a device and mounts it at a folder: empty,
// and everybody may write there.
func Mount(ctx context.Context, path, folder string) error {
	if err := Format(ctx, path); err != nil {
		return err
	}
	if err := unix.Mount(path, folder, "ext4", unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("mounting %s at %s: %w", path, folder, err)
	}
	err := os.Remove(filepath.Join(folder, "lost+found"))
	if err == nil {
		err = os.Chmod(folder, 0o777)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("opening the fresh file system on %s: %w", path, err), Unmount(folder))
	}
	return nil
}

// Fresh makes the same file system without leaving it mounted; the folder is
// where it is for a moment.
func Fresh(ctx context.Context, path, folder string) error {
	if err := Mount(ctx, path, folder); err != nil {
		return err
	}
	return Unmount(folder)
}

// Unmount takes off what Mount mounted; a folder that has nothing mounted is no
// problem.
func Unmount(folder string) error {
	err := unix.Unmount(folder, 0)
	if errors.Is(err, unix.EBUSY) {
		err = unix.Unmount(folder, unix.MNT_DETACH)
	}
	if err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return fmt.Errorf("unmounting %s: %w", folder, err)
}

// Write puts a disk's file onto a device.
func Write(disk, path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	err = copyTo(f, disk, func(size int64) error {
		room, err := f.Seek(0, io.SeekEnd)
		if err == nil && room < size {
			err = fmt.Errorf("it has room for %d bytes, and the disk has %d", room, size)
		}
		return err
	}, func(from, to int64) error { return zero(f, from, to) })
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s to %s: %w", disk, path, err)
	}
	return nil
}

// Copy makes a whole copy of a disk's file, with its holes.
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

// copyTo copies what is data in a disk and asks for zeros where holes are. All
// is on the medium when it returns: nothing is written back while an instance
// is measured.
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
			return fmt.Errorf("looking for data: %w", err)
		}
		if err := hole(at, start); err != nil || start == info.Size() {
			return errors.Join(err, to.Sync())
		}
		if at, err = unix.Seek(int(from.Fd()), start, unix.SEEK_HOLE); err != nil {
			return fmt.Errorf("looking for a hole: %w", err)
		}
		if _, err := io.Copy(io.NewOffsetWriter(to, start), io.NewSectionReader(from, start, at-start)); err != nil {
			return err
		}
	}
	return to.Sync()
}

// zero makes a part of a device read as zeros, by the device itself where it can.
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

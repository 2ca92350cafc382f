package calls

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	dataFile  = "calls-file"      // of the largest size, in the page cache
	directory = "calls-directory" // with so many files
	entries   = 32
	largest   = 64 << 10
)

var ofFiles = []Kind{
	{"read-1", fileCall(unix.SYS_PREAD64, 1)},
	{"read-4k", fileCall(unix.SYS_PREAD64, 4<<10)},
	{"read-64k", fileCall(unix.SYS_PREAD64, largest)},
	{"write-1", fileCall(unix.SYS_PWRITE64, 1)},
	{"write-4k", fileCall(unix.SYS_PWRITE64, 4<<10)},
	{"write-64k", fileCall(unix.SYS_PWRITE64, largest)},
	{"fsync", syncFile},
	{"open", openFile},
	{"stat", statFile},
	{"readdir", readDirectory},
}

func prepareFiles() error {
	if err := os.WriteFile(dataFile, make([]byte, largest), 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for i := range entries {
		if err := os.WriteFile(fmt.Sprintf("%s/file-%02d", directory, i), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// fileCall reads or writes the first bytes of the file.
func fileCall(number uintptr, size int) func() (func(int) error, error) {
	return func() (func(int) error, error) {
		fd, err := unix.Open(dataFile, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", dataFile, err)
		}
		buffer := make([]byte, size)
		return loop(func() error { return whole(number, fd, buffer) })
	}
}

// whole reads or writes a buffer with one call. Offset 0 is ignored by read and write.
func whole(number uintptr, fd int, buffer []byte) error {
	got, err := raw(number, uintptr(fd), uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)))
	if err == nil && int(got) != len(buffer) {
		err = fmt.Errorf("%d of %d bytes", got, len(buffer))
	}
	return err
}

// syncFile writes 4 kB to the file and syncs it to the disk.
func syncFile() (func(int) error, error) {
	fd, err := unix.Open(dataFile, unix.O_RDWR|unix.O_CLOEXEC, 0)
	buffer := make([]byte, 4<<10)
	return both(err, func() error {
		err := whole(unix.SYS_PWRITE64, fd, buffer)
		if err == nil {
			_, err = raw(unix.SYS_FSYNC, uintptr(fd), 0, 0)
		}
		return err
	})
}

// openFile opens a file and closes it.
func openFile() (func(int) error, error) {
	name, err := unix.BytePtrFromString(dataFile)
	return both(err, func() error {
		fd, err := rawAt(unix.SYS_OPENAT, name, unix.O_RDONLY|unix.O_CLOEXEC)
		if err == nil {
			_, err = raw(unix.SYS_CLOSE, fd, 0, 0)
		}
		return err
	})
}

func statFile() (func(int) error, error) {
	status, here := new(unix.Stat_t), unix.AT_FDCWD
	name, err := unix.BytePtrFromString(dataFile)
	return both(err, func() error {
		_, err := raw(fstatat, uintptr(here), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(status)))
		return err
	})
}

// readDirectory reads a directory from its first to its last entry: lseek, and getdents64
// until there are no more, which is twice.
func readDirectory() (func(int) error, error) {
	fd, err := unix.Open(directory, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	buffer := make([]byte, 32<<10)
	return both(err, func() error {
		_, err := raw(unix.SYS_LSEEK, uintptr(fd), 0, unix.SEEK_SET)
		for got := uintptr(1); err == nil && got > 0; {
			got, err = raw(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)))
		}
		return err
	})
}

func rawAt(number uintptr, name *byte, flags uintptr) (uintptr, error) {
	here := unix.AT_FDCWD
	return raw(number, uintptr(here), uintptr(unsafe.Pointer(name)), flags)
}

// both is the loop of a call, or the error of what it needs.
func both(err error, one func() error) (func(int) error, error) {
	if err != nil {
		return nil, err
	}
	return loop(one)
}

var ofMemory = []Kind{{"mmap", mapMemory}, {"fault", faults}}

// anonymous memory of which the kernel makes each page when it is used.
func anonymous(size uintptr) (uintptr, error) {
	return raw5(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON, ^uintptr(0))
}

// mapMemory maps 64 kB and unmaps them, without using them.
func mapMemory() (func(int) error, error) {
	return loop(func() error {
		at, err := anonymous(largest)
		if err == nil {
			_, err = raw(unix.SYS_MUNMAP, at, largest, 0)
		}
		return err
	})
}

// faultPages is how many pages are mapped for faults at once.
const faultPages = 1024

// faults writes to pages for the first time, one fault each. Mapping and unmapping them is
// part of it, for all pages together, however few calls a batch has.
func faults() (func(int) error, error) {
	size := uintptr(unix.Getpagesize())
	const all = uintptr(faultPages)
	var at uintptr
	used := all // nothing is mapped
	return loop(func() error {
		if used == all {
			if at != 0 {
				if _, err := raw(unix.SYS_MUNMAP, at, all*size, 0); err != nil {
					return err
				}
			}
			var err error
			if at, err = anonymous(all * size); err != nil {
				return err
			}
			// A huge page would be one fault for many pages. Where there are none, this fails.
			_, _ = raw(unix.SYS_MADVISE, at, all*size, unix.MADV_NOHUGEPAGE)
			used = 0
		}
		page := at + used*size
		**(**byte)(unsafe.Pointer(&page)) = 1
		used++
		return nil
	})
}

// Package machinelock lets one tare at a time measure on a machine, whatever its home
// and its user: two at once would disturb each other's measurements. The lock is an flock on a
// file of the user's own, so it goes with the process, however that ends.
//
// Every user has a file in a directory where all may make files. Only its owner can open
// it, so nobody else can hold or forge it; /proc/locks shows to all whether it is held.
// Files of other users are looked at and never opened.
//
// It must not know what is measured.
package machinelock

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/visible"
)

// Variable names the directory of the locks. Tests that run several tares at once
// give each its own.
const Variable = "TARE_LOCKS"

// Directory is where all tares of this machine have their locks.
func Directory() string {
	if directory := os.Getenv(Variable); directory != "" {
		return directory
	}
	const usual = "/run/lock"
	if info, err := os.Stat(usual); err == nil && info.Mode()&os.ModeSticky != 0 && info.Mode()&0o002 != 0 && !readOnly(usual) {
		return usual
	}
	return "/tmp" // not $TMPDIR: all users have to mean the same directory
}

// readOnly says whether a directory is on a file system that nobody writes to, as in a
// container.
func readOnly(directory string) bool {
	return errors.Is(unix.Access(directory, unix.W_OK), unix.EROFS)
}

// Holder is who has a lock.
type Holder struct {
	PID  int    `json:"pid"`
	Run  string `json:"run"` // the run directory, or what is about to run
	Home string `json:"home"`
	user uint32
}

// String names the process, and its run and home where this user may know them.
func (h Holder) String() string {
	name := strconv.Itoa(int(h.user))
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	text := fmt.Sprintf("process %d of %s", h.PID, name)
	if h.Run != "" {
		text += fmt.Sprintf(", run %s, home %s", visible.Line(h.Run), visible.Line(h.Home))
	}
	return text
}

// Lock is the lock that this process holds.
type Lock struct {
	file *os.File
	// Others are tares of other users that measure now. Root does not wait for them, since
	// any user could hold it up.
	Others []Holder
}

// poll is how often a waiting tare looks: rarely enough not to disturb the one that
// measures.
const poll = time.Second

// Take takes the lock. For each tare that has it instead, it calls waiting once and then
// waits, unless that returns an error.
func Take(ctx context.Context, directory string, me Holder, waiting func(Holder) error) (*Lock, error) {
	told := 0
	for {
		lock, holder, err := try(directory)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			_ = lock.Describe(me.Run, me.Home) // others wait without it
			return lock, nil
		}
		if holder.PID != told {
			told = holder.PID
			if err := waiting(holder); err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(poll + rand.N(poll/4)): // two that look at the same time do not do so again
		}
	}
}

// try takes the lock if nobody measures; else it returns who does.
func try(directory string) (*Lock, Holder, error) {
	file, err := own(directory)
	if err != nil {
		return nil, Holder{}, fmt.Errorf("opening the lock by which tares wait for each other: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, Holder{}, fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		holder := Holder{user: uint32(os.Geteuid())}
		// What is read here may be in the middle of being written.
		_ = json.NewDecoder(io.LimitReader(file, 64<<10)).Decode(&holder)
		return nil, holder, nil
	}
	lock := &Lock{file: file, Others: others(directory)}
	if len(lock.Others) > 0 && os.Geteuid() != 0 {
		return nil, lock.Others[0], lock.Release()
	}
	return lock, Holder{}, nil
}

// own opens this user's file. If another user already created that file, or a link in its
// place, the next number is tried.
func own(directory string) (*os.File, error) {
	var first error
	for n := range 100 {
		name := fmt.Sprintf("tare-%d-%d.lock", os.Geteuid(), n)
		fd, err := unix.Open(filepath.Join(directory, name), unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
		if err == nil {
			file := os.NewFile(uintptr(fd), filepath.Join(directory, name))
			var stat unix.Stat_t
			if err = unix.Fstat(fd, &stat); err == nil && mine(stat) {
				return file, nil
			}
			if err == nil {
				err = errNotMine
			}
			file.Close()
		}
		if first == nil {
			first = &os.PathError{Op: "open", Path: filepath.Join(directory, name), Err: err}
		}
	}
	return nil, first
}

var errNotMine = errors.New("it is not a file that this user alone can open: remove it")

func mine(stat unix.Stat_t) bool {
	return stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Uid == uint32(os.Geteuid()) && stat.Nlink == 1 && stat.Mode&0o077 == 0
}

// others are the tares of other users that measure: those of whose locks /proc/locks
// knows. It shows no processes of other PID namespaces.
func others(directory string) (list []Holder) {
	files, _ := filepath.Glob(filepath.Join(directory, "tare-*-*.lock"))
	held, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	for _, file := range files {
		var stat unix.Stat_t
		if unix.Lstat(file, &stat) != nil || stat.Uid == uint32(os.Geteuid()) || stat.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev), stat.Ino)
		for lines := bufio.NewScanner(bytes.NewReader(held)); lines.Scan(); {
			var h Holder
			var number, where string
			if _, err := fmt.Sscanf(lines.Text(), "%s FLOCK ADVISORY WRITE %d %s", &number, &h.PID, &where); err == nil && where == inode {
				h.user = stat.Uid
				list = append(list, h)
			}
		}
	}
	return list
}

// Describe says in the lock's file who holds it.
func (l *Lock) Describe(run, home string) error {
	text, err := json.Marshal(Holder{PID: os.Getpid(), Run: run, Home: home})
	if err == nil {
		err = l.file.Truncate(0)
	}
	if err == nil {
		_, err = l.file.WriteAt(append(text, '\n'), 0)
	}
	return err
}

// Release gives the lock back. The file stays: another may be about to lock it.
func (l *Lock) Release() error {
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close()) // a child that is being forked has it open too
}

package archive

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/base/bounded"
)

// The directories that Temporary makes have names that begin so, and a file that says whose
// they are. Nothing else is removed: a user may give any name to a directory of his own.
const (
	temporaryPrefix = ".tare-unpacked-"
	temporaryMark   = ".made-by-tare"
)

// Temporary makes a directory to unpack a run into, that no other user reaches, and
// returns what removes it. Those of processes that were killed are removed first: a
// process holds a lock on its own as long as it lives.
func Temporary() (directory string, remove func() error, err error) {
	parent := os.TempDir()
	abandoned, _ := filepath.Glob(filepath.Join(parent, temporaryPrefix+"*"))
	for _, path := range abandoned {
		removeAbandoned(path)
	}
	for {
		directory, err := bounded.Temporary(temporaryPrefix)
		if err != nil {
			return "", nil, err
		}
		held, err := hold(directory)
		if errors.Is(err, errHeld) || errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(directory)
			continue // another process looks whether it is an abandoned one
		}
		if err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(directory))
		}
		if err := os.WriteFile(filepath.Join(directory, temporaryMark), nil, 0o600); err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(directory), held.Close())
		}
		return directory, func() error { return errors.Join(os.RemoveAll(directory), held.Close()) }, nil
	}
}

// errHeld is the error of a directory that a process holds.
var errHeld = errors.New("a process holds it")

// hold locks a directory of this user.
func hold(path string) (*os.File, error) {
	at, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var held, named unix.Stat_t
	err = unix.Flock(int(at.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = errHeld
	case err == nil:
		err = errors.Join(unix.Fstat(int(at.Fd()), &held), unix.Lstat(path, &named))
	}
	switch {
	case err != nil:
	case held.Ino != named.Ino || held.Dev != named.Dev:
		err = os.ErrNotExist
	case held.Uid != uint32(os.Geteuid()):
		err = os.ErrPermission
	}
	if err != nil {
		at.Close()
		return nil, err
	}
	return at, nil
}

// removeAbandoned removes a directory of Temporary's that no process holds. One that cannot
// be removed is in nobody's way.
func removeAbandoned(path string) {
	held, err := hold(path)
	if err != nil {
		return
	}
	defer held.Close()
	if info, err := os.Lstat(filepath.Join(path, temporaryMark)); err == nil && info.Mode().IsRegular() {
		_ = os.RemoveAll(path)
	}
}

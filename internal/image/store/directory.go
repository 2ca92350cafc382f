// Package store keeps files that are made once, under locks that all processes which
// share the directory respect: a build that is killed leaves no half of a file.
//
// It must not know what the files are.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tare/internal/linux/private"
	"tare/internal/linux/userns"
)

// Directory is a directory with files that are made once. Several processes may use it at
// the same time. parts of it exist from the start.
type Directory struct{ dir string }

// Open opens a directory, which it creates if necessary and closes to other users.
func Open(dir string, parts ...string) (Directory, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return Directory{}, fmt.Errorf("image store %s: %w", dir, err)
	}
	if err := private.Directory(absolute); err != nil {
		return Directory{}, fmt.Errorf("image store %s: %w", dir, Explain(err))
	}
	for _, part := range append(parts, locks) {
		if err := os.MkdirAll(filepath.Join(absolute, part), 0o755); err != nil {
			return Directory{}, fmt.Errorf("image store %s: %w", dir, Explain(err))
		}
	}
	return Directory{absolute}, nil
}

// Existing is a directory that is only read. It creates nothing.
func Existing(dir string) Directory { return Directory{dir} }

// Path returns a path in the directory.
func (f Directory) Path(parts ...string) string {
	return filepath.Join(append([]string{f.dir}, parts...)...)
}

// Glob returns the paths in the directory that match a pattern. Those above may have any name.
func (f Directory) Glob(pattern string) []string {
	found, _ := fs.Glob(os.DirFS(f.dir), pattern)
	for n := range found {
		found[n] = f.Path(found[n])
	}
	return found
}

// Discard removes a directory that held a root file system, unless something is
// still mounted in it, such as the host's /dev.
func Discard(dir string) error {
	if err := NoMounts(dir); err != nil {
		return err
	}
	if err := userns.RemoveAll(dir); err != nil {
		return fmt.Errorf("%s cannot be removed: %w", dir, Explain(err))
	}
	return nil
}

// NoMounts returns an error if something is mounted in a directory, or uses it.
func NoMounts(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("%s is kept, since its mounts cannot be listed: %w", dir, err)
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		// A mount in the directory, or one that uses it, such as an overlay.
		if fields := strings.Fields(line); len(fields) > 4 && strings.Contains(line, dir) {
			return fmt.Errorf("%s is kept, since the mount at %s uses it: unmount that first", dir, fields[4])
		}
	}
	return nil
}

// Explain adds to file system errors what to do, if a user can fix them.
func Explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: free some space there, or remove images (tare ls images, tare rm)", err)
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
		return fmt.Errorf("%w: run as root", err)
	}
	return err
}

// Exists reports whether there is anything at a path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Modified is when a file was changed; the zero time if there is none.
func Modified(path string) time.Time {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || info == nil {
		return time.Time{}
	}
	return info.ModTime()
}

// ReadText returns a file's content; "" if it cannot be read.
func ReadText(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// Short returns a digest shortened for messages.
func Short(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(12, len(hex))]
}

package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tare/internal/base/visible"
)

// Stamp changes whenever a file does that Open and List read of a run: it has their
// sizes and times.
func Stamp(directory string) string {
	var words []string
	for _, name := range []string{manifestFile, planFile, journalFile, sumsFile} {
		if info, err := os.Lstat(filepath.Join(directory, name)); err == nil {
			words = append(words, fmt.Sprintf("%d@%d", info.Size(), info.ModTime().UnixNano()))
		} else {
			words = append(words, "-")
		}
	}
	return strings.Join(words, " ")
}

// UnderWay reports whether a process writes to a run directory now. It reads the kernel's
// table of locks: a try to take the lock could make a tare fail that wants it.
func UnderWay(directory string) bool {
	info, err := os.Lstat(filepath.Join(directory, lockFile))
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	// 1: FLOCK  ADVISORY  WRITE 4161 fe:00:1573066 0 EOF. The numbers of devices differ
	// from those of stat on some file systems, so the inode has to do.
	inode := fmt.Sprintf(":%d", stat.Ino)
	for line := range strings.Lines(string(table)) {
		words := strings.Fields(line)
		if len(words) >= 6 && words[1] == "FLOCK" && words[3] == "WRITE" && strings.HasSuffix(words[5], inode) {
			return true
		}
	}
	return false
}

// LacksRaw reports whether the raw output that the trials name was removed from the run.
func (r *Run) LacksRaw() bool {
	_, err := os.Lstat(filepath.Join(r.Directory, RawDirectory))
	return errors.Is(err, fs.ErrNotExist)
}

// OpenRaw opens a file with raw output that a trial of the run names.
func (r *Run) OpenRaw(path string) (*os.File, error) {
	for _, t := range r.Journal() {
		if slices.ContainsFunc(t.Raw, func(raw Raw) bool { return raw.Path == path }) {
			return openFile(r.Directory, path, os.O_RDONLY)
		}
	}
	return nil, fmt.Errorf("no trial of %s names %s", r.Manifest.Run, visible.Line(path))
}

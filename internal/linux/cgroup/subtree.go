package cgroup

import (
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"tare/internal/linux/procfile"
)

// subtree is one file of a group and of all groups below it. A change of a
// directory's link count shows that groups were created or removed.
type subtree struct {
	top, name   string
	directories []directory
	files       []*procfile.File
	readings    int
}

// checkEvery is the number of readings after which the link counts are checked.
// The counters are cumulative, so the usage of a new group is not lost.
const checkEvery = 10

type directory struct {
	fd    int
	links uint64
}

// list returns the files of the existing groups, that of the top last.
func (s *subtree) list() []*procfile.File {
	s.readings++
	if s.top == "" || len(s.files) > 0 && (s.readings%checkEvery > 0 || !s.changed()) {
		return s.files
	}
	s.close()
	_ = walk(s.top, func(dir string) error {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		f := directory{fd, links(fd)}
		s.directories = append(s.directories, f)
		s.files = append(s.files, procfile.At(filepath.Join(dir, s.name)))
		return nil
	})
	return s.files
}

// changed reports whether groups were created or removed. A file system that does
// not count directories as links has a count of 1, so a change is assumed.
func (s *subtree) changed() bool {
	return slices.ContainsFunc(s.directories, func(f directory) bool { return f.links < 2 || links(f.fd) != f.links })
}

func links(fd int) uint64 {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0
	}
	return uint64(stat.Nlink)
}

func (s *subtree) close() {
	for _, f := range s.directories {
		unix.Close(f.fd)
	}
	for _, f := range s.files {
		f.Close()
	}
	s.directories, s.files = nil, nil
}

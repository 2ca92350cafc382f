package cgroup

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/linux/procfile"
)

// subtree is one file of a group and of all groups below it. Groups come and go
// below it: the number of links of a folder says when to look again.
type subtree struct {
	top, name string
	folders   []folder
	files     []*procfile.File
	looks     int
}

// seldom is every how many looks the folders are asked whether there are others
// below them: what a process in a new group used by then is not lost.
const seldom = 10

type folder struct {
	fd    int
	links uint64
}

// look returns the files of the groups that are there now, the top one's last.
func (s *subtree) look() []*procfile.File {
	s.looks++
	if s.top == "" || len(s.files) > 0 && (s.looks%seldom > 0 || !s.changed()) {
		return s.files
	}
	s.close()
	_ = walk(s.top, func(dir string) error {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		f := folder{fd, links(fd)}
		s.folders = append(s.folders, f)
		s.files = append(s.files, procfile.At(filepath.Join(dir, s.name)))
		return nil
	})
	return s.files
}

// changed says whether groups were made or removed. A file system that does not
// count folders among the links says 1: then it may always be so.
func (s *subtree) changed() bool {
	for _, f := range s.folders {
		if f.links < 2 || links(f.fd) != f.links {
			return true
		}
	}
	return false
}

func links(fd int) uint64 {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0
	}
	return uint64(stat.Nlink)
}

func (s *subtree) close() {
	for _, f := range s.folders {
		unix.Close(f.fd)
	}
	for _, f := range s.files {
		f.Close()
	}
	s.folders, s.files = nil, nil
}

package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxDirectoryFiles bounds how many files of a directory are read.
const maxDirectoryFiles = 64

// Fingerprint reads one Request as JSON and writes the Answer.
func Fingerprint(from io.Reader, to io.Writer) error {
	var r Request
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return fmt.Errorf("reading the request for a fingerprint: %w", err)
	}
	a := Answer{
		Texts: map[string]string{}, Absent: map[string]string{}, Locations: map[string]Location{},
		Processes: map[string]Process{}, Programs: map[string]Program{},
	}
	a.system()
	for _, path := range r.Texts {
		a.text(path)
	}
	for _, path := range r.Locations {
		a.locate(path)
	}
	for name, pid := range r.Processes {
		a.process(name, pid)
	}
	a.programs(r.Programs)
	a.interfaces()
	a.devices()
	a.Filter = PacketFilter()
	return json.NewEncoder(to).Encode(a)
}

func (a *Answer) system() {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		a.Absent["system"] = err.Error()
	}
	text := func(b []byte) string { return unix.ByteSliceToString(b) }
	a.System = System{text(name.Nodename[:]), text(name.Release[:]), text(name.Version[:]), text(name.Machine[:]), os.Getpagesize()}
}

// devices lists the nodes directly in /dev.
func (a *Answer) devices() {
	entries, err := os.ReadDir("/dev")
	if err != nil {
		a.absent("/dev", err)
	}
	for _, e := range entries {
		if e.Type()&os.ModeDevice != 0 {
			a.Devices = append(a.Devices, e.Name())
		}
	}
}

// text reads a file, the target of a link, or all files of a directory.
func (a *Answer) text(path string) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		if a.Texts[path], err = os.Readlink(path); err != nil {
			a.absent(path, err)
		}
		// If the link leads to a directory, its files are read as well.
		info, err = os.Stat(path)
		if err != nil || !info.IsDir() {
			return
		}
	}
	if err == nil && info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			a.absent(path, err)
		}
		for n, e := range entries {
			if n == maxDirectoryFiles {
				a.Absent[path] = fmt.Sprintf("it has %d files, only %d are read", len(entries), maxDirectoryFiles)
				break
			}
			if !e.IsDir() {
				a.file(filepath.Join(path, e.Name()))
			}
		}
		return
	}
	if err != nil {
		a.absent(path, err)
		return
	}
	a.file(path)
}

func (a *Answer) file(path string) {
	text, err := read(path)
	if err != nil {
		a.absent(path, err)
		return
	}
	a.Texts[path] = strings.ToValidUTF8(text, "?")
}

// absent records the system's reason, without the path.
func (a *Answer) absent(what string, err error) {
	var number syscall.Errno
	if errors.As(err, &number) {
		err = number
	}
	a.Absent[what] = err.Error()
}

// locate finds the file system and device of a path, or of its nearest existing
// parent.
func (a *Answer) locate(path string) {
	at, err := filepath.EvalSymlinks(path)
	for up := path; err != nil && up != "/" && up != "."; {
		up = filepath.Dir(up)
		at, err = filepath.EvalSymlinks(up)
	}
	var file unix.Stat_t
	var system unix.Statfs_t
	if err == nil {
		err = unix.Stat(at, &file)
	}
	if err == nil {
		err = unix.Statfs(at, &system)
	}
	if err != nil {
		a.absent(path, err)
		return
	}
	p := Location{Path: at, Block: int64(system.Bsize), Queue: map[string]string{}}
	p.Device = fmt.Sprintf("%d:%d", unix.Major(uint64(file.Dev)), unix.Minor(uint64(file.Dev)))
	disk := "/sys/dev/block/" + p.Device
	if _, err := os.Stat(disk + "/partition"); err == nil {
		disk += "/.."
	}
	for _, name := range []string{"scheduler", "write_cache", "read_ahead_kb"} {
		if text, err := read(disk + "/queue/" + name); err == nil {
			p.Queue[name] = strings.TrimSpace(text)
		}
	}
	a.Locations[path] = p
}

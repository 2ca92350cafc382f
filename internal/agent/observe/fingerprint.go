// Package observe reports what the kernel shows to a process of the instance:
// contents of files and targets of symbolic links, uninterpreted. The host
// interprets them, so that this can be tested on recorded data of other kernels.
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

// maxFileBytes bounds how much of a file is read.
const maxFileBytes = 256 << 10

// ReadPaths writes the contents of files and targets of links as JSON. Paths that
// cannot be read are omitted.
func ReadPaths(paths []string, to io.Writer) error {
	seen := map[string]string{}
	for _, path := range paths {
		if target, err := os.Readlink(path); err == nil {
			seen[path] = target
		} else if text, err := read(path); err == nil {
			seen[path] = strings.ToValidUTF8(text, "?")
		}
	}
	return json.NewEncoder(to).Encode(seen)
}

func read(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe has no end to wait for
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	return string(text), err
}

// Request selects what a fingerprint of an instance contains.
type Request struct {
	// Texts are files, links and directories to read; of a directory, all files.
	Texts []string `json:"texts,omitempty"`
	// Locations are paths whose file system and device are looked up.
	Locations []string `json:"places,omitempty"`
	// Processes that the agent started, by the caller's names for them.
	Processes map[string]int `json:"processes,omitempty"`
	// Programs by their paths, or by their names as a shell looks for them.
	Programs []string `json:"programs,omitempty"`
}

// Answer is what was found. What could not be read is in Absent with the system's
// reason, by its path or, for anything else, by the name of its field.
type Answer struct {
	Texts      map[string]string   `json:"texts"`
	Absent     map[string]string   `json:"absent"`
	System     System              `json:"system"`
	Locations  map[string]Location `json:"places"`
	Processes  map[string]Process  `json:"processes"`
	Programs   map[string]Program  `json:"programs"`
	Interfaces []Interface         `json:"interfaces"`
	// Devices are the device nodes in /dev.
	Devices []string `json:"devices,omitempty"`
	Filter  Filter   `json:"filter"`
}

// System is the result of uname(2), and the page size.
type System struct {
	Node     string `json:"node"`
	Release  string `json:"release"`
	Version  string `json:"version"`
	Machine  string `json:"machine"`
	PageSize int    `json:"page_size"`
}

// Location is the file system and device of a path.
type Location struct {
	Path   string `json:"path"`   // links resolved; of the nearest existing parent
	Device string `json:"device"` // of the file system: 8:1
	Block  int64  `json:"block"`
	// Queue holds the disk's settings by their files' names: scheduler,
	// write_cache, read_ahead_kb.
	Queue map[string]string `json:"queue,omitempty"`
}

// Process is a server, not the shell that started it.
type Process struct {
	// Texts are files and targets of links below /proc/PID, by name.
	Texts map[string]string `json:"texts"`
	// Libraries are the files that are mapped executable.
	Libraries []string `json:"libraries,omitempty"`
	Files     []File   `json:"files,omitempty"`
}

// File is an open file of a process.
type File struct {
	Number int    `json:"number"`
	Target string `json:"target"`
	Flags  string `json:"flags"` // octal, as in /proc/PID/fdinfo
}

// Program is an executable file.
type Program struct {
	Path   string `json:"path,omitempty"` // links resolved
	SHA256 string `json:"sha256,omitempty"`
	// Loader is the dynamic linker, or a script's interpreter.
	Loader string `json:"loader,omitempty"`
	// Package and Version are those of the package that the program belongs to,
	// LoaderPackage and LoaderVersion those of the loader.
	Package       string `json:"package,omitempty"`
	Version       string `json:"version,omitempty"`
	LoaderPackage string `json:"loader_package,omitempty"`
	LoaderVersion string `json:"loader_version,omitempty"`
	Error         string `json:"error,omitempty"`
}

// Interface is a network interface.
type Interface struct {
	Name      string   `json:"name"`
	MTU       int      `json:"mtu"`
	Loopback  bool     `json:"loopback,omitempty"`
	Up        bool     `json:"up,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Driver    string   `json:"driver,omitempty"`
	Queue     *int     `json:"queue,omitempty"` // packets
	// Offloads that the driver reports; Error is why one could not be read.
	Offloads map[string]bool `json:"offloads,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// Filter is the netfilter state of the network namespace.
type Filter struct {
	// Namespace identifies the network namespace, as in /proc/PID/ns/net.
	Namespace   string  `json:"space,omitempty"`
	Chains      []Chain `json:"chains,omitempty"`
	ChainsError string  `json:"unseen,omitempty"` // why the chains could not be read
	// Tracked is set if conntrack tracks connections over the loopback.
	Tracked      bool   `json:"tracked,omitempty"`
	TrackedError string `json:"untold,omitempty"` // why Tracked could not be determined
}

// Chain is a base chain of netfilter.
type Chain struct {
	Table string `json:"table"`
	Hook  string `json:"hook"`
	// Rules is the number of rules in the chain, without chains that it jumps to.
	Rules int `json:"rules"`
}

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

// Package procfile reads small files of /proc and cgroups repeatedly: it keeps
// them open, reads each as a whole, and parses numbers without allocation. An open
// file of /proc refers to the process for which it was opened, even if its PID is
// reused.
//
// It must not know the meaning of the files.
package procfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// most files are kept open in this process; those above are opened for each
// reading, so that a thousand instances leave descriptors for other things.
const most = 8192

var kept atomic.Int64

// whole is how short a reading must be to be all that there is: the kernel
// fills a page at a time, and a line of the files in question is far shorter.
const whole = 2048

// File is one file. The zero value is of no use: see At. It is not safe for
// concurrent use.
type File struct {
	path string
	fd   int
	open bool
	pin  bool  // it shows something else when it is opened anew
	err  error // why it cannot be opened; it is not tried again
}

// At is the file at a path, which is opened when it is first read.
func At(path string) *File { return &File{path: path} }

// Path of the file.
func (f *File) Path() string { return f.path }

// Open opens the file now and for good: for one that shows what the opening
// thread sees.
func (f *File) Open() error {
	f.pin = true
	return f.opened()
}

func (f *File) opened() error {
	if f.open || f.err != nil {
		return f.err
	}
	for {
		f.fd, f.err = unix.Open(f.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if f.err != unix.EINTR {
			break
		}
	}
	if f.err != nil {
		f.err = &fs.PathError{Op: "open", Path: f.path, Err: f.err}
		return f.err
	}
	f.open = true
	kept.Add(1)
	return nil
}

// Read reads the file from its beginning into a buffer, which grows where it
// must. The text is valid until the buffer's next use.
func (f *File) Read(buffer *[]byte) ([]byte, error) {
	if err := f.opened(); err != nil {
		return nil, err
	}
	if len(*buffer) == 0 {
		*buffer = make([]byte, 4*whole)
	}
	n := 0
	for {
		got, err := unix.Pread(f.fd, (*buffer)[n:], int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: f.path, Err: err}
		}
		if n += got; got < whole && n < len(*buffer) {
			break
		}
		if n == len(*buffer) {
			*buffer = append(*buffer, make([]byte, n)...)
		}
	}
	if !f.pin && kept.Load() > most {
		f.Close()
	}
	return (*buffer)[:n], nil
}

// Close gives the descriptor back. The file can be read again.
func (f *File) Close() {
	if f.open {
		unix.Close(f.fd)
		f.open = false
		kept.Add(-1)
	}
}

// Stat returns the fields of /proc/PID/stat from the third one on, the state; none of a
// process that is gone. The name in the second one may hold spaces and brackets.
func Stat(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// The fields of Stat that are used here: the parent, the flags and the start time.
const (
	StatParent = 1
	StatFlags  = 6
	StatStart  = 19
)

// Parent of a process; 0 of one that is gone.
func Parent(pid int) int {
	fields := Stat(pid)
	if len(fields) <= StatParent {
		return 0
	}
	parent, _ := strconv.Atoi(fields[StatParent])
	return parent
}

// PIDs are those of all processes.
func PIDs() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// CommandLine has the words of a process; none of a zombie, or of one that is gone.
func CommandLine(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// Parents returns the parent of each process.
func Parents() map[int]int {
	parents := map[int]int{}
	for _, pid := range PIDs() {
		if fields := Stat(pid); len(fields) > StatParent {
			parents[pid], _ = strconv.Atoi(fields[StatParent])
		}
	}
	return parents
}

// Descendants lists the children of a process, their children, and so on.
func Descendants(of int) (family []int) {
	parents := Parents()
	for pid := range parents {
		up := parents[pid]
		for steps := 0; up > 1 && up != of && steps < 1000; steps++ {
			up = parents[up]
		}
		if up == of {
			family = append(family, pid)
		}
	}
	return family
}

// Kill kills the process that has a PID now, and returns when it is gone. It uses a pidfd,
// so that no later process with the same PID is killed. The process is left alone if it
// has ended already, or if is says that it is another one.
func Kill(ctx context.Context, pid int, is func() bool) (killed bool, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening it: %w", err)
	}
	defer unix.Close(fd)
	ended := func(wait int) bool {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, wait)
		return n > 0
	}
	if is != nil && !is() || ended(0) { // a zombie
		return false, nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return false, fmt.Errorf("sending SIGKILL: %w", err)
	}
	for !ended(50) {
		if ctx.Err() != nil {
			return false, fmt.Errorf("it is still running after SIGKILL: %w", ctx.Err())
		}
	}
	return true, nil
}

// Number reads a file that holds one.
func (f *File) Number(buffer *[]byte) (int64, error) {
	text, err := f.Read(buffer)
	if err != nil {
		return 0, err
	}
	n, ok := Number(text)
	if !ok {
		return 0, fmt.Errorf("%s holds %q, not a number", f.path, text)
	}
	return n, nil
}

// Number is the number that a text begins with, after blanks.
func Number(text []byte) (n int64, ok bool) {
	i, negative := 0, false
	for i < len(text) && blank(text[i]) {
		i++
	}
	if i < len(text) && text[i] == '-' {
		negative = true
		i++
	}
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		n, ok = n*10+int64(text[i]-'0'), true
	}
	if negative {
		n = -n
	}
	return n, ok
}

// Word is the next word of a text and what follows it.
func Word(text []byte) (word, rest []byte) {
	i := 0
	for i < len(text) && blank(text[i]) {
		i++
	}
	j := i
	for j < len(text) && !blank(text[j]) {
		j++
	}
	return text[i:j], text[j:]
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// Lines of a text, without what ends them.
func Lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			end := 0
			for end < len(text) && text[end] != '\n' {
				end++
			}
			if !yield(text[:end]) {
				return
			}
			text = text[min(end+1, len(text)):]
		}
	}
}

// Pairs are the lines that consist of a word and a number, with a colon between
// them or without.
func Pairs(text []byte) iter.Seq2[[]byte, int64] {
	return func(yield func([]byte, int64) bool) {
		for line := range Lines(text) {
			word, rest := Word(line)
			n, ok := Number(rest)
			if last := len(word) - 1; last >= 0 && word[last] == ':' {
				word = word[:last]
			}
			if ok && !yield(word, n) {
				return
			}
		}
	}
}

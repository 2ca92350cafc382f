package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// stracer counts with strace, where BPF is not permitted. It stops the tasks at each system
// call, which takes many times as long as the call; its counts are those of BPF otherwise.
type stracer struct {
	command *exec.Cmd
	read    chan struct{} // closed when all output is read
	counted traced
	before  map[int]uint64 // minor faults of tasks
	note    string
	began   time.Time
}

// attaching is how long strace may take to attach to all processes.
const attaching = 10 * time.Second

func startStrace(ctx context.Context, footprints []usage.Footprint, why error) (*stracer, error) {
	finder, err := newTaskFinder(footprints)
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath("strace")
	if err != nil {
		return nil, fmt.Errorf("strace: %w", err)
	}
	s := &stracer{read: make(chan struct{}), counted: newTraced(), before: map[int]uint64{}, began: time.Now()}
	s.note = fmt.Sprintf("counted with strace, which slows the program many times; waits are the calls during which another task made one: %v", why)
	tasks, processes := finder.list(), 0
	arguments := []string{"-f", "-yy", "-s", "0", "-o", "/dev/stdout"}
	for tid := range tasks {
		minor, _, err := faults(tid)
		if err != nil {
			continue
		}
		s.before[tid] = minor
		if leads(tid) { // strace attaches to the threads of a process together
			processes++
			arguments = append(arguments, "-p", strconv.Itoa(tid))
		}
	}
	s.command = exec.CommandContext(ctx, path, arguments...)
	s.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	messages, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("strace: %w", err)
	}
	attached := make(chan int, 1)
	crash.Go(func() { attached <- attachedTo(messages, processes) })
	crash.Go(func() {
		defer close(s.read)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.counted.add(lines.Text())
		}
		_, _ = io.Copy(io.Discard, out) // a line that is too long ends the counting, not strace
	})
	select {
	case n := <-attached:
		if n == 0 {
			s.end()
			return nil, fmt.Errorf("strace attached to none of %d processes", processes)
		}
	case <-time.After(attaching):
	}
	return s, nil
}

// leads says whether a task is the first of its process.
func leads(tid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	return err == nil && strings.Contains(string(text), fmt.Sprintf("\nTgid:\t%d\n", tid))
}

// attachedTo reads strace's messages, and returns after so many tasks were attached, or at
// the end of the messages; it goes on to read them.
func attachedTo(messages io.Reader, processes int) (attached int) {
	lines := bufio.NewScanner(messages)
	for attached < processes && lines.Scan() {
		if strings.Contains(lines.Text(), "attached") {
			attached++
		}
	}
	crash.Go(func() { _, _ = io.Copy(io.Discard, messages) })
	return attached
}

// end lets strace detach, after which the tasks go on.
func (s *stracer) end() {
	_ = s.command.Process.Signal(unix.SIGINT)
	<-s.read
	_ = s.command.Wait()
}

func (s *stracer) stop() evidence.Evidence {
	var minor uint64
	for tid, before := range s.before {
		if now, _, err := faults(tid); err == nil {
			minor += now - before
		}
	}
	s.end()
	e := evidence.Evidence{Seconds: time.Since(s.began).Seconds(), Counts: map[string]usage.Figure{}, Notes: []string{s.note}}
	for name, n := range s.counted.counts {
		e.Counts[name] = usage.Known(n)
	}
	e.Counts[evidence.MinorFaults] = usage.Known(float64(minor))
	e.Counts[evidence.MajorFaults] = usage.Absent("strace does not count them")
	e.Counts[evidence.Involuntary] = usage.Absent("strace does not count them")
	return e
}

// traced are the counts of strace's lines.
type traced struct {
	counts map[string]float64
	begun  map[string]string // by task: the beginning of a call that another line ends
}

func newTraced() traced { return traced{map[string]float64{evidence.Syscalls: 0}, map[string]string{}} }

// add a line, which is a whole call, the beginning of one or its end:
//
//	12 read(3<pipe:[77]>, ""..., 4096) = 12
//	12 read(3<pipe:[77]>,  <unfinished ...>
//	12 <... read resumed>""..., 4096) = 12
func (t traced) add(line string) {
	task, call, _ := strings.Cut(line, " ")
	call = strings.TrimLeft(call, " ")
	if begun, is := strings.CutSuffix(call, "<unfinished ...>"); is {
		t.begun[task] = begun
		return
	}
	waited := strings.HasPrefix(call, "<... ")
	if waited {
		_, rest, _ := strings.Cut(call, " resumed>")
		call = t.begun[task] + rest
		delete(t.begun, task)
	}
	name, arguments, is := strings.Cut(call, "(")
	if !is || name == "" || strings.ContainsAny(name, " <+-") {
		return // a signal, an exit, or the end of a call that began before
	}
	at := strings.LastIndex(arguments, ") ")
	if at < 0 {
		return
	}
	result, _, _ := strings.Cut(strings.TrimLeft(arguments[at+2:], " ="), " ")
	result, _, _ = strings.Cut(result, "<") // of a descriptor
	value, err := strconv.ParseInt(result, 0, 64)
	known := err == nil && value >= 0
	t.counts[evidence.Syscalls]++
	t.counts[evidence.Syscall+name]++
	transfer := ""
	switch {
	case !known:
	case slices.Contains(evidence.ReadCalls, name):
		transfer = "read." + objectOf(arguments)
	case slices.Contains(evidence.WriteCalls, name):
		transfer = "write." + objectOf(arguments)
	case slices.Contains(starting, name) && strings.Contains(arguments, "CLONE_THREAD"):
		t.counts[evidence.Threads]++
	case slices.Contains(starting, name):
		t.counts[evidence.Processes]++
	}
	if transfer != "" {
		if transfer += ".small"; value > 4096 {
			transfer = strings.TrimSuffix(transfer, "small") + "large"
		}
		t.counts[evidence.Transfer+transfer]++
		t.counts[evidence.Bytes+transfer] += float64(value)
	}
	if waited {
		t.counts[evidence.Voluntary]++
		t.counts[evidence.Blocked+evidence.Syscall+name]++
		if transfer != "" {
			t.counts[evidence.Blocked+evidence.Transfer+transfer]++
		}
	}
}

var starting = []string{"clone", "clone3", "fork", "vfork"}

// objectOf says what the first argument is: 3<TCP:[127.0.0.1:80]>, 4<pipe:[77]>, 5</etc/passwd>.
func objectOf(arguments string) string {
	number, what, _ := strings.Cut(arguments, "<")
	if comma := strings.Index(arguments, ","); comma >= 0 && comma < strings.Index(arguments, "<") {
		return "other" // the first argument has no name
	}
	what, _, _ = strings.Cut(what, ",")
	for prefix, object := range map[string]string{"TCP": "tcp", "UDP": "udp", "UNIX": "unix", "pipe:": "pipe"} {
		switch {
		case !strings.HasPrefix(what, prefix):
		case object == "pipe" && (number == "1" || number == "2"):
			return "output"
		default:
			return object
		}
	}
	if strings.HasPrefix(what, "/") && !strings.Contains(what, "<char") && !strings.HasPrefix(what, "/dev/") {
		return "file"
	}
	return "other"
}

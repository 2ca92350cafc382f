package calls

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/testing/needs"
)

// asProgram is the variable that makes the test's program the mode of the agent.
const asProgram = "TARE_TEST_CALLS"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	if err := Run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// counted does calls of a kind in a process of its own, and counts the system calls of that
// and of all that it starts.
func counted(t *testing.T, kind string) (calls int, of map[uint64]int) {
	t.Helper()
	runtime.LockOSThread() // the thread that started a process is the one that traces it
	defer runtime.UnlockOSThread()
	var out bytes.Buffer
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	process, err := os.StartProcess(self, []string{self, kind, "40"}, &os.ProcAttr{
		Env: append(os.Environ(), asProgram+"=1"), Files: []*os.File{nil, write, os.Stderr},
		Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	write.Close()
	if err != nil {
		needs.Working(t, "ptrace", err)
	}
	of = traced(t, process.Pid)
	if _, err := out.ReadFrom(read); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(out.String(), "calls %d\n", &calls); err != nil || calls == 0 {
		t.Fatalf("%s printed %q: %v", kind, out.String(), err)
	}
	return calls, of
}

// traced counts the system calls of a process that was started to be traced, and of all that it
// starts, until they have ended.
func traced(t *testing.T, process int) map[uint64]int {
	t.Helper()
	of := map[uint64]int{}
	var status unix.WaitStatus
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	if _, err := unix.Wait4(process, &status, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceSetOptions(process, options); err != nil {
		t.Fatal(err)
	}
	for pid := process; ; {
		signal := 0
		switch at := status.StopSignal(); {
		case !status.Stopped() || at == unix.SIGTRAP || at == unix.SIGSTOP:
		case at == unix.SIGTRAP|0x80:
			// A stop at the entrance of a call, or at its exit.
			var info [128]byte
			if _, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(pid), uintptr(len(info)), uintptr(unsafe.Pointer(&info)), 0, 0); errno == 0 && info[0] == unix.PTRACE_SYSCALL_INFO_ENTRY {
				of[*(*uint64)(unsafe.Pointer(&info[24]))]++
			}
		default:
			signal = int(at)
		}
		if status.Stopped() {
			_ = unix.PtraceSyscall(pid, signal) // a thread may have gone
		}
		var err error
		if pid, err = unix.Wait4(-1, &status, unix.WALL, nil); errors.Is(err, unix.ECHILD) {
			return of
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAKindMakesTheSystemCallsThatItIsNamedAfter(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := Run([]string{"prepare"}, nil); err != nil {
		t.Fatal(err)
	}
	two := func(a, b uint64) map[uint64]float64 { return map[uint64]float64{a: 1, b: 1} }
	for kind, expected := range map[string]map[uint64]float64{
		"getpid": {unix.SYS_GETPID: 1}, "trap": {unix.SYS_GETPID: 1}, "clock": {unix.SYS_GETPID: 0, unix.SYS_CLOCK_GETTIME: 0},
		"read-1": {unix.SYS_PREAD64: 1}, "read-4k": {unix.SYS_PREAD64: 1}, "read-64k": {unix.SYS_PREAD64: 1},
		"write-1": {unix.SYS_PWRITE64: 1}, "write-4k": {unix.SYS_PWRITE64: 1}, "write-64k": {unix.SYS_PWRITE64: 1},
		"open": two(unix.SYS_OPENAT, unix.SYS_CLOSE), "stat": {unix.SYS_NEWFSTATAT: 1},
		"readdir": {unix.SYS_LSEEK: 1, unix.SYS_GETDENTS64: 2},
		"mmap":    two(unix.SYS_MMAP, unix.SYS_MUNMAP), "fault": {unix.SYS_MUNMAP: 1. / faultPages},
		"pipe-1": two(unix.SYS_WRITE, unix.SYS_READ), "pipe-4k": two(unix.SYS_WRITE, unix.SYS_READ), "pipe-64k": two(unix.SYS_WRITE, unix.SYS_READ),
		"socket-1": two(unix.SYS_WRITE, unix.SYS_READ), "socket-4k": two(unix.SYS_WRITE, unix.SYS_READ), "socket-64k": two(unix.SYS_WRITE, unix.SYS_READ),
		"fsync": two(unix.SYS_PWRITE64, unix.SYS_FSYNC), "epoll-ctl": {unix.SYS_EPOLL_CTL: 1}, "sockopt": {unix.SYS_SETSOCKOPT: 1}, "yield": {unix.SYS_SCHED_YIELD: 1},
		"epoll": {unix.SYS_EPOLL_PWAIT: 1}, "timer": {unix.SYS_NANOSLEEP: 1},
		"fork": {unix.SYS_CLONE: 1, unix.SYS_EXIT_GROUP: 1, unix.SYS_WAIT4: 1}, "exec": {unix.SYS_EXECVE: 1, unix.SYS_WAIT4: 1},
		"thread": {unix.SYS_CLONE: 1, unix.SYS_EXIT: 1},
		"switch": two(unix.SYS_WRITE, unix.SYS_READ),
		"accept": {unix.SYS_SOCKET: 1, unix.SYS_CONNECT: 1, unix.SYS_ACCEPT4: 1, unix.SYS_SETSOCKOPT: 2, unix.SYS_CLOSE: 2},
		"udp-1":  two(unix.SYS_WRITE, unix.SYS_READ), "udp-1400": two(unix.SYS_WRITE, unix.SYS_READ),
		"tcp-1": two(unix.SYS_WRITE, unix.SYS_READ), "tcp-switch": two(unix.SYS_WRITE, unix.SYS_READ),
		"compute": {unix.SYS_GETPID: 0},
	} {
		calls, of := counted(t, kind)
		for number, each := range expected {
			// What begins and ends the program, and Go's scheduler, make some of their own. The
			// scheduler sleeps the more, the longer the program takes. The thread that yields goes
			// on until the process ends. The last threads have not ended then.
			least := each * float64(calls)
			fewer, more := 1., 90.
			switch number {
			case unix.SYS_NANOSLEEP, unix.SYS_SCHED_YIELD:
				more = math.Inf(1)
			case unix.SYS_EXIT:
				fewer = 5
			}
			if got := float64(of[number]); got < least-fewer || got > least+more {
				t.Errorf("%d calls of %s made system call %d %.0f times, not %.0f", calls, kind, number, got, least)
			}
		}
	}
}

// measured does calls of a kind in a process of its own, since threads stay that wait for a
// turn, and returns what the process used.
func measured(t *testing.T, kind string) (Count, *syscall.Rusage) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self, kind, "20")
	command.Env = append(os.Environ(), asProgram+"=1")
	out, err := command.CombinedOutput()
	var c Count
	if _, wrong := fmt.Sscanf(string(out), "calls %d\nnanoseconds %f\n", &c.Calls, &c.Nanoseconds); err != nil || wrong != nil || c.Calls < 1 {
		t.Fatalf("%s printed %q: %v, %v", kind, out, err, wrong)
	}
	return c, command.ProcessState.SysUsage().(*syscall.Rusage)
}

func TestEachKindIsMeasuredAndFaultsAndSwitchesAreThose(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := Run([]string{"prepare"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, kind := range Kinds() {
		if kind == Line { // into the output of the test
			continue
		}
		c, used := measured(t, kind)
		var each float64
		switch kind {
		case "fault":
			each = float64(used.Minflt) / float64(c.Calls)
		case "switch", "tcp-switch": // the other process has as many
			each = 2 * float64(used.Nvcsw+used.Nivcsw) / float64(c.Calls)
		case "futex", "timer":
			each = float64(used.Nvcsw+used.Nivcsw) / float64(c.Calls)
		default:
			continue
		}
		// The program has some of its own, and on several cores a hand-over may find the other
		// thread awake.
		if c.Calls > 100 && (each < .5 || each > 3) {
			t.Errorf("%d calls of %s had %g each", c.Calls, kind, each)
		}
		t.Logf("%d calls of %s had %g each", c.Calls, kind, each)
	}
}

func TestALineIsWrittenToTheStandardErrorOfTheParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", "-c", `"$0" line 20; true`, self)
	command.Env = append(os.Environ(), asProgram+"=1")
	var out, lines bytes.Buffer
	command.Stdout, command.Stderr = &out, &lines
	var calls int
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(out.String(), "calls %d\n", &calls); err != nil || lines.Len() != 100*calls || bytes.Count(lines.Bytes(), []byte("\n")) != calls {
		t.Errorf("%q (%v), and %d bytes of lines", out.String(), err, lines.Len())
	}
}

func TestExchangesAreAnsweredAtTheOtherEnd(t *testing.T) {
	listens, where, err := listening()
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(listens)
	address := fmt.Sprintf("127.0.0.1:%d", where.(*unix.SockaddrInet4).Port)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(self, "answer", address)
	server.Env, server.Stderr = append(os.Environ(), asProgram+"=1"), os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for {
		fd, err := connected(where) // and closed without a request, as by a probe
		if err == nil {
			unix.Close(fd)
			break
		}
		if !errors.Is(err, unix.ECONNREFUSED) || t.Context().Err() != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	for _, kind := range Outside() {
		command := exec.Command(self, kind, "20", address)
		command.Env = server.Env
		var c Count
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", kind, err, out)
		} else if _, err := fmt.Sscanf(string(out), "calls %d\nnanoseconds %f\n", &c.Calls, &c.Nanoseconds); err != nil || c.Calls < 1 || c.Nanoseconds <= 0 {
			t.Errorf("%s printed %q", kind, out)
		}
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"getpid"}, {"getpid", "0"}, {"getpid", "x"}, {"getppid", "1"}, {"answer", "here"}, {"outside-1", "1", "127.0.0.1"}, {"outside-2", "1", "127.0.0.1:1"}} {
		if err := Run(args, nil); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

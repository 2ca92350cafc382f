package calls

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
)

var ofThreads = []Kind{
	{"fork", fork},
	{"exec", execute},
	{"thread", thread},
	{"futex", futex},
	{"yield", yield},
	{"switch", handing(pipe)},
}

// forked makes a process that exits at once. It must not grow the stack: in the new process
// only this thread lives, and nothing of Go's runtime may run.
//
//go:nosplit
func forked() (uintptr, unix.Errno) {
	pid, errno := system(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && errno == 0 {
		_, _ = system(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
	}
	return pid, unix.Errno(errno)
}

// fork makes a process, which exits, and waits for it.
func fork() (func(int) error, error) {
	return loop(func() error {
		pid, errno := forked()
		if errno != 0 {
			return errno
		}
		return wait(int(pid))
	})
}

func wait(pid int) error {
	_, err := raw(unix.SYS_WAIT4, uintptr(pid), 0, 0)
	return err
}

// programs that do nothing; images have one of them.
var programs = []string{"/bin/true", "/usr/bin/true"}

// execute starts a program and waits for its end.
func execute() (func(int) error, error) {
	for _, program := range programs {
		if _, err := os.Stat(program); err == nil {
			return loop(func() error {
				pid, err := syscall.ForkExec(program, []string{program}, &syscall.ProcAttr{Env: []string{}})
				if err == nil {
					err = wait(pid)
				}
				return err
			})
		}
	}
	return nil, errors.New("the image has no program true")
}

// thread starts a thread and waits until it has run. It ends by itself, since a goroutine
// that keeps its thread takes it along.
func thread() (func(int) error, error) {
	return loop(func() error {
		ran := make(chan struct{})
		crash.Go(func() {
			runtime.LockOSThread()
			close(ran)
		})
		<-ran
		return nil
	})
}

// futex hands a turn to another thread and waits until it is handed back: of each hand-over,
// a wake-up, a wait, and the change of the thread that runs.
func futex() (func(int) error, error) {
	var turn atomic.Uint32 // whose it is
	word := uintptr(unsafe.Pointer(&turn))
	hand := func(to, from uint32) error {
		turn.Store(to)
		if _, err := raw(unix.SYS_FUTEX, word, futexWake, 1); err != nil {
			return err
		}
		for turn.Load() != from {
			if _, err := raw(unix.SYS_FUTEX, word, futexWait, uintptr(to)); err != nil && !errors.Is(err, unix.EAGAIN) {
				return err
			}
		}
		return nil
	}
	crash.Go(func() {
		runtime.LockOSThread()
		for turn.Load() != 1 {
			_, _ = raw(unix.SYS_FUTEX, word, futexWait, 0)
		}
		for hand(0, 1) == nil {
		}
	})
	return turns(func() error { return hand(1, 0) })
}

// yield gives the core to another thread, which gives it back the same way: the calls of both
// count. A thread that is alone gets it back at once.
func yield() (func(int) error, error) {
	var done atomic.Int64
	give := func() error {
		_, err := raw(unix.SYS_SCHED_YIELD, 0, 0, 0)
		done.Add(1)
		return err
	}
	crash.Go(func() {
		runtime.LockOSThread()
		for give() == nil {
		}
	})
	return func(n int) error {
		for end := done.Load() + int64(n); done.Load() < end; {
			if err := give(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

const (
	private   = 128
	futexWait = 0 | private
	futexWake = 1 | private
)

// turns does a call that is two hand-overs, for at least so many of them.
func turns(one func() error) (func(int) error, error) {
	return func(n int) error {
		for ; n > 0; n -= 2 {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// handing hands a byte to another process through a stream and waits until it comes back: of
// each hand-over, a write, a read that waits, and the change of the process that runs. A server
// and who asks it are two processes, and a sandbox may keep a thread for each.
func handing(open func() (ends [2]int, err error)) func() (func(int) error, error) {
	return func() (func(int) error, error) {
		there, err := open()
		if err != nil {
			return nil, err
		}
		back, err := open()
		if err != nil {
			return nil, err
		}
		buffer := []byte{0}
		if errno := answering(there, back, unsafe.Pointer(&buffer[0])); errno != 0 {
			return nil, errno
		}
		return turns(func() error {
			err := whole(unix.SYS_WRITE, there[0], buffer)
			if err == nil {
				err = whole(unix.SYS_READ, back[1], buffer)
			}
			return err
		})
	}
}

// answering makes a process that gives back each byte. It ends with this one, whose ends of the
// streams it closes. As for forked, nothing of Go's runtime may run in it.
//
//go:nosplit
func answering(there, back [2]int, buffer unsafe.Pointer) unix.Errno {
	pid, errno := system(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return unix.Errno(errno)
	}
	_, _ = system(unix.SYS_CLOSE, uintptr(there[0]), 0, 0, 0, 0, 0)
	_, _ = system(unix.SYS_CLOSE, uintptr(back[1]), 0, 0, 0, 0, 0)
	_, _ = system(unix.SYS_CLOSE, 1, 0, 0, 0, 0, 0) // whose end is that of the measurement
	for {
		n, errno := system(unix.SYS_READ, uintptr(there[1]), uintptr(buffer), 1, 0, 0, 0)
		if n == 1 {
			n, errno = system(unix.SYS_WRITE, uintptr(back[0]), uintptr(buffer), 1, 0, 0, 0)
		}
		if n != 1 && unix.Errno(errno) != unix.EINTR {
			_, _ = system(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
		}
	}
}

package server

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestASignalFindsNoProcessThatIsExiting(t *testing.T) {
	c := &children{alive: map[int]*child{}, wake: make(chan struct{}, 1)} // it reaps nothing
	ch, err := c.start("/bin/true", []string{"true"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, ch.pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.signal(ch, unix.SIGTERM); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the signal's error is %v", err)
	}
	p, _ := os.FindProcess(ch.pid)
	_, _ = p.Wait()
}

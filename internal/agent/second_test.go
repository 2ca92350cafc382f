package agent_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
)

// counted is a stream that keeps what was read from it.
type counted struct {
	io.ReadWriteCloser
	mu   sync.Mutex
	read bytes.Buffer
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read.Write(p[:n])
	return n, err
}

func (c *counted) saw(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.read.String(), text)
}

func pidfd(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// shortened is an agent with a second stream, and what came by the first.
func shortened(t *testing.T) (*agent.Client, *counted) {
	t.Helper()
	cmd := exec.Command(program, "stdio")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	first := &counted{ReadWriteCloser: stdio{in, out}}
	c, err := agent.Connect(soon(t), first)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Shortcut(soon(t), pidfd(t, cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	return c, first
}

func TestOnlyAttachedCommandsUseTheFirstStreamAfterAShortcut(t *testing.T) {
	c, first := shortened(t)
	far, _ := relayed(t, c)
	for name, c := range map[string]*agent.Client{"near": c, "far": far} {
		for _, attached := range []bool{true, false} {
			said := name + map[bool]string{true: " attached", false: " apart"}[attached]
			var out bytes.Buffer
			exit, err := c.Run(soon(t), agent.Command{Argv: []string{"cat"}, Stdin: strings.NewReader(said), Stdout: &out, Attached: attached})
			if err != nil || !exit.OK() || out.String() != said {
				t.Errorf("%s: %+v, %v, %q", said, exit, err, out.String())
			}
			if first.saw(said) != attached {
				t.Errorf("%s: whether its output came by the first stream is %v", said, !attached)
			}
		}
	}
	// More than the windows hold, both ways at once.
	data := bytes.Repeat([]byte("to and fro "), 200_000)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			var out bytes.Buffer
			exit, err := c.Run(soon(t), agent.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(data), Stdout: &out, Attached: n%2 == 0})
			if err != nil || !exit.OK() || !bytes.Equal(out.Bytes(), data) {
				t.Errorf("%+v, %v: %d bytes came back", exit, err, out.Len())
			}
		})
	}
	all.Wait()
	p, err := c.Start(soon(t), agent.Command{Argv: []string{"sleep", "1000"}, Attached: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(soon(t), syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if exit, err := p.Wait(soon(t)); err != nil || exit.Signal != "SIGTERM" {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestAShutdownAfterAShortcutDeliversWhatAttachedCommandsPrinted(t *testing.T) {
	c, _ := shortened(t)
	up, printed := make(chan struct{}), &lines{}
	cmd := shell("echo up; trap 'echo down; exit 3' TERM; while :; do sleep 0.01; done")
	var once sync.Once
	cmd.Attached, cmd.Stdout = true, writer(func(b []byte) { printed.Write(b); once.Do(func() { close(up) }) })
	p, err := c.Start(soon(t), cmd)
	if err != nil {
		t.Fatal(err)
	}
	<-up
	if err := c.Shutdown(soon(t)); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(soon(t)); err != nil || exit.OK() {
		t.Errorf("%+v, %v, it printed %q", exit, err, printed.String())
	}
	<-c.Done()
}

func TestTheAgentExitsWhenEitherStreamOfAShortcutEnds(t *testing.T) {
	for _, end := range []func(*agent.Client, *counted){
		func(c *agent.Client, _ *counted) { c.Close() },
		func(_ *agent.Client, first *counted) { first.Close() },
	} {
		c, first := shortened(t)
		pid := family(t, running{Client: c})
		end(c, first)
		for _, p := range pid {
			gone(t, p)
		}
		<-c.Done()
	}
}

func TestAProcessWithoutTheAgentsSocketLeavesTheFirstStreamInUse(t *testing.T) {
	a := start(t)
	err := a.Shortcut(soon(t), pidfd(t, os.Getpid()))
	if err == nil {
		t.Fatal("the socket of another process was taken for the agent's")
	}
	if exit, err := a.Run(soon(t), agent.Command{Argv: []string{"true"}}); err != nil || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
}

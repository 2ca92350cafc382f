package agent_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/agent"
	"tare/internal/testing/gobuild"
)

// program is the real agent, built once for all tests of this package.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "tare-agent")
	if err := gobuild.Build(program, "tare/cmd/tare-agent"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.RemoveAll(dir)
	os.Exit(status)
}

// stdio is a process's standard input and output as one stream.
type stdio struct {
	io.WriteCloser
	out io.ReadCloser
}

func (s stdio) Read(b []byte) (int, error) { return s.out.Read(b) }
func (s stdio) Close() error               { s.out.Close(); return s.WriteCloser.Close() }

// running is an agent that runs in its own process.
type running struct {
	*agent.Client
	process *os.Process
	ended   chan struct{}
	stderr  *lines
}

// start runs the agent in a mode and connects to it. The test ends it.
func start(t *testing.T, mode ...string) running {
	t.Helper()
	if len(mode) == 0 {
		mode = []string{"stdio"}
	}
	return startProgram(t, exec.Command(program, mode...))
}

// startProgram connects to an agent that another command starts.
func startProgram(t *testing.T, cmd *exec.Cmd) running {
	t.Helper()
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	stderr := &lines{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := running{process: cmd.Process, ended: make(chan struct{}), stderr: stderr}
	t.Cleanup(func() {
		in.Close()
		select {
		case <-r.ended:
		case <-time.After(time.Minute):
			t.Error("the agent did not end at the end of its stream")
			cmd.Process.Kill()
		}
	})
	c, err := agent.Connect(soon(t), stdio{in, out})
	go func() { cmd.Wait(); close(r.ended) }()
	if err != nil {
		<-r.ended
		t.Fatalf("%v; the agent printed %q", err, stderr.String())
	}
	r.Client = c
	return r
}

// soon returns a context with a timeout for calls that must not hang.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

package agent_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tare/internal/agent"
)

// relayed is a second client of a running agent, through another stream.
func relayed(t *testing.T, c *agent.Client) (far *agent.Client, over <-chan error) {
	t.Helper()
	near, there := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- c.Relay(there) }()
	far, err := agent.Connect(soon(t), near)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return far, ended
}

func TestARelayedAgentServesBothClients(t *testing.T) {
	near := start(t)
	far, over := relayed(t, near.Client)
	again, _ := relayed(t, far) // through a relay of a relay
	if near.Hello().PID != far.Hello().PID || far.Hello().PID != again.Hello().PID {
		t.Error("the agents' hellos differ")
	}
	data := bytes.Repeat([]byte("relayed and relayed "), 100_000)
	var all sync.WaitGroup
	for _, c := range []*agent.Client{near.Client, far, again} {
		for range 3 {
			all.Go(func() {
				var out bytes.Buffer
				exit, err := c.Run(soon(t), agent.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(data), Stdout: &out})
				if err != nil || !exit.OK() || !bytes.Equal(out.Bytes(), data) {
					t.Errorf("%+v, %v: %d bytes came back", exit, err, out.Len())
				}
			})
		}
	}
	all.Wait()
	p, err := again.Start(soon(t), agent.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(soon(t), syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if exit, err := p.Wait(soon(t)); err != nil || exit.Signal != "SIGTERM" {
		t.Errorf("%+v, %v", exit, err)
	}
	if err := near.Relay(&nobody{}); err == nil {
		t.Error("one agent was relayed twice by the same client")
	}
	near.Close()
	if err := <-over; !errors.Is(err, agent.ErrGone) {
		t.Errorf("the relay of an agent that is gone ended with %v", err)
	}
	<-again.Done()
}

type nobody struct{}

func (*nobody) Read([]byte) (int, error)    { return 0, io.EOF }
func (*nobody) Write(p []byte) (int, error) { return len(p), nil }
func (*nobody) Close() error                { return nil }

func TestClosingARelayKeepsTheLocalClient(t *testing.T) {
	near := start(t)
	far, over := relayed(t, near.Client)
	far.Close()
	if err := <-over; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if exit, err := near.Run(soon(t), agent.Command{Argv: []string{"true"}}); err != nil || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
}

// broken is read to an error.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("the disk is gone")
	}
	return n, err
}

func TestAnInputThatFailsPartwayIsAnError(t *testing.T) {
	a := start(t)
	if _, err := a.Run(soon(t), agent.Command{Argv: []string{"cat"}, Stdin: broken{strings.NewReader("a part")}, Stdout: io.Discard}); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("a command's standard input: %v", err)
	}
	if err := a.WriteFrom(soon(t), t.TempDir()+"/file", 0, broken{strings.NewReader("a part")}); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("a file: %v", err)
	}
}

func TestStandardInputComesAsTheCommandTakesIt(t *testing.T) {
	in, out := io.Pipe()
	received, say := io.Pipe()
	p, err := start(t).Start(soon(t), agent.Command{Argv: []string{"cat"}, Stdin: in, Stdout: say})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"first", "second"} {
		if _, err := io.WriteString(out, word); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(word))
		if _, err := io.ReadFull(received, got); err != nil || string(got) != word {
			t.Fatalf("%q, %v", got, err)
		}
	}
	out.Close()
	if exit, err := p.Wait(soon(t)); err != nil || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
}

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/testing/needs"
)

// played is an agent that a test plays by hand, over a pipe in memory.
type played struct {
	t *testing.T
	*wire.Reader
	*wire.Writer
	conn net.Conn
}

func play(t *testing.T) (*agent.Client, played) {
	t.Helper()
	host, conn := net.Pipe()
	p := played{t, wire.NewReader(conn), wire.NewWriter(conn), conn}
	t.Cleanup(func() { conn.Close() })
	go func() {
		p.Writer.Preamble()
		p.say(wire.TypeHello, 0, wire.Hello{Protocol: wire.Protocol})
	}()
	c, err := agent.Connect(soon(t), host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, p
}

func (p played) say(t wire.Type, request uint32, message any) {
	f, err := wire.JSON(t, request, message)
	if err != nil {
		p.t.Error(err)
	}
	p.Write(f)
}

func TestConnectGivesUpWithItsContextAndClosesTheStream(t *testing.T) {
	host, silent := net.Pipe()
	ctx, cancel := context.WithTimeout(soon(t), time.Millisecond)
	defer cancel()
	if _, err := agent.Connect(ctx, host); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := silent.Write([]byte("late")); err == nil {
		t.Error("the stream is still open")
	}
}

func TestConnectQuotesOutputOfAProgramThatIsNotTheAgent(t *testing.T) {
	for output, words := range map[string]string{
		"OCI runtime exec failed: no such file\n": "OCI runtime exec failed",
		"": "ended",
		wire.Preamble + "\x00\x00\x00\x02\x01\x00\x00\x00\x00{}": "protocol version 0",
	} {
		host, other := net.Pipe()
		go func() { other.Write([]byte(output)); other.Close() }()
		if _, err := agent.Connect(soon(t), host); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", output, err)
		}
	}
}

// An agent that is frozen from outside, or whose guest hangs, keeps its stream open.
func TestAnAgentWhoseHelloDoesNotComeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, conn := net.Pipe()
		_, err := agent.Connect(context.Background(), host)
		if err == nil || !strings.Contains(err.Error(), "waiting for the agent's hello: it did not come within 10m") {
			t.Error(err)
		}
		if _, err := conn.Write([]byte{0}); err == nil {
			t.Error("the stream is still open")
		}
	})
}

func TestAnAgentThatDoesNotAnswerIsGone(t *testing.T) {
	for name, ask := range map[string]func(*agent.Client) error{
		"a command": func(c *agent.Client) error {
			_, err := c.Run(context.Background(), agent.Command{Argv: []string{"true"}, Timeout: time.Hour})
			return err
		},
		"the clock": func(c *agent.Client) error {
			_, err := c.Clock(context.Background())
			return err
		},
		"a probe": func(c *agent.Client) error {
			_, err := c.ProbeOnce(context.Background(), agent.Probe{TCP: "127.0.0.1:1", Timeout: time.Second})
			return err
		},
	} {
		for _, starts := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				host, conn := net.Pipe()
				p := played{t, wire.NewReader(conn), wire.NewWriter(conn), conn}
				go func() {
					p.Writer.Preamble()
					p.say(wire.TypeHello, 0, wire.Hello{Protocol: wire.Protocol})
					p.Reader.Preamble()
					for f, err := p.Next(); err == nil; f, err = p.Next() {
						if f.Type == wire.TypeStart && starts {
							p.say(wire.TypeStarted, f.Request, wire.Started{PID: 1})
						}
					}
				}()
				c, err := agent.Connect(context.Background(), host)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				err = ask(c)
				if !errors.Is(err, agent.ErrGone) || !strings.Contains(err.Error(), "it did not answer within") || c.Err() == nil {
					t.Errorf("%s: %v", name, err)
				}
				if took := time.Since(began); took < time.Minute || took > time.Hour+time.Minute || starts && name == "a command" && took < time.Hour {
					t.Errorf("%s: the connection ended after %v", name, took)
				}
				conn.Close()
			})
		}
	}
}

func TestEveryPendingCallFailsWhenTheAgentExits(t *testing.T) {
	c, p := play(t)
	const calls = 4
	failed := make(chan error, calls)
	go func() { _, err := c.Clock(soon(t)); failed <- err }()
	go func() { _, err := c.ReadFile(soon(t), "/x", 0); failed <- err }()
	go func() { _, err := c.Await(soon(t), agent.Probe{TCP: "x"}); failed <- err }()
	go func() { _, err := c.Run(soon(t), shell("true")); failed <- err }()
	for range calls {
		if _, err := p.Next(); err != nil {
			t.Fatal(err)
		}
	}
	p.conn.Close()
	for range calls {
		if err := <-failed; !errors.Is(err, agent.ErrGone) || !strings.Contains(err.Error(), "4 requests pending") {
			t.Error(err)
		}
	}
	<-c.Done()
}

func TestAnExitStatusSentBeforeTheConnectionBreaksIsKept(t *testing.T) {
	c, p := play(t)
	go func() {
		f, _ := p.Next()
		p.say(wire.TypeStarted, f.Request, wire.Started{PID: 1})
		p.Write(wire.Frame{Type: wire.TypeStdout, Request: f.Request, Payload: []byte("last words")})
		p.say(wire.TypeExit, f.Request, wire.Exit{Code: 3})
		p.conn.Close()
	}()
	var out bytes.Buffer
	exit, err := c.Run(soon(t), agent.Command{Argv: []string{"x"}, Stdout: &out})
	if err != nil || exit.Code != 3 || out.String() != "last words" {
		t.Errorf("%+v, %v, %q", exit, err, out.String())
	}
}

func TestAnAgentThatExceedsItsWindowIsDisconnected(t *testing.T) {
	c, p := play(t)
	hold := make(chan struct{})
	defer close(hold)
	go func() {
		f, _ := p.Next()
		p.say(wire.TypeStarted, f.Request, wire.Started{PID: 1})
		for range 2*wire.Window/wire.Chunk + 1 {
			if p.Write(wire.Frame{Type: wire.TypeStdout, Request: f.Request, Payload: make([]byte, wire.Chunk)}) != nil {
				return
			}
		}
	}()
	if _, err := c.Start(soon(t), agent.Command{Argv: []string{"x"}, Stdout: writer(func([]byte) { <-hold })}); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if err := c.Err(); !strings.Contains(err.Error(), "flow-control window") {
		t.Error(err)
	}
}

func TestAnAgentThatSendsMoreOfAFileThanWasAskedForIsDisconnected(t *testing.T) {
	c, p := play(t)
	go func() {
		f, _ := p.Next()
		for range 4 { // grants are left unread: net.Pipe would block
			if p.Write(wire.Frame{Type: wire.TypeData, Request: f.Request, Payload: make([]byte, 30)}) != nil {
				return
			}
		}
		p.Write(wire.Frame{Type: wire.TypeEnd, Request: f.Request})
	}()
	data, err := c.ReadFile(soon(t), "/x", 100)
	if !errors.Is(err, agent.ErrGone) || !strings.Contains(err.Error(), "more than the 100 bytes of /x") {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestAnAgentCannotFillTheMemoryWithFramesOfAnyType(t *testing.T) {
	for what, flood := range map[string]wire.Frame{
		"replies":          {Type: wire.TypeReply, Payload: make([]byte, 30_000)},
		"empty output":     {Type: wire.TypeStdout},
		"unasked-for data": {Type: wire.TypeData, Payload: make([]byte, 30_000)},
		"a long failure":   {Type: wire.TypeReply, Payload: make([]byte, wire.MaxPayload)},
	} {
		c, p := play(t)
		hold := make(chan struct{})
		go func() {
			f, _ := p.Next()
			p.say(wire.TypeStarted, f.Request, wire.Started{PID: 1})
			p.Write(wire.Frame{Type: wire.TypeStdout, Request: f.Request, Payload: []byte("x")})
			flood.Request = f.Request
			for range 1000 * wire.MaxControl { // until it is disconnected
				if p.Write(flood) != nil {
					return
				}
			}
		}()
		if _, err := c.Start(soon(t), agent.Command{Argv: []string{"x"}, Stdout: writer(func([]byte) { <-hold })}); err != nil {
			t.Fatal(what, err)
		}
		select {
		case <-c.Done():
		case <-soon(t).Done():
			t.Error(what, "are taken without an end")
		}
		close(hold)
	}
}

// An agent is trusted with what it measured, not with numbers that nothing measures.
func TestNumbersOfAnAgentThatAreNoneAreErrors(t *testing.T) {
	for _, exit := range []wire.Exit{{Ended: -1}, {Started: 5, Ended: 4}, {Started: math.MinInt64, Ended: math.MaxInt64}, {User: -1}, {System: -1}} {
		c, p := play(t)
		go func() {
			f, _ := p.Next()
			p.say(wire.TypeStarted, f.Request, wire.Started{PID: 1})
			p.say(wire.TypeExit, f.Request, exit)
		}()
		if got, err := c.Run(soon(t), agent.Command{Argv: []string{"x"}}); err == nil || got != (agent.Exit{}) || !strings.Contains(err.Error(), "an impossible end") {
			t.Errorf("%+v is taken: %+v, %v", exit, got, err)
		}
	}
	c, p := play(t)
	go func() {
		f, _ := p.Next()
		p.say(wire.TypeReply, f.Request, wire.Awaited{Elapsed: -1})
	}()
	if _, err := c.Await(soon(t), agent.Probe{TCP: "x"}); err == nil || !strings.Contains(err.Error(), "impossible wait: -1ns") {
		t.Error(err)
	}
	for _, hello := range []wire.Hello{{CPUs: -1}, {Uptime: -1}, {AgentTime: -1}, {Cores: []int{0, -1}}, {Cores: []int{1 << 40}}} {
		host, conn := net.Pipe()
		p := played{t, wire.NewReader(conn), wire.NewWriter(conn), conn}
		hello.Protocol = wire.Protocol
		go func() {
			p.Writer.Preamble()
			p.say(wire.TypeHello, 0, hello)
		}()
		if _, err := agent.Connect(soon(t), host); err == nil || !strings.Contains(err.Error(), "impossible values") {
			t.Errorf("%+v is taken: %v", hello, err)
		}
		conn.Close()
	}
}

func TestResponsesToCancelledRequestsAreIgnored(t *testing.T) {
	c, p := play(t)
	ctx, cancel := context.WithCancel(soon(t))
	go func() {
		f, _ := p.Next()
		cancel()
		next, _ := p.Next() // by then the first one is forgotten
		p.say(wire.TypeReply, f.Request, wire.Clock{Clock: 1})
		p.say(wire.TypeReply, next.Request, wire.Clock{Clock: 2})
	}()
	if _, err := c.Clock(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if r, err := c.Clock(soon(t)); err != nil || r.Clock != 2 {
		t.Error(r, err)
	}
}

func TestAsPID1TheAgentReapsOrphansAndKeepsTheExitStatusOfItsChildren(t *testing.T) {
	needs.Root(t)
	a := startProgram(t, exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", program, "stdio"))
	if a.Hello().PID != 1 {
		t.Fatalf("it is process %d", a.Hello().PID)
	}
	for i := range 30 {
		// The orphan ends about when its grandparent does.
		exit, err := a.Run(soon(t), shell("sh -c 'sleep 0.01 & exit' ; sleep 0.01; exit 6"))
		if err != nil || exit.Code != 6 {
			t.Fatalf("run %d: %+v, %v", i, exit, err)
		}
	}
	until(t, "no zombie is left", func() bool {
		var out bytes.Buffer
		cmd := shell("cat /proc/[0-9]*/stat")
		cmd.Stdout = &out
		if _, err := a.Run(soon(t), cmd); err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(out.String(), ") Z ")
	})
	if _, err := a.Start(soon(t), shell("setsid sleep 1000 & sleep 1000")); err != nil {
		t.Fatal(err)
	}
	if err := a.Shutdown(soon(t)); err != nil {
		t.Error(err)
	}
}

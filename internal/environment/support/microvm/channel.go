package microvm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"tare/internal/base/crash"
	"tare/internal/environment/support/vmm"
)

// These VMMs map a guest's vsock to unix sockets ("hybrid vsock"): a connection
// from the guest to a port arrives at the socket PATH_PORT, and one to the guest
// begins with the line "CONNECT PORT".

// listenAgent listens for the guest's connection.
func listenAgent(p *socketDir) (net.Listener, error) {
	l, err := net.Listen("unix", p.path(fmt.Sprintf("%s_%d", VSock, agentPort)))
	if err != nil {
		return nil, fmt.Errorf("listening for the guest's agent: %w", err)
	}
	return l, nil
}

// accept waits for the guest's connection while its VMM runs.
func accept(ctx context.Context, l net.Listener, p *vmm.Process) (net.Conn, error) {
	type outcome struct {
		conn net.Conn
		err  error
	}
	came := make(chan outcome, 1)
	crash.Go(func() {
		conn, err := l.Accept()
		came <- outcome{conn, err}
	})
	select {
	case o := <-came:
		return o.conn, o.err
	case <-p.Exited():
	case <-ctx.Done():
	}
	l.Close()
	if o := <-came; o.conn != nil {
		o.conn.Close()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, errors.New("the VMM exited before its guest connected")
}

// errNotListening means that the guest's agent does not listen yet.
var errNotListening = errors.New("the guest does not listen on the agent's port")

// dialAgent connects to the agent of a guest that listens.
func dialAgent(ctx context.Context, p *socketDir) (_ net.Conn, err error) {
	conn, err := p.dial(ctx, VSock)
	if err != nil {
		return nil, fmt.Errorf("connecting to the guest's vsock: %w", err)
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := fmt.Fprintf(conn, "CONNECT %d\n", agentPort); err != nil {
		return nil, fmt.Errorf("connecting to the guest's vsock port %d: %w", agentPort, err)
	}
	// The agent sends nothing before it has read the time, so the buffer holds
	// none of its data.
	answer, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	if errors.Is(err, io.EOF) {
		return nil, errNotListening
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to the guest's vsock port %d: %w", agentPort, err)
	}
	if !strings.HasPrefix(answer, "OK ") {
		return nil, fmt.Errorf("connecting to the guest's vsock port %d: the VMM answered %q", agentPort, answer)
	}
	return conn, nil
}

// interval between two attempts to connect.
const interval = 5 * time.Millisecond

// awaitTaken waits until the agent has accepted the connection that was made before: it
// does not listen then.
func awaitTaken(ctx context.Context, place *socketDir) error {
	for {
		conn, err := dialAgent(ctx, place)
		if errors.Is(err, errNotListening) {
			return nil
		}
		if err != nil {
			return err
		}
		conn.Close()
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// dialAgentRetrying repeats dialAgent until it succeeds or the VMM exits.
func dialAgentRetrying(ctx context.Context, place *socketDir, p *vmm.Process) (net.Conn, error) {
	for {
		conn, err := dialAgent(ctx, place)
		if err == nil {
			return conn, nil
		}
		select {
		case <-time.After(interval):
		case <-p.Exited():
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// greetAgent connects to the agent of a restored guest and sends it the time. The VMM gives up
// a request for a connection that its guest does not answer in two seconds, as a busy host can
// let it, and makes the next one. The agent takes the first, which has ended, and the guest's
// kernel ends the second, which it had answered, when the agent listens anew. So a connection that
// ends before the agent's first word is made again.
func greetAgent(ctx context.Context, place *socketDir, p *vmm.Process) (io.ReadWriteCloser, error) {
	for {
		conn, err := dialAgentRetrying(ctx, place, p)
		if err != nil {
			return nil, err
		}
		in := bufio.NewReader(conn)
		err = greet(ctx, conn, in)
		if err == nil {
			return &greeted{conn, in}, nil
		}
		err = errors.Join(err, conn.Close())
		if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			return nil, err
		}
		select {
		case <-time.After(interval):
		case <-p.Exited():
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// greet sends the time, and waits for the agent's first word.
func greet(ctx context.Context, conn net.Conn, in *bufio.Reader) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	_, err := fmt.Fprintf(conn, "%d\n", time.Now().UnixNano())
	if err == nil {
		_, err = in.Peek(1)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("sending the time to the guest's agent: %w", err)
	}
	return nil
}

// greeted is a connection whose first bytes were read.
type greeted struct {
	net.Conn
	in *bufio.Reader
}

func (g *greeted) Read(p []byte) (int, error) { return g.in.Read(p) }

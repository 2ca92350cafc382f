package microvm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"tare/internal/environment/support/vmm"
)

// These VMMs end a guest's vsock at unix sockets: a connection that the guest
// makes to a port arrives at the socket with the port's number in its name, and
// one to the guest begins with a line that says the port.

// hear listens for the guest's connection.
func hear(p *place) (net.Listener, error) {
	l, err := net.Listen("unix", p.path(fmt.Sprintf("%s_%d", VSock, agentPort)))
	if err != nil {
		return nil, fmt.Errorf("listening for the guest's agent: %w", err)
	}
	return l, nil
}

// accept waits for the guest, for as long as its VMM lives.
func accept(ctx context.Context, l net.Listener, p *vmm.Process) (net.Conn, error) {
	type outcome struct {
		conn net.Conn
		err  error
	}
	came := make(chan outcome, 1)
	go func() {
		conn, err := l.Accept()
		came <- outcome{conn, err}
	}()
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
	return nil, errors.New("the VMM ended while its guest was awaited")
}

// errNobody says that nobody listens in the guest yet.
var errNobody = errors.New("nobody in the guest listens at the agent's port")

// call connects to the agent in a guest that listens.
func call(ctx context.Context, p *place) (_ net.Conn, err error) {
	conn, err := p.dial(ctx, VSock)
	if err != nil {
		return nil, fmt.Errorf("connecting to the guest's vsock: %w", err)
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := fmt.Fprintf(conn, "CONNECT %d\n", agentPort); err != nil {
		return nil, fmt.Errorf("asking for the guest's vsock port %d: %w", agentPort, err)
	}
	// The agent says nothing before it is spoken to, so no byte of its is lost in
	// the buffer.
	answer, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	if errors.Is(err, io.EOF) {
		return nil, errNobody
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the guest's vsock port %d: %w", agentPort, err)
	}
	if !strings.HasPrefix(answer, "OK ") {
		return nil, fmt.Errorf("asked for the guest's vsock port %d, the VMM answered %q", agentPort, answer)
	}
	return conn, nil
}

// callUntil calls again for as long as nobody listens.
func callUntil(ctx context.Context, place *place, p *vmm.Process) (net.Conn, error) {
	const between = 5 * time.Millisecond
	for {
		conn, err := call(ctx, place)
		if err == nil {
			return conn, nil
		}
		select {
		case <-time.After(between):
		case <-p.Exited():
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

const (
	defaultInterval = 5 * time.Millisecond
	// dialTimeout bounds one attempt to connect, so that a lost SYN does not cost
	// the kernel's whole retry time. There is no timeout for the answer.
	dialTimeout = time.Second
)

// await repeats a probe until it succeeds, or runs it once. The error has the
// last failure.
func (s *server) await(ctx context.Context, p wire.Await) (time.Duration, error) {
	attempt, what, err := s.attempt(p)
	if err != nil {
		return 0, err
	}
	interval := p.Interval
	if interval <= 0 {
		interval = defaultInterval
	}
	began := Monotonic()
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last error
	for tries := 1; ; tries++ {
		err := attempt(ctx)
		elapsed := Monotonic() - began
		if err == nil {
			return elapsed, nil
		}
		deadline, limited := ctx.Deadline()
		if last == nil || ctx.Err() == nil && (!limited || time.Now().Before(deadline)) {
			last = err // not the error of an attempt that the deadline interrupted
		}
		if p.Once {
			return 0, fmt.Errorf("%s does not answer: %w", what, last)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		if ctx.Err() != nil {
			limit := p.Timeout
			if elapsed := Monotonic() - began; limit <= 0 || elapsed < limit {
				limit = elapsed.Round(time.Millisecond) // canceled before its timeout
			}
			return 0, fmt.Errorf("%s did not answer within %s (%d attempts, the last: %w)", what, limit, tries, last)
		}
	}
}

// attempt returns a function that runs the probe once.
func (s *server) attempt(p wire.Await) (try func(context.Context) error, what string, err error) {
	kinds := 0
	if p.TCP != "" {
		kinds, what = kinds+1, "tcp "+p.TCP
		try = func(ctx context.Context) error { return dialOnce(ctx, "tcp", p.TCP) }
	}
	if p.Unix != "" && p.HTTP == "" {
		kinds, what = kinds+1, "socket "+p.Unix
		try = func(ctx context.Context) error { return dialOnce(ctx, "unix", p.Unix) }
	}
	if p.HTTP != "" {
		kinds, what = kinds+1, p.HTTP
		target, err := url.Parse(p.HTTP)
		if err != nil || target.Scheme != "http" || target.Host == "" {
			return nil, "", fmt.Errorf("probe %q: it takes a URL such as http://127.0.0.1:80/ (plain http only)", p.HTTP)
		}
		if p.Unix != "" {
			what += " at socket " + p.Unix
		}
		try = func(ctx context.Context) error { return get(ctx, target, p.Unix) }
	}
	if len(p.Exec) > 0 {
		kinds, what = kinds+1, "command "+strings.Join(p.Exec, " ")
		try = func(ctx context.Context) error {
			return s.execProbe(ctx, wire.Start{Argv: p.Exec, Env: p.Env, Dir: p.Dir, User: p.User})
		}
	}
	if kinds != 1 {
		return nil, "", fmt.Errorf("a probe takes exactly one of tcp, http, unix and exec; this one has %d", kinds)
	}
	return try, what, nil
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	return dialer.DialContext(ctx, network, address)
}

func dialOnce(ctx context.Context, network, address string) error {
	c, err := dial(ctx, network, address)
	if err != nil {
		return err
	}
	return c.Close()
}

// get sends an HTTP request, to a socket if it has one, and reads the status line.
// It does not use net/http, which would double the agent's size.
func get(ctx context.Context, target *url.URL, socket string) error {
	network, address := "tcp", target.Host
	if target.Port() == "" {
		address = net.JoinHostPort(target.Hostname(), "80")
	}
	if socket != "" {
		network, address = "unix", socket
	}
	c, err := dial(ctx, network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: tare-agent\r\nConnection: close\r\n\r\n",
		target.RequestURI(), target.Host)
	if err != nil {
		return err
	}
	line, err := bufio.NewReaderSize(c, 1024).ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("no status line after %q: %w", line, err)
	}
	var version string
	var status int
	if n, _ := fmt.Sscanf(string(line), "HTTP/%s %d", &version, &status); n != 2 {
		return fmt.Errorf("it answered %q, which is not HTTP", strings.TrimSpace(string(line)))
	}
	if status >= 500 {
		return fmt.Errorf("it answered %s", strings.TrimSpace(string(line)))
	}
	return nil
}

// execProbe runs a command and fails unless it exits with 0. The error has the
// end of its output.
func (s *server) execProbe(ctx context.Context, command wire.Start) error {
	p, err := prepare(command, s.environment)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	out, err := newOutputPipe(wire.TypeStdout)
	if err != nil {
		return err
	}
	p.attr.Files = []uintptr{null.Fd(), uintptr(out.fd), uintptr(out.fd)}
	child, err := s.children.start(p.path, p.argv, &p.attr, nil)
	unix.Close(out.fd)
	if err != nil {
		out.read.Close()
		return fmt.Errorf("starting %s: %w", command.Argv[0], err)
	}
	defer context.AfterFunc(ctx, func() { _ = s.children.signal(child, syscall.SIGKILL) })()
	var tail []byte
	out.pump(child.ended, func(b []byte) bool {
		tail = append(tail, b...)
		tail = tail[max(0, len(tail)-300):]
		return true
	})
	<-child.ended
	if child.exit.OK() {
		return nil
	}
	why := fmt.Sprintf("exit status %d", child.exit.Code)
	if child.exit.Signal != "" {
		why = "killed by " + child.exit.Signal
	}
	if output := strings.TrimSpace(string(tail)); output != "" {
		why += ": " + output
	}
	return errors.New(why)
}

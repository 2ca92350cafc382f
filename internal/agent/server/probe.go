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
	// dialPatience bounds one attempt to connect: a lost first packet must not
	// cost the kernel's whole retry time. An answer may take as long as it likes.
	dialPatience = time.Second
)

// await tries until the server answers, or once. Its error says what failed last.
func (s *server) await(ctx context.Context, p wire.Await) (time.Duration, error) {
	attempt, what, err := s.attempt(p.Probe)
	if err != nil {
		return 0, err
	}
	interval := p.Interval
	if interval <= 0 {
		interval = defaultInterval
	}
	began := Monotonic()
	if p.Timeout > 0 {
		var enough context.CancelFunc
		ctx, enough = context.WithTimeout(ctx, p.Timeout)
		defer enough()
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
			last = err // what failed by itself says more than what was cut off
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
				limit = elapsed.Round(time.Millisecond) // given up before its time
			}
			return 0, fmt.Errorf("%s did not answer within %s (%d attempts, the last: %w)", what, limit, tries, last)
		}
	}
}

// attempt turns a probe into a function that tries once.
func (s *server) attempt(p wire.Probe) (try func(context.Context) error, what string, err error) {
	kinds := 0
	if p.TCP != "" {
		kinds, what = kinds+1, "tcp "+p.TCP
		try = func(ctx context.Context) error { return touch(ctx, "tcp", p.TCP) }
	}
	if p.Unix != "" {
		kinds, what = kinds+1, "socket "+p.Unix
		try = func(ctx context.Context) error { return touch(ctx, "unix", p.Unix) }
	}
	if p.HTTP != "" {
		kinds, what = kinds+1, p.HTTP
		target, err := url.Parse(p.HTTP)
		if err != nil || target.Scheme != "http" || target.Host == "" {
			return nil, "", fmt.Errorf("probe %q: it takes a URL such as http://127.0.0.1:80/ (plain http only)", p.HTTP)
		}
		try = func(ctx context.Context) error { return get(ctx, target) }
	}
	if len(p.Exec) > 0 {
		kinds, what = kinds+1, "command "+strings.Join(p.Exec, " ")
		try = func(ctx context.Context) error { return s.succeeds(ctx, p.Exec) }
	}
	if kinds != 1 {
		return nil, "", fmt.Errorf("a probe takes exactly one of tcp, http, unix and exec; this one has %d", kinds)
	}
	return try, what, nil
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialPatience}
	return dialer.DialContext(ctx, network, address)
}

func touch(ctx context.Context, network, address string) error {
	c, err := dial(ctx, network, address)
	if err != nil {
		return err
	}
	return c.Close()
}

// get speaks just enough HTTP for a status line. The standard library's client
// would double the agent's size.
func get(ctx context.Context, target *url.URL) error {
	address := target.Host
	if target.Port() == "" {
		address = net.JoinHostPort(target.Hostname(), "80")
	}
	c, err := dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
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
		return fmt.Errorf("it answered %q, which is no HTTP", strings.TrimSpace(string(line)))
	}
	if status >= 500 {
		return fmt.Errorf("it answered %s", strings.TrimSpace(string(line)))
	}
	return nil
}

// succeeds runs a command and wants exit status 0. What it prints last is part
// of the error.
func (s *server) succeeds(ctx context.Context, argv []string) error {
	p, err := prepare(wire.Start{Argv: argv})
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	out, err := newOutlet(wire.TypeStdout)
	if err != nil {
		return err
	}
	p.attr.Files = []uintptr{null.Fd(), uintptr(out.fd), uintptr(out.fd)}
	child, err := s.children.start(p.path, p.argv, &p.attr, nil)
	unix.Close(out.fd)
	if err != nil {
		out.read.Close()
		return fmt.Errorf("starting %s: %w", argv[0], err)
	}
	defer context.AfterFunc(ctx, func() { s.children.signal(child, syscall.SIGKILL) })()
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
		why = "ended by " + child.exit.Signal
	}
	if said := strings.TrimSpace(string(tail)); said != "" {
		why += ": " + said
	}
	return errors.New(why)
}

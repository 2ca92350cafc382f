package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// How long a machine may take to answer a connection, and to say on an idle one
// that it is there.
const (
	connecting = 20 * time.Second
	asking     = 5 * time.Second
	silence    = 20 * time.Second
)

// ErrUnreachable is in the error where nobody answers as an SSH server does: the
// machine may still be booting. A key or a user that is refused is not that.
var ErrUnreachable = errors.New("it cannot be reached")

// Facing is a host that knows how it sees this machine.
type Facing interface {
	// Facing is the IPv4 address by which the host reaches this machine; "" where
	// that is not known.
	Facing() string
}

// SSH connects to a machine, holds its key against the known ones and logs in.
func SSH(ctx context.Context, d Destination) (Host, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s, err := readSettings(d.Config)
	if err != nil {
		return nil, err
	}
	r, err := s.resolve(d)
	if err != nil {
		return nil, err
	}
	m := &machine{name: r.login + "@" + r.name, lost: make(chan struct{})}
	if r.port != "22" {
		m.name += ":" + r.port
	}
	// The machines on the way come from the same ssh_config. What is given for
	// the last one alone is not theirs.
	hops := []resolved{}
	for _, jump := range r.jumps {
		hop, err := s.resolve(Destination{Host: jump, KnownHosts: d.KnownHosts})
		if err != nil {
			return nil, fmt.Errorf("ProxyJump of %s: %w", m.name, err)
		}
		if len(hop.jumps) > 0 && len(hops) == 0 {
			return nil, fmt.Errorf("ProxyJump of %s: %s is itself behind %s: name all of them, with commas", m.name, jump, strings.Join(hop.jumps, ","))
		}
		hops = append(hops, hop)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connecting, fmt.Errorf("no answer in %v", connecting))
	defer cancel()
	for _, hop := range append(hops, r) {
		if err := m.connect(ctx, hop); err != nil {
			return nil, errors.Join(fmt.Errorf("connecting to %s: %w", m.name, err), m.Close())
		}
	}
	m.address(r, len(hops) == 0)
	go m.watch()
	return m, nil
}

// again is the time between two tries to reach a machine that boots.
const again = 300 * time.Millisecond

// WaitSSH tries again until a machine that is booting answers, or the context
// ends.
func WaitSSH(ctx context.Context, d Destination) (Host, error) {
	for {
		h, err := SSH(ctx, d)
		if err == nil || !errors.Is(err, ErrUnreachable) {
			return h, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(again):
		}
	}
}

// machine is one that is reached over SSH.
type machine struct {
	name   string
	at     string // IPv4 address
	facing string
	chain  []*ssh.Client // the machine's own is the last
	closed sync.Once
	lost   chan struct{}
}

func (m *machine) client() *ssh.Client { return m.chain[len(m.chain)-1] }

// connect adds a machine to the chain.
func (m *machine) connect(ctx context.Context, r resolved) error {
	check, algorithms, err := r.check()
	if err != nil {
		return err
	}
	keys, err := r.keys()
	if err != nil {
		return err
	}
	defer keys.close()
	to := net.JoinHostPort(r.name, r.port)
	var conn net.Conn
	if len(m.chain) == 0 {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", to)
	} else {
		conn, err = m.client().DialContext(ctx, "tcp", to)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	var refused error // of the key: the library hides it
	c, channels, requests, err := ssh.NewClientConn(conn, to, &ssh.ClientConfig{
		User: r.login, Auth: []ssh.AuthMethod{ssh.PublicKeys(keys.signers...)},
		HostKeyCallback: func(name string, remote net.Addr, key ssh.PublicKey) error {
			refused = check(name, remote, key)
			return refused
		},
		HostKeyAlgorithms: algorithms,
	})
	inTime := stop()
	switch {
	case err == nil && inTime:
		m.chain = append(m.chain, ssh.NewClient(c, channels, requests))
		return nil
	case err == nil:
		c.Close()
		err = context.Cause(ctx)
	case !inTime:
		err = fmt.Errorf("%w: %w", ErrUnreachable, context.Cause(ctx))
	case refused != nil:
		err = refused
	case strings.Contains(err.Error(), "unable to authenticate"):
		err = fmt.Errorf("it does not let user %s in with %s; put the public key there (ssh-copy-id), or name another one (identity:)", r.login, keys.words())
	case strings.Contains(err.Error(), "no common algorithm"):
		err = fmt.Errorf("%w; the known keys of it in %s are of other kinds: add those that it has: ssh-keyscan -p %s %s", err, strings.Join(r.knownHosts, ", "), r.port, r.name)
	default: // it ended before it had said who it is
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	conn.Close()
	return err
}

// address looks up by which addresses the two reach each other.
func (m *machine) address(r resolved, direct bool) {
	plain := func(a net.Addr) string {
		if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.To4() != nil {
			return tcp.IP.String()
		}
		return ""
	}
	if direct {
		m.at, m.facing = plain(m.client().RemoteAddr()), plain(m.client().LocalAddr())
	} else if a, err := netip.ParseAddr(r.name); err == nil && a.Is4() {
		m.at = r.name
	}
}

// watch asks a machine whether it is there, and drops the connection where it
// does not say so.
func (m *machine) watch() {
	tick := time.NewTicker(asking)
	defer tick.Stop()
	for {
		select {
		case <-m.lost:
			return
		case <-tick.C:
		}
		answered := make(chan error, 1)
		go func() {
			_, _, err := m.client().SendRequest("keepalive@openssh.com", true, nil)
			answered <- err
		}()
		patience := time.NewTimer(silence)
		select {
		case err := <-answered:
			patience.Stop()
			if err == nil {
				continue
			}
		case <-patience.C:
		}
		m.Close()
		return
	}
}

func (m *machine) Name() string    { return m.name }
func (m *machine) Address() string { return m.at }
func (m *machine) Facing() string  { return m.facing }

// Close ends the connection, and those on the way.
func (m *machine) Close() error {
	m.closed.Do(func() {
		close(m.lost)
		for n := len(m.chain) - 1; n >= 0; n-- {
			m.chain[n].Close()
		}
	})
	return nil
}

func (m *machine) Run(ctx context.Context, argv ...string) ([]byte, error) {
	return m.run(ctx, nil, argv)
}

func (m *machine) run(ctx context.Context, in io.Reader, argv []string) ([]byte, error) {
	session, err := m.client().NewSession()
	if err != nil {
		return nil, explain(m, argv, err, nil)
	}
	defer session.Close()
	var out bytes.Buffer
	errs := &Tail{}
	session.Stdin, session.Stdout, session.Stderr = in, &out, errs
	done := make(chan error, 1)
	go func() { done <- session.Run(quote(argv)) }()
	select {
	case err = <-done:
		return out.Bytes(), explain(m, argv, ended(err), errs)
	case <-ctx.Done():
		// An sshd does not let root's commands be killed so, and says that the
		// session has ended when they have: nobody waits for that.
		session.Signal(ssh.SIGKILL)
		return nil, explain(m, argv, context.Cause(ctx), errs)
	}
}

// ended is how a command ended, in words that all hosts share.
func ended(err error) error {
	var exit *ssh.ExitError
	var missing *ssh.ExitMissingError
	switch {
	case errors.As(err, &exit) && exit.Signal() != "":
		return &ExitError{Status: -1, Signal: "SIG" + exit.Signal()}
	case errors.As(err, &exit):
		return &ExitError{Status: exit.ExitStatus()}
	case errors.As(err, &missing):
		return errors.New("the connection broke off before it ended")
	}
	return err
}

func (m *machine) Open(ctx context.Context, complaints io.Writer, argv ...string) (io.ReadWriteCloser, error) {
	session, err := m.client().NewSession()
	if err != nil {
		return nil, explain(m, argv, err, nil)
	}
	in, inErr := session.StdinPipe()
	out, outErr := session.StdoutPipe()
	session.Stderr = complaints
	stop := context.AfterFunc(ctx, func() { session.Close() })
	if err := errors.Join(inErr, outErr, session.Start(quote(argv))); err != nil {
		session.Close()
		return nil, explain(m, argv, err, nil)
	}
	if !stop() {
		return nil, explain(m, argv, context.Cause(ctx), nil)
	}
	p := &program{Reader: out, in: in, ended: make(chan struct{}), release: func() { session.Close() }}
	end := sync.OnceFunc(func() { close(p.ended) })
	p.kill = func() {
		session.Signal(ssh.SIGKILL)
		session.Close()
		end() // see run
	}
	go func() {
		session.Wait()
		end()
	}()
	return p, nil
}

func (m *machine) Put(ctx context.Context, file string, mode fs.FileMode, content io.Reader) error {
	unfinished := unfinished(file)
	_, err := m.run(ctx, content, []string{"sh", "-c", `mkdir -p -- "$1" && cat >"$2" && chmod "$3" "$2"`, "sh", path.Dir(file), unfinished, fmt.Sprintf("%o", mode.Perm())})
	if err == nil {
		// Only now: a connection that breaks off looks like the end of the content.
		_, err = m.Run(ctx, "mv", "-f", "--", unfinished, file)
	}
	if err != nil {
		m.Run(ctx, "rm", "-f", "--", unfinished)
		return fmt.Errorf("writing %s on %s: %w", file, m.name, err)
	}
	return nil
}

// unfinished is what a file is called until all of it is there.
func unfinished(file string) string {
	return path.Join(path.Dir(file), "."+path.Base(file)+"-"+rand.Text()[:8])
}

// quote makes one line of words, for the shell there.
func quote(argv []string) string {
	words := make([]string, len(argv))
	for n, word := range argv {
		words[n] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

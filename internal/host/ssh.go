package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/base/bounded"
	"tare/internal/base/crash"
	"tare/internal/base/lists"
)

// ErrUnreachable is in the error where no SSH server answers: the machine may
// still be booting. A refused host key or login is not that.
var ErrUnreachable = errors.New("unreachable")

// LocalAddresser is a host that knows by which address it reaches this machine.
type LocalAddresser interface {
	// LocalAddresser returns this machine's IPv4 address on the route to the host; "" if
	// it is not known.
	LocalAddress() string
}

// ProgramVariable is the environment variable that names the SSH client.
const ProgramVariable = "TARE_SSH"

// FindSSH returns the path of the SSH client: $TARE_SSH, or ssh on the PATH.
func FindSSH() (string, error) {
	path, err := exec.LookPath(cmp.Or(os.Getenv(ProgramVariable), "ssh"))
	if err != nil {
		return "", fmt.Errorf("finding OpenSSH's client: %w", err)
	}
	return path, nil
}

// InstallSSH is the command that installs the SSH client.
const InstallSSH = "apt-get install -y openssh-client, or name the program in $" + ProgramVariable

// SSH connects to a machine with OpenSSH's client, checks its host key and logs
// in.
func SSH(ctx context.Context, d Destination) (Host, error) {
	c, err := newConnector(ctx, d)
	if err != nil {
		return nil, err
	}
	return c.connect(ctx)
}

// retryInterval is the time between two attempts to reach a booting machine.
const retryInterval = 300 * time.Millisecond

// WaitSSH retries SSH until a machine that is booting answers, or the context
// ends.
func WaitSSH(ctx context.Context, d Destination) (Host, error) {
	c, err := newConnector(ctx, d)
	if err != nil {
		return nil, err
	}
	for {
		h, err := c.connect(ctx)
		if err == nil || !errors.Is(err, ErrUnreachable) {
			return h, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(retryInterval):
		}
	}
}

// connector is a destination with what ssh's configuration says of it.
type connector struct {
	program  string
	options  []string
	target   string // ssh's argument
	settings map[string]string
	name     string // for messages: USER@HOST[:PORT]
	login    string // the command by which a person logs in
	files    string // that are searched for the host key
}

// newConnector asks ssh for the configuration of the destination (ssh -G).
func newConnector(ctx context.Context, d Destination) (*connector, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	login, name, port, err := split(d.Host)
	if err != nil {
		return nil, err
	}
	c := &connector{options: d.options(login, port), target: name, settings: map[string]string{}, login: d.byHand(login, name, port), files: d.KnownHosts}
	if c.program, err = FindSSH(); err != nil {
		return nil, fmt.Errorf("connecting to %s: %w: %s", d.Host, err, InstallSSH)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	stderr := &Tail{}
	cmd := exec.CommandContext(ctx, c.program, slices.Concat([]string{"-G"}, c.options, []string{"--", name})...)
	cmd.Stderr, cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = stderr, environ(), &syscall.SysProcAttr{Setsid: true}, time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: reading ssh's configuration (ssh -G): %w%s", d.Host, err, stderr.Last())
	}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, known := c.settings[key]; !known {
			c.settings[key] = value
		}
	}
	c.name = c.settings["user"] + "@" + c.settings["hostname"]
	if c.settings["port"] != "22" {
		c.name += ":" + c.settings["port"]
	}
	c.files = cmp.Or(c.files, c.settings["userknownhostsfile"]+" "+c.settings["globalknownhostsfile"])
	return c, nil
}

// environ keeps a jump host's ssh, which does not inherit BatchMode, from asking
// in a window. It has no terminal to ask on, as ssh runs in a session of its own.
func environ() []string { return append(os.Environ(), "SSH_ASKPASS_REQUIRE=never") }

// proxied reports whether the connection goes through a jump host or a program.
func (c *connector) proxied() bool {
	return slices.ContainsFunc([]string{"proxyjump", "proxycommand"}, func(key string) bool { return cmp.Or(c.settings[key], "none") != "none" })
}

// machine is a host behind a master connection of ssh (ControlMaster). Every
// command is a session of that connection.
type machine struct {
	*connector
	address, localAddress string
	directory             string // of the control socket
	master                *exec.Cmd
	stdin                 io.Closer     // of the master: its end ends the connection
	stderr                *Tail         // of the master
	ended                 chan struct{} // closed when the master has exited
	close                 sync.Once
	closed                chan struct{}
}

// masterScript runs ssh until its standard input ends: a pipe from this process,
// so that a tare that is killed ends the connection too. Then it removes the
// control socket's directory, which is $0.
const masterScript = `exec 3<&0
"$@" </dev/null 3<&- & ssh=$!
{ cat <&3; kill $ssh; } >/dev/null 2>&1 & watch=$!
exec 3<&-
wait $ssh; status=$?
kill $watch 2>/dev/null
rm -rf -- "$0"
exit $status`

// pollInterval is the time between two checks for the control socket. ssh makes it
// after the login, when it accepts sessions.
const pollInterval = 5 * time.Millisecond

func (c *connector) connect(ctx context.Context) (Host, error) {
	m := &machine{connector: c, stderr: &Tail{}, ended: make(chan struct{}), closed: make(chan struct{})}
	wrap := func(err error) error { return fmt.Errorf("connecting to %s: %w", c.name, err) }
	var err error
	if m.directory, err = socketDirectory(); err != nil {
		return nil, wrap(err)
	}
	if err := m.start(); err != nil {
		return nil, wrap(errors.Join(err, os.RemoveAll(m.directory)))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("no answer in %v", connectTimeout))
	defer cancel()
	if err := m.waitConnected(ctx); err != nil {
		m.Close()
		return nil, wrap(err)
	}
	m.locate(ctx)
	return m, nil
}

func (m *machine) waitConnected(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if _, err := os.Stat(m.socket()); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-m.ended:
			return m.refusal()
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnreachable, context.Cause(ctx))
		}
	}
}

func (m *machine) socket() string { return filepath.Join(m.directory, "s") }

// socketDirectory makes a private directory for a control socket. A socket's
// path has at most 107 bytes, and ssh appends 17 to it for a temporary name.
func socketDirectory() (string, error) {
	const longest = 107 - 17 - len("/tare-ssh-0123456789/s")
	parent := os.TempDir()
	if len(parent) > longest {
		parent = "/tmp"
	}
	directory, err := bounded.TemporaryIn(parent, "tare-ssh-")
	if err != nil {
		return "", fmt.Errorf("making a directory for ssh's control socket: %w", err)
	}
	return directory, nil
}

// arguments of ssh: those of the master connection, or of a session in it.
func (m *machine) arguments(master bool) []string {
	arguments := []string{"-o", "ControlPath=" + literal(m.socket()), "-o", "ControlPersist=no"}
	if master {
		arguments = append(arguments, "-N", "-o", "ControlMaster=yes")
	} else {
		// Without a master ssh would make a connection of its own, which nobody
		// ends. This program fails in its place.
		arguments = append(arguments, "-o", "ControlMaster=no", "-o", "ProxyCommand=false")
	}
	return slices.Concat(arguments, m.options, []string{"--", m.target})
}

// start starts the master connection.
func (m *machine) start() error {
	m.master = exec.Command("/bin/sh", append([]string{"-c", masterScript, m.directory, m.program}, m.arguments(true)...)...)
	// In a session of its own it gets no Ctrl-C of the terminal: tare still has
	// to end what runs on the machine.
	m.master.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	m.master.Env, m.master.Stderr, m.master.WaitDelay = environ(), m.stderr, time.Second
	var err error
	if m.stdin, err = m.master.StdinPipe(); err != nil {
		return err
	}
	if err := m.master.Start(); err != nil {
		return err
	}
	crash.Go(func() {
		defer close(m.ended)
		_ = m.master.Wait()
	})
	return nil
}

// locate finds the addresses by which the two machines reach each other.
func (m *machine) locate(ctx context.Context) {
	name := m.settings["hostname"]
	if m.proxied() {
		if a, err := netip.ParseAddr(name); err == nil && a.Is4() {
			m.address = name
		}
		return
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
	if err != nil || len(addresses) == 0 {
		return
	}
	m.address = addresses[0].Unmap().String()
	if len(addresses) > 1 {
		// The server knows which of them ssh has connected to.
		connection, _ := m.Run(ctx, "sh", "-c", "echo $SSH_CONNECTION")
		words := strings.Fields(string(connection))
		if m.address = ""; len(words) == 4 && slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a.Unmap().String() == words[2] }) {
			m.address = words[2]
		}
	}
	// Nothing is sent: the kernel selects the route.
	if c, err := net.Dial("udp4", net.JoinHostPort(m.address, m.settings["port"])); err == nil && m.address != "" {
		m.localAddress = c.LocalAddr().(*net.UDPAddr).IP.String()
		c.Close()
	}
}

func (m *machine) Name() string         { return m.name }
func (m *machine) Address() string      { return m.address }
func (m *machine) LocalAddress() string { return m.localAddress }

// terminateTimeout is how long ssh may take to exit after SIGTERM.
const terminateTimeout = 5 * time.Second

// Close ends the connection with all its sessions, and those to jump hosts.
func (m *machine) Close() (err error) {
	m.close.Do(func() {
		close(m.closed)
		m.stdin.Close() // masterScript terminates ssh
		select {
		case <-m.ended:
		case <-time.After(terminateTimeout):
			_ = syscall.Kill(-m.master.Process.Pid, syscall.SIGKILL) // the process group
			<-m.ended
		}
		err = os.RemoveAll(m.directory)
	})
	return err
}

// err is nil while the master connection is open.
func (m *machine) err() error {
	select {
	case <-m.closed: // first: once it is closed, the master has exited too
		return errors.New("the SSH connection is closed")
	default:
	}
	select {
	case <-m.ended:
		return fmt.Errorf("ssh lost the connection (exit status %d)%s", m.master.ProcessState.ExitCode(), m.stderr.Last())
	default:
		return nil
	}
}

// lost is why a session ended with ssh's own exit status 255. The master may
// still be about to exit.
func (m *machine) lost() error {
	select {
	case <-m.ended:
	case <-time.After(time.Second):
	}
	if err := m.err(); err != nil {
		return err
	}
	return errors.New("ssh ended the session (exit status 255)")
}

// session is a command line on the machine.
func (m *machine) session(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.program, append(m.arguments(false), line)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// The master holds the pipes until the remote command ends, also where its
	// session was killed here.
	cmd.Env, cmd.WaitDelay = environ(), time.Second
	return cmd
}

func (m *machine) Run(ctx context.Context, argv ...string) ([]byte, error) {
	return m.run(ctx, nil, argv)
}

// ssh exits with 255 on its own errors, and with the remote command's status
// otherwise. A remote command that exits with 255 is marked.
const (
	marked255 = "tare: the command exited with status 255"
	runScript = `"$@"; status=$?; [ $status -ne 255 ] || echo "` + marked255 + `" >&2; exit $status`
)

func (m *machine) run(ctx context.Context, in io.Reader, argv []string) ([]byte, error) {
	if err := m.err(); err != nil {
		return nil, explain(m, argv, err, nil)
	}
	out := bounded.Buffer{Limit: bounded.Line}
	errs := &Tail{}
	cmd := m.session(ctx, quote(append([]string{"sh", "-c", runScript, "sh"}, argv...)))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, explain(m, argv, context.Cause(ctx), errs)
	case !errors.As(err, &exit):
	case exit.ExitCode() != 255 || errs.cut(marked255):
		err = &ExitError{Status: exit.ExitCode()}
	default:
		err = m.lost()
	}
	return out.Bytes(), explain(m, argv, err, errs)
}

func (m *machine) Open(_ context.Context, stderr io.Writer, argv ...string) (io.ReadWriteCloser, error) {
	if err := m.err(); err != nil {
		return nil, explain(m, argv, err, nil)
	}
	p, err := open(m.session(context.Background(), quote(argv)), stderr, func(err error) {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 255 {
			fmt.Fprintln(stderr, m.lost())
		}
	})
	if err != nil {
		return nil, explain(m, argv, err, nil)
	}
	return p, nil
}

func (m *machine) Put(ctx context.Context, file string, mode fs.FileMode, content io.Reader) error {
	unfinished := unfinished(file)
	_, err := m.run(ctx, content, []string{"sh", "-c", `mkdir -p -- "$1" && cat >"$2" && chmod "$3" "$2"`, "sh", path.Dir(file), unfinished, fmt.Sprintf("%o", mode.Perm())})
	if err == nil {
		// A lost connection looks like the end of the content, so the file gets
		// its name in a second step.
		_, err = m.Run(ctx, "mv", "-f", "--", unfinished, file)
	}
	if err != nil {
		_, _ = m.Run(ctx, "rm", "-f", "--", unfinished)
		return fmt.Errorf("writing %s on %s: %w", file, m.name, err)
	}
	return nil
}

// unfinished is the temporary name of a file that is being written.
func unfinished(file string) string {
	return path.Join(path.Dir(file), "."+path.Base(file)+"-"+rand.Text()[:8])
}

// quote makes a command line for the remote shell.
func quote(argv []string) string {
	return strings.Join(lists.Map(argv, func(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }), " ")
}

package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"tare/internal/host"
	"tare/internal/testing/sshhost"
)

func TestHostsRunOpenAndPut(t *testing.T) {
	m := sshhost.New(t).Machine(t)
	for name, h := range map[string]host.Host{"this machine": host.Local(), "a machine over SSH": m.Dial(t)} {
		t.Run(name, func(t *testing.T) { doesWhatAHostDoes(t, h) })
	}
}

func doesWhatAHostDoes(t *testing.T, h host.Host) {
	odd := `a 'quoted' $HOME "thing"; and` + "\nmore"
	out, err := h.Run(t.Context(), "printf", "%s", odd)
	if err != nil || string(out) != odd {
		t.Errorf("%q, %v", out, err)
	}
	_, err = h.Run(t.Context(), "sh", "-c", "echo it is broken >&2; exit 3")
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Status != 3 {
		t.Errorf("a status: %v", err)
	} else if text := err.Error(); !strings.Contains(text, "it is broken") || !strings.Contains(text, h.Name()) || !strings.Contains(text, "sh -c") {
		t.Errorf("the message is %s", text)
	}
	if _, err := h.Run(t.Context(), "no-such-program"); err == nil {
		t.Error("a program that is not there ran")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := h.Run(ctx, "sleep", "2"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cut short: %v", err)
	}

	file := filepath.Join(t.TempDir(), "made on the way", "it's a file")
	content := bytes.Repeat([]byte("some bytes\n"), 200_000)
	if err := h.Put(t.Context(), file, 0o750, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	info, _ := os.Stat(file)
	if err != nil || !bytes.Equal(got, content) || info.Mode().Perm() != 0o750 {
		t.Errorf("%d bytes of %d, %v, %v", len(got), len(content), info.Mode(), err)
	}
	if err := h.Put(t.Context(), "/proc/no/such/file", 0o644, strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), h.Name()) {
		t.Errorf("where nothing can be written: %v", err)
	}
	if beside, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(beside) > 0 {
		t.Errorf("left beside it: %q", beside)
	}

	var complaints host.Tail
	p, err := h.Open(t.Context(), &complaints, "sh", "-c", "echo a complaint >&2; cat; echo the end")
	if err != nil {
		t.Fatal(err)
	}
	go p.Write(content)
	got = make([]byte, len(content))
	if _, err := io.ReadFull(p, got); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the stream brings other bytes back (%v)", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(complaints.Last(), "a complaint") {
		t.Errorf("it complained of %q", complaints.Last())
	}
	p, err = h.Open(t.Context(), io.Discard, "echo", "short")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(p); err != nil || string(got) != "short\n" {
		t.Errorf("a program that ends by itself: %q, %v", got, err)
	}
	p.Close()
}

func TestAMachineSaysHowItIsReached(t *testing.T) {
	n := sshhost.New(t)
	m := n.Machine(t)
	h := m.Dial(t)
	if h.Address() != m.Address || h.Name() != "root@"+m.Address+":2222" {
		t.Errorf("%s is at %s", h.Name(), h.Address())
	}
	out, err := h.Run(t.Context(), "sh", "-c", "echo $SSH_CONNECTION")
	if facing := h.(host.Facing).Facing(); err != nil || !strings.HasPrefix(string(out), facing+" ") || facing == "" {
		t.Errorf("it sees this machine as %q, and says itself %q (%v)", facing, out, err)
	}
}

// A machine whose key is not the known one is not talked to, whatever the
// ssh_config says.
func TestOnlyAMachineWithTheKnownKeyIsTalkedTo(t *testing.T) {
	n := sshhost.New(t)
	m := n.Machine(t)
	address := knownhosts.Normalize(net.JoinHostPort(m.Address, m.Port))
	other := sshhost.Key(t, filepath.Join(t.TempDir(), "other"))
	lax := write(t, "Host *\n  StrictHostKeyChecking no\n")
	for what, c := range map[string]struct {
		known  string
		config string
		want   []string
	}{
		"an unknown key":    {"# nothing\n", "none", []string{"is in none of", ssh.FingerprintSHA256(m.Key), "ssh-keyscan -p 2222 " + m.Address}},
		"however lax":       {"# nothing\n", lax, []string{"is in none of", "StrictHostKeyChecking no"}},
		"a changed key":     {"# a line\n" + knownhosts.Line([]string{address}, other) + "\n", "none", []string{"has changed", ":2 (", ssh.FingerprintSHA256(other), "ssh-keygen -R '" + address + "'"}},
		"a revoked key":     {"@revoked * " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(m.Key))) + "\n", "none", []string{"revoked", ":1"}},
		"the key of a port": {knownhosts.Line([]string{m.Address}, m.Key) + "\n", "none", []string{"is in none of"}},
	} {
		d := m.Destination()
		d.KnownHosts, d.Config = write(t, c.known), c.config
		_, err := host.SSH(t.Context(), d)
		if err == nil || errors.Is(err, host.ErrUnreachable) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for _, want := range append(c.want, "root@"+m.Address+":2222", d.KnownHosts) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", what, want, err)
			}
		}
	}
	d := m.Destination()
	d.KnownHosts = filepath.Join(t.TempDir(), "not there")
	if _, err := host.SSH(t.Context(), d); err == nil || !strings.Contains(err.Error(), "is in none of "+d.KnownHosts) {
		t.Errorf("without a file of known keys: %v", err)
	}
	d.KnownHosts, d.KeyAlias = write(t, knownhosts.Line([]string{"template"}, m.Key)+"\n"), "template"
	if h, err := host.SSH(t.Context(), d); err != nil {
		t.Errorf("by an alias: %v", err)
	} else {
		h.Close()
	}
	// It is asked for the key that is known, also where there are others.
	d = m.Destination()
	d.KnownHosts = write(t, "# \n"+knownhosts.Line([]string{address}, other)+"\n"+knownhosts.Line([]string{address}, m.Key)+"\n")
	if h, err := host.SSH(t.Context(), d); err != nil {
		t.Errorf("one of two known keys: %v", err)
	} else {
		h.Close()
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func TestWhoIsNotLetInIsToldWhatWasOffered(t *testing.T) {
	m := sshhost.New(t).Machine(t)
	t.Setenv("SSH_AUTH_SOCK", "")
	t.Setenv("HOME", t.TempDir())
	strange := filepath.Join(t.TempDir(), "strange")
	sshhost.Key(t, strange)
	for what, change := range map[string]func(*host.Destination){
		"a key that it does not know": func(d *host.Destination) { d.Identity = strange },
		"a user that it does not have": func(d *host.Destination) {
			d.Host = "nobody-of-that-name@" + m.Address + ":" + m.Port
		},
	} {
		d := m.Destination()
		change(&d)
		_, err := host.SSH(t.Context(), d)
		if err == nil || errors.Is(err, host.ErrUnreachable) || !strings.Contains(err.Error(), "does not let user") || !strings.Contains(err.Error(), d.Identity) {
			t.Errorf("%s: %v", what, err)
		}
	}
	d := m.Destination()
	d.Identity = ""
	if _, err := host.SSH(t.Context(), d); err == nil || !strings.Contains(err.Error(), "no key at all") {
		t.Errorf("without a key: %v", err)
	}
}

func TestTheAgentsKeysAreUsed(t *testing.T) {
	m := sshhost.New(t).Machine(t)
	text, err := os.ReadFile(m.Identity)
	if err != nil {
		t.Fatal(err)
	}
	private, err := ssh.ParseRawPrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go agent.ServeAgent(ring, c)
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", socket)
	t.Setenv("HOME", t.TempDir())
	d := m.Destination()
	d.Identity = ""
	h, err := host.SSH(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	d.Config = write(t, "IdentitiesOnly yes\n")
	if _, err := host.SSH(t.Context(), d); err == nil || !strings.Contains(err.Error(), "no key at all") {
		t.Errorf("with IdentitiesOnly: %v", err)
	}
}

func TestTheSSHConfigIsFollowed(t *testing.T) {
	n := sshhost.New(t)
	near, far := n.Machine(t), n.Machine(t)
	known := write(t, read(t, near.KnownHosts)+read(t, far.KnownHosts))
	config := write(t, fmt.Sprintf(`Host far
  HostName %s
  ProxyJump near
Host near
  HostName %s
Host near far !other
  User root
  Port 2222
  IdentityFile %s
  IdentitiesOnly yes
  UserKnownHostsFile %s
Host command
  ProxyCommand nc %%h %%p
`, far.Address, near.Address, near.Identity, known))
	h, err := host.SSH(t.Context(), host.Destination{Host: "far", Config: config})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	out, err := h.Run(t.Context(), "sh", "-c", "echo $SSH_CONNECTION")
	if words := strings.Fields(string(out)); err != nil || len(words) != 4 || words[0] != near.Address || words[2] != far.Address {
		t.Errorf("it was reached by %q (%v)", out, err)
	}
	if h.Address() != far.Address {
		t.Errorf("its address is %q", h.Address())
	}
	if _, err := host.SSH(t.Context(), host.Destination{Host: "command", Config: config}); err == nil || !strings.Contains(err.Error(), "ProxyCommand") {
		t.Errorf("a command on the way: %v", err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAMachineThatDoesNotAnswerYetIsWaitedFor(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := host.Destination{Host: "root@" + l.Addr().String(), Config: "none"}
	l.Close()
	if _, err := host.SSH(t.Context(), d); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("where nobody listens: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if _, err := host.WaitSSH(ctx, d); !errors.Is(err, host.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting in vain: %v", err)
	}
}

func TestWhatIsNoDestinationIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"": "ssh:", "a b": "ssh:", "-oProxyCommand=x": "ssh:", "@x": "ssh:", "x:0": "ssh:", "x:none": "ssh:", "u@": "ssh:", "x;y": "ssh:",
	} {
		if err := (host.Destination{Host: text}).Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"x", "u@x", "u@x:22", "10.0.0.1:2222", "a.b@c@x", "[fe80::1]:22", "fe80::1"} {
		if err := (host.Destination{Host: text}).Validate(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := (host.Destination{Host: "x", Identity: "/no/such/file"}).Validate(); err == nil || !strings.HasPrefix(err.Error(), "identity:") {
		t.Errorf("%v", err)
	}
}

package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/host"
	"tare/internal/testing/freeport"
	"tare/internal/testing/sshhost"
)

func TestHostsRunOpenAndPut(t *testing.T) {
	h := sshhost.New(t).Machine(t).Dial(t)
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
	running := filepath.Join(t.TempDir(), "running")
	if err := syscall.Mkfifo(running, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(running) // blocks until the command writes
		cancel()
	}()
	// The command ends when the test removes the pipe.
	if _, err := h.Run(ctx, "sh", "-c", "echo >"+running+"; while [ -e "+running+" ]; do sleep 0.1; done"); !errors.Is(err, context.Canceled) {
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

	var stderr host.Tail
	p, err := h.Open(t.Context(), &stderr, "sh", "-c", "echo a complaint >&2; cat; echo the end")
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
	if !strings.Contains(stderr.Last(), "a complaint") {
		t.Errorf("it complained of %q", stderr.Last())
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
	if facing := h.(host.LocalAddresser).LocalAddress(); err != nil || !strings.HasPrefix(string(out), facing+" ") || facing == "" {
		t.Errorf("it sees this machine as %q, and says itself %q (%v)", facing, out, err)
	}
}

// A machine whose host key is not known is refused, also where the ssh_config
// would accept it.
func TestAnUnknownHostKeyIsRejected(t *testing.T) {
	n := sshhost.New(t)
	m := n.Machine(t)
	address := "[" + m.Address + "]:" + m.Port
	other := sshhost.Key(t, filepath.Join(t.TempDir(), "other"))
	lax := write(t, "Host *\n  StrictHostKeyChecking no\n")
	unknown := []string{"No ED25519 host key is known for " + address, "Host key verification failed", "log in once by hand", "-p 2222 root@" + m.Address}
	for what, c := range map[string]struct {
		known  string
		config string
		want   []string
	}{
		"an unknown key": {"# nothing\n", "none", unknown},
		"however lax":    {"# nothing\n", lax, append(unknown, "-F "+lax)},
		"a changed key": {"# a line\n" + sshhost.KnownLine(m.Address, m.Port, other), "none",
			[]string{"REMOTE HOST IDENTIFICATION HAS CHANGED", ":2\n", fingerprint(t, m.Key), "ssh-keygen -f", "-R \"" + address + "\"", "log in once by hand"}},
		"a revoked key": {"@revoked * " + m.Key + "\n", "none", []string{"marked as revoked", "@revoked in "}},
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
		if strings.ContainsAny(err.Error(), "\r\x1b") {
			t.Errorf("%s: the message has control characters: %q", what, err)
		}
	}
	d := m.Destination()
	d.KnownHosts = filepath.Join(t.TempDir(), "not there")
	if _, err := host.SSH(t.Context(), d); err == nil || !strings.Contains(err.Error(), "the host key is not in "+d.KnownHosts) {
		t.Errorf("without a file of known keys: %v", err)
	}
	for what, c := range map[string]struct{ known, alias string }{
		"by an alias":       {"template " + m.Key + "\n", "template"},
		"one of two keys":   {"# \n" + sshhost.KnownLine(m.Address, m.Port, other) + sshhost.KnownLine(m.Address, m.Port, m.Key), ""},
		"the key of a port": {sshhost.KnownLine(m.Address, "22", m.Key), ""}, // ssh accepts it for all ports
		"a path with %h":    {read(t, m.KnownHosts), ""},
	} {
		d := m.Destination()
		d.KnownHosts, d.KeyAlias = filepath.Join(t.TempDir(), `a "known" %h \ file`), c.alias
		if err := os.WriteFile(d.KnownHosts, []byte(c.known), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := host.SSH(t.Context(), d); err != nil {
			t.Errorf("%s: %v", what, err)
		} else {
			h.Close()
		}
	}
}

// fingerprint of a public key, as ssh shows it.
func fingerprint(t *testing.T, key string) string {
	t.Helper()
	blob, err := base64.StdEncoding.DecodeString(strings.Fields(key)[1])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(blob)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
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

func TestARejectedLoginSaysWhatWasOffered(t *testing.T) {
	m := sshhost.New(t).Machine(t)
	t.Setenv("SSH_AUTH_SOCK", "")
	strange := filepath.Join(t.TempDir(), "strange")
	sshhost.Key(t, strange)
	for what, change := range map[string]func(*host.Destination){
		"a key that it does not know": func(d *host.Destination) { d.Identity = strange },
		"a user that it does not have": func(d *host.Destination) {
			d.Host = "nobody-of-that-name@" + m.Address + ":" + m.Port
		},
		"no key": func(d *host.Destination) {
			d.Identity, d.Config = "", write(t, "IdentityFile none\n")
		},
	} {
		d := m.Destination()
		change(&d)
		_, err := host.SSH(t.Context(), d)
		if err == nil || errors.Is(err, host.ErrUnreachable) || !strings.Contains(err.Error(), "Permission denied (publickey)") || !strings.Contains(err.Error(), "identity") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTheAgentsKeysAreUsed(t *testing.T) {
	m := sshhost.New(t).Machine(t)
	socket := filepath.Join(t.TempDir(), "agent")
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer agent.Wait()
	defer agent.Process.Kill()
	t.Setenv("SSH_AUTH_SOCK", socket)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		out, err := exec.Command("ssh-add", "-q", m.Identity).CombinedOutput()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v: %s", err, out)
		}
	}
	d := m.Destination()
	d.Identity, d.Config = "", write(t, "IdentityFile none\n")
	h, err := host.SSH(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	t.Setenv("SSH_AUTH_SOCK", "")
	d.Config = write(t, "IdentityFile none\nIdentityAgent "+socket+"\n")
	if h, err := host.SSH(t.Context(), d); err != nil {
		t.Errorf("IdentityAgent: %v", err)
	} else {
		h.Close()
	}
	t.Setenv("SSH_AUTH_SOCK", socket)
	d.Config = write(t, "IdentityFile none\nIdentitiesOnly yes\n")
	if _, err := host.SSH(t.Context(), d); err == nil || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("with IdentitiesOnly: %v", err)
	}
}

// What a shell's ssh does with the ssh_config, tare does too.
func TestTheSSHConfigIsFollowed(t *testing.T) {
	n := sshhost.New(t)
	near, far := n.Machine(t), n.Machine(t)
	known := write(t, read(t, near.KnownHosts)+read(t, far.KnownHosts))
	ran := filepath.Join(t.TempDir(), "ran")
	shared := write(t, fmt.Sprintf(`Host *
  User root
  Port 2222
  IdentityFile %s
  IdentitiesOnly yes
  UserKnownHostsFile %s
`, near.Identity, known))
	file := filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`Host jump
  HostName %[1]s
  ProxyJump near
Host command
  HostName %[1]s
  ProxyCommand ssh -F %[3]s -W %%h:%%p near
Host near
  HostName %[2]s
Host interactive
  HostName %[1]s
  RemoteCommand sleep 1000
  RequestTTY force
  LocalForward 1 localhost:1
  ControlMaster auto
  ControlPath /nowhere/socket
  LogLevel QUIET
Match originalhost matched exec "echo %%n >>%[5]s"
  HostName %[1]s
Host *
Include %[4]s
`, far.Address, near.Address, file, shared, ran)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"jump": near.Address, "command": near.Address, "interactive": "", "matched": ""} {
		h, err := host.SSH(t.Context(), host.Destination{Host: name, Config: file})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		defer h.Close()
		if from == "" {
			from = h.(host.LocalAddresser).LocalAddress()
		}
		out, err := h.Run(t.Context(), "sh", "-c", "echo $SSH_CONNECTION")
		if words := strings.Fields(string(out)); err != nil || len(words) != 4 || words[0] != from || words[2] != far.Address {
			t.Errorf("%s was reached by %q, not from %s (%v)", name, out, from, err)
		}
		if h.Address() != far.Address || h.Name() != "root@"+far.Address+":2222" {
			t.Errorf("%s: %s has the address %q", name, h.Name(), h.Address())
		}
	}
	if got := read(t, ran); !strings.HasPrefix(got, "matched\n") {
		t.Errorf("Match exec ran for %q", got)
	}
	broken := write(t, "Host *\n  NoSuchOption yes\n")
	if _, err := host.SSH(t.Context(), host.Destination{Host: "x", Config: broken}); err == nil || errors.Is(err, host.ErrUnreachable) || !strings.Contains(err.Error(), broken+": line 2: Bad configuration option: nosuchoption") {
		t.Errorf("a broken ssh_config: %v", err)
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
	d := host.Destination{Host: fmt.Sprintf("root@127.0.0.1:%d", freeport.New(t)), Config: "none"}
	if _, err := host.SSH(t.Context(), d); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("where nobody listens: %v", err)
	}
	attempts := filepath.Join(t.TempDir(), "attempts")
	if err := syscall.Mkfifo(attempts, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncase $1 in -G) ;; *) echo x >"+attempts+" ;; esac\nexec ssh \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(host.ProgramVariable, program)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range 2 { // the second attempt comes after the first has failed
			_, _ = os.ReadFile(attempts)
		}
		cancel()
	}()
	if _, err := host.WaitSSH(ctx, d); !errors.Is(err, host.ErrUnreachable) || !errors.Is(err, context.Canceled) {
		t.Errorf("waiting in vain: %v", err)
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	for program, path := range map[string]string{"": t.TempDir(), "no-such-ssh": os.Getenv("PATH")} {
		t.Setenv(host.ProgramVariable, program)
		t.Setenv("PATH", path)
		_, err := host.SSH(t.Context(), host.Destination{Host: "x"})
		if err == nil || !strings.Contains(err.Error(), "not found") || !strings.Contains(err.Error(), "openssh-client") || !strings.Contains(err.Error(), "TARE_SSH") {
			t.Errorf("%q: %v", program, err)
		}
	}
}

func TestAnotherProgramIsUsed(t *testing.T) {
	m := sshhost.New(t).Machine(t)
	log := filepath.Join(t.TempDir(), "log")
	program := filepath.Join(t.TempDir(), "my ssh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$1\" >>"+log+"\nexec ssh \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(host.ProgramVariable, program)
	h := m.Dial(t)
	if _, err := h.Run(t.Context(), "true"); err != nil {
		t.Error(err)
	}
	if calls := strings.Count(read(t, log), "\n"); calls != 3 { // -G, the master, the command
		t.Errorf("it was called %d times", calls)
	}
}

// ssh's own exit status is 255.
func TestTheExitStatusOfACommandIsDistinguishedFromSSHs(t *testing.T) {
	h := sshhost.New(t).Machine(t).Dial(t)
	for script, want := range map[string]int{"exit 255": 255, "exit 254": 254, "kill -9 $$": 137, "exec no-such-program": 127} {
		_, err := h.Run(t.Context(), "sh", "-c", "echo moan >&2; "+script)
		var exit *host.ExitError
		if !errors.As(err, &exit) || exit.Status != want || !strings.Contains(err.Error(), "moan") || strings.Contains(err.Error(), "tare:") {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func TestALostConnectionIsNamed(t *testing.T) {
	for what, lose := range map[string]func(*sshhost.Machine){
		"the server's processes end": (*sshhost.Machine).HangUp,
		"the cable is pulled":        func(m *sshhost.Machine) { m.Cut(t) },
	} {
		t.Run(what, func(t *testing.T) {
			m := sshhost.New(t).Machine(t)
			h := m.Dial(t)
			var stderr host.Tail
			p, err := h.Open(t.Context(), &stderr, "cat")
			if err != nil {
				t.Fatal(err)
			}
			running := filepath.Join(t.TempDir(), "running")
			if err := syscall.Mkfifo(running, 0o600); err != nil {
				t.Fatal(err)
			}
			ran := make(chan error, 1)
			go func() {
				_, err := h.Run(t.Context(), "sh", "-c", "echo >"+running+"; sleep 1000")
				ran <- err
			}()
			if _, err := os.ReadFile(running); err != nil { // blocks until the command writes
				t.Fatal(err)
			}
			began := time.Now()
			lose(m)
			var exit *host.ExitError
			if err := <-ran; err == nil || errors.As(err, &exit) || !strings.Contains(err.Error(), "ssh lost the connection") {
				t.Errorf("a command that was running: %v", err)
			} else {
				t.Logf("after %v: %v", time.Since(began), err)
			}
			if _, err := io.ReadAll(p); err != nil {
				t.Errorf("the stream ended with %v", err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(stderr.Last(), "ssh lost the connection") {
				t.Errorf("the program's standard error is %q", stderr.Last())
			}
			if _, err := h.Run(t.Context(), "true"); err == nil || !strings.Contains(err.Error(), "ssh lost the connection") {
				t.Errorf("a command afterwards: %v", err)
			}
		})
	}
}

func TestCloseEndsTheConnectionAndRemovesItsSocket(t *testing.T) {
	directory, err := os.MkdirTemp("", "") // a test's own has too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(directory)
	t.Setenv("TMPDIR", directory)
	h := sshhost.New(t).Machine(t).Dial(t)
	p, err := h.Open(t.Context(), io.Discard, "cat")
	if err != nil {
		t.Fatal(err)
	}
	sockets := func() []string {
		list, _ := filepath.Glob(filepath.Join(directory, "tare-ssh-*"))
		return list
	}
	if len(sockets()) != 1 {
		t.Errorf("the connection has %q", sockets())
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the program's stream ended with %v", err)
	}
	p.Close()
	if left := sockets(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	if _, err := h.Run(t.Context(), "true"); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("a command after Close: %v", err)
	}
	t.Setenv("TMPDIR", filepath.Join(directory, strings.Repeat("long", 30)))
	if err := os.MkdirAll(os.TempDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	h = sshhost.New(t).Machine(t).Dial(t)
	if _, err := h.Run(t.Context(), "true"); err != nil {
		t.Errorf("with a long TMPDIR: %v", err)
	}
}

func TestAnInvalidDestinationIsRejected(t *testing.T) {
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

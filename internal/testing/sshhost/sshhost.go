// Package sshhost starts machines that are reached over SSH: each is a network
// namespace with a real sshd in it. They share this machine's kernel and files,
// and end with the test that starts them.
//
// Only tests import it.
package sshhost

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"tare/internal/host"
	"tare/internal/linux/netns"
	"tare/internal/linux/virtnet"
	"tare/internal/testing/needs"
)

// port is not the default one, so that a port that is dropped on the way is
// noticed.
const port = "2222"

// Network connects machines, and this one, by a bridge.
type Network struct {
	bridge    *virtnet.Bridge
	directory string
	identity  string // a private key that all machines accept
	public    string
}

// Machine is one of a network.
type Machine struct {
	Address    string
	Port       string
	User       string
	Identity   string // file of the private key that it accepts
	KnownHosts string // file with its host key
	Key        string // its host key: "ssh-ed25519 AAAA..."
	Home       string // TARE_HOME there

	port  *virtnet.Port
	cmd   *exec.Cmd
	log   []string // sshd's, complete once ended is closed
	ended chan struct{}
}

// New makes a network for the duration of a test. It skips where there is no
// sshd, or no privilege to make namespaces.
func New(t testing.TB) *Network {
	t.Helper()
	needs.Root(t)
	if _, err := sshd(); err != nil {
		t.Skipf("needs sshd: %v", err)
	}
	n, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// Open makes a network without machines, which keeps its files in a directory.
func Open(directory string) (*Network, error) {
	b, err := virtnet.NewBridge("sshtest"+strings.ToLower(rand.Text()[:5]), "a bridge")
	if err != nil {
		return nil, err
	}
	n := &Network{bridge: b, directory: directory, identity: filepath.Join(directory, "identity")}
	if n.public, err = NewKey(n.identity); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Close removes the network. Its machines have been stopped.
func (n *Network) Close() error { return n.bridge.Close(context.Background()) }

// sshd requires its absolute path as its name.
func sshd() (string, error) {
	if path, err := exec.LookPath("sshd"); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/sshd")
}

// Key makes a key pair in FILE and FILE.pub, and returns the public key.
func Key(t testing.TB, file string) string {
	t.Helper()
	public, err := NewKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// NewKey is Key outside of a test.
func NewKey(file string) (string, error) {
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file).CombinedOutput(); err != nil {
		return "", fmt.Errorf("making a key: %w: %s", err, out)
	}
	text, err := os.ReadFile(file + ".pub")
	return strings.TrimSpace(string(text)), err
}

// KnownLine is a machine's line in a known_hosts file.
func KnownLine(address, port, key string) string {
	if port != "22" {
		address = "[" + address + "]:" + port
	}
	return address + " " + key + "\n"
}

// Machine starts a machine for the duration of the test.
func (n *Network) Machine(t testing.TB) *Machine {
	t.Helper()
	m, err := n.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("sshd of %s:\n%s", m.Address, strings.Join(m.log, "\n"))
		}
	})
	return m
}

// Start starts a machine. It ends with this process at the latest.
func (n *Network) Start() (*Machine, error) {
	plugged, err := n.bridge.Namespace()
	if err != nil {
		return nil, err
	}
	address := plugged.Address.Addr().String()
	file := func(what string) string { return filepath.Join(n.directory, address+"."+what) }
	m := &Machine{Address: address, Port: port, User: "root", Identity: n.identity, KnownHosts: file("known"), Home: file("home"), port: plugged, ended: make(chan struct{})}
	if m.Key, err = NewKey(file("key")); err != nil {
		return nil, errors.Join(err, plugged.Close())
	}
	for name, text := range map[string]string{
		file("authorized"): n.public + "\n",
		m.KnownHosts:       KnownLine(address, port, m.Key),
		file("config"):     fmt.Sprintf(config, port, address, file("key"), file("authorized"), m.Home),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return nil, errors.Join(err, plugged.Close())
		}
	}
	if err := m.serve(file("config")); err != nil {
		return nil, errors.Join(err, plugged.Close())
	}
	return m, nil
}

// With SHLVL, bash does not run the user's .bashrc, which may be slow.
const config = `Port %s
ListenAddress %s
HostKey "%s"
AuthorizedKeysFile "%s"
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv "TARE_HOME=%s" "SHLVL=1"
LogLevel VERBOSE
`

// serve starts sshd and returns once it listens.
func (m *Machine) serve(config string) error {
	path, err := sshd()
	if err != nil {
		return err
	}
	// sshd's directory for privilege separation, which a distribution makes when it
	// starts the service.
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		return err
	}
	m.cmd = exec.Command(path, "-D", "-e", "-f", config)
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := m.cmd.StderrPipe()
	if err == nil {
		err = netns.Within(m.port.File, m.cmd.Start)
	}
	if err != nil {
		return err
	}
	listening := make(chan struct{})
	go func() {
		defer close(m.ended)
		lines := bufio.NewScanner(stderr)
		for once := false; lines.Scan(); {
			m.log = append(m.log, lines.Text())
			if !once && strings.Contains(lines.Text(), "listening on") {
				once = true
				close(listening)
			}
		}
		m.cmd.Wait()
	}()
	select {
	case <-listening:
		return nil
	case <-m.ended:
		return fmt.Errorf("sshd ended: %s", strings.Join(m.log, "\n"))
	}
}

// Stop ends the machine with all descendants of its sshd.
func (m *Machine) Stop() error {
	// The sshd of a machine that was cut off would wait for its connection to
	// time out.
	for _, pid := range descendants(m.cmd.Process.Pid) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	select {
	case <-m.ended:
	case <-time.After(time.Minute):
		return fmt.Errorf("a process that the sshd of %s started still has its standard error open", m.Address)
	}
	return m.port.Close()
}

// HangUp ends the connections to the machine, which accepts new ones.
func (m *Machine) HangUp() {
	for _, pid := range descendants(m.cmd.Process.Pid)[1:] {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// descendants are a process and those that it started, directly or not.
func descendants(pid int) []int {
	all := []int{pid}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, word := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(word); err == nil {
			all = append(all, descendants(child)...)
		}
	}
	return all
}

// Destination of the machine, whose host key is known.
func (m *Machine) Destination() host.Destination {
	return host.Destination{
		Host: m.User + "@" + m.Address + ":" + m.Port, Identity: m.Identity, KnownHosts: m.KnownHosts, Config: "none",
	}
}

// Dial connects to the machine for the duration of the test.
func (m *Machine) Dial(t testing.TB) host.Host {
	t.Helper()
	h, err := host.SSH(t.Context(), m.Destination())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// Cut sets the machine's network interface down, so that neither side gets a
// packet about the end of its connections.
func (m *Machine) Cut(t testing.TB) {
	t.Helper()
	err := netns.Within(m.port.File, func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(l)
	})
	if err != nil {
		t.Fatal(err)
	}
}

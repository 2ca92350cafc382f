// Package sshhost makes machines that are reached over SSH: each a network
// namespace of its own with a real sshd in it. They share this machine's kernel
// and files. A test starts them, and they end with it.
//
// Only tests import it.
package sshhost

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"tare/internal/host"
	"tare/internal/linux/netns"
	"tare/internal/linux/virtnet"
)

// port is not the usual one, so that nothing passes by luck.
const port = "2222"

// Network joins machines, and this one, by a bridge.
type Network struct {
	bridge   *virtnet.Bridge
	folder   string
	identity string // a private key that all machines let in
	public   ssh.PublicKey
}

// Machine is one of a network.
type Machine struct {
	Address    string
	Port       string
	User       string
	Identity   string // file of the private key that it lets in
	KnownHosts string // file with its key
	Key        ssh.PublicKey
	Home       string // of tare there, where nobody says otherwise

	port  *virtnet.Port
	cmd   *exec.Cmd
	log   []string // what sshd said; to be read when it has ended
	ended chan struct{}
}

// New makes a network for the time of a test. It skips where there is no sshd, or
// no right to make namespaces.
func New(t testing.TB) *Network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: a machine is a network namespace")
	}
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

// Open makes a network without machines, which keeps its files in a folder.
func Open(folder string) (*Network, error) {
	b, err := virtnet.NewBridge("sshtest"+strings.ToLower(rand.Text()[:5]), "a bridge")
	if err != nil {
		return nil, err
	}
	n := &Network{bridge: b, folder: folder, identity: filepath.Join(folder, "identity")}
	if n.public, err = NewKey(n.identity); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Close removes the network. Its machines have been stopped.
func (n *Network) Close() error { return n.bridge.Close(context.Background()) }

// sshd wants to be called by its whole path.
func sshd() (string, error) {
	if path, err := exec.LookPath("sshd"); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/sshd")
}

// Key makes a pair of keys and writes the private one to a file.
func Key(t testing.TB, file string) ssh.PublicKey {
	t.Helper()
	public, err := NewKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// NewKey is Key for those who are no test.
func NewKey(file string) (ssh.PublicKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(block), 0o600)
	}
	if err != nil {
		return nil, err
	}
	return ssh.NewPublicKey(private.Public())
}

// Machine starts one more, for the time of the test.
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

// Start starts one more. It ends with this process, if not by Stop.
func (n *Network) Start() (*Machine, error) {
	plugged, err := n.bridge.Namespace()
	if err != nil {
		return nil, err
	}
	address := plugged.Address.Addr().String()
	file := func(what string) string { return filepath.Join(n.folder, address+"."+what) }
	m := &Machine{Address: address, Port: port, User: "root", Identity: n.identity, KnownHosts: file("known"), Home: file("home"), port: plugged, ended: make(chan struct{})}
	if m.Key, err = NewKey(file("key")); err != nil {
		return nil, errors.Join(err, plugged.Close())
	}
	for name, text := range map[string]string{
		file("authorized"): string(ssh.MarshalAuthorizedKey(n.public)),
		m.KnownHosts:       knownhosts.Line([]string{knownhosts.Normalize(net.JoinHostPort(address, port))}, m.Key) + "\n",
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
SetEnv "TARE_HOME=%s"
LogLevel VERBOSE
`

// serve starts sshd and returns when it listens.
func (m *Machine) serve(config string) error {
	path, err := sshd()
	if err != nil {
		return err
	}
	// A place that sshd leaves its rights for, and that a distribution makes when
	// it starts the service.
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		return err
	}
	m.cmd = exec.Command(path, "-D", "-e", "-f", config)
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := m.cmd.StderrPipe()
	if err == nil {
		err = netns.Within(m.port.File, m.cmd.Start)
	}
	if err != nil {
		return err
	}
	listening := make(chan struct{})
	go func() {
		defer close(m.ended)
		lines := bufio.NewScanner(said)
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

// Stop ends the machine, with all that came of its sshd.
func (m *Machine) Stop() error {
	// One whose machine was cut off would wait for its connection to break.
	for _, pid := range family(m.cmd.Process.Pid) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	select {
	case <-m.ended:
	case <-time.After(time.Minute):
		return fmt.Errorf("a process that sshd of %s started has its standard error open still", m.Address)
	}
	return m.port.Close()
}

// HangUp ends the connections with the machine; it takes new ones.
func (m *Machine) HangUp() {
	for _, pid := range family(m.cmd.Process.Pid)[1:] {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// family is a process and all that came of it.
func family(pid int) []int {
	all := []int{pid}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, word := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(word); err == nil {
			all = append(all, family(child)...)
		}
	}
	return all
}

// Destination leads to the machine, with its key known.
func (m *Machine) Destination() host.Destination {
	return host.Destination{
		Host: m.User + "@" + m.Address + ":" + m.Port, Identity: m.Identity, KnownHosts: m.KnownHosts, Config: "none",
	}
}

// Dial connects to it for the time of the test.
func (m *Machine) Dial(t testing.TB) host.Host {
	t.Helper()
	h, err := host.SSH(t.Context(), m.Destination())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// Cut takes the machine's cable out: nobody is told.
func (m *Machine) Cut(t testing.TB) {
	t.Helper()
	if err := m.cable(netlink.LinkSetDown); err != nil {
		t.Fatal(err)
	}
}

func (m *Machine) cable(change func(netlink.Link) error) error {
	return netns.Within(m.port.File, func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return change(l)
	})
}

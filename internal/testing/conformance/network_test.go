package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

// answer is a server that sends back the line that it is sent; ask sends one.
// Both are given an address and a port. ask is for bash, which an emulated processor
// starts faster than Perl.
const (
	answer = `use IO::Socket::INET; $SIG{PIPE} = "IGNORE";
my $s = IO::Socket::INET->new(LocalAddr => $ARGV[0], LocalPort => $ARGV[1], Listen => 5, ReuseAddr => 1) or die "listening: $@";
while (my $c = $s->accept) { my $line = <$c>; print $c "answer to $line" if defined $line; close $c }`
	ask = `exec 3<>"/dev/tcp/$0/$1" && echo "$2" >&3 && cat <&3`
)

const port = "7213"

// pair is two instances on a network of their own.
type pair struct {
	network environment.Network
	one     [2]environment.Instance
}

func (s *scene) pair(t *testing.T) pair {
	t.Helper()
	network, err := s.env.NewNetwork(t.Context(), s.owner, "between")
	if err != nil {
		t.Fatal(err)
	}
	if network == nil {
		t.Skipf("needs a network between instances: %s says that it has none", s.name)
	}
	t.Cleanup(func() {
		if err := network.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p := pair{network: network}
	var all sync.WaitGroup
	var single atomic.Bool
	for n, name := range []string{"near", "far"} {
		console := keptConsole(t, name)
		all.Go(func() {
			r := s.request(name)
			r.Network, r.Console = network, console
			var err error
			if p.one[n], err = s.env.Start(t.Context(), r); errors.Is(err, environment.ErrOneAddress) {
				single.Store(true)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, i := range p.one {
		if i != nil {
			t.Cleanup(func() {
				showUsage(t, i)
				i.Stop(context.Background())
			})
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	if single.Load() {
		t.Skipf("needs two addresses: %s says that it has one", s.name)
	}
	return p
}

func twoReachEachOther(t *testing.T, s *scene) {
	before := testenv.OpenNetworkNamespaces() // of an instance that has a network of its own
	p := s.pair(t)
	t.Logf("%s: %s and %s, and the host is %s", p.network.Path(), p.one[0].Address(), p.one[1].Address(), p.network.Host())
	_, enclosed := p.network.(environment.Enclosed)
	seen, addresses := map[string]bool{}, []string{p.one[0].Address(), p.one[1].Address()}
	if !enclosed {
		addresses = append(addresses, p.network.Host())
	}
	for _, address := range addresses {
		if a, err := netip.ParseAddr(address); err != nil || !a.Is4() || seen[address] {
			t.Errorf("%q is no address, or not its own", address)
		}
		seen[address] = true
	}
	if p.network.Path() == "" {
		t.Error("it does not say what a packet passes")
	}
	for n, server := range p.one {
		if _, err := server.Agent().Start(t.Context(), agent.Command{Argv: []string{"perl", "-e", answer, environment.Listen(server), port}}); err != nil {
			t.Fatal(err)
		}
		client := p.one[1-n]
		at := net.JoinHostPort(server.Address(), port)
		// An engine's proxy answers at once, whether there is a server behind it or not.
		if _, err := server.Agent().Await(t.Context(), agent.Probe{TCP: net.JoinHostPort(environment.Listen(server), port), Timeout: timeout}); err != nil {
			t.Error(err)
		}
		if _, err := client.Agent().Await(t.Context(), agent.Probe{TCP: at, Timeout: timeout}); err != nil {
			t.Errorf("one does not reach the other: %v", err)
			continue
		}
		askers := map[string]func() string{
			"the other": func() string { return asks(t, client, at) },
			"itself":    func() string { return asks(t, server, net.JoinHostPort(environment.Listen(server), port)) },
		}
		if !enclosed {
			askers["the host"] = func() string { return hostAsks(t, at) }
		}
		for who, output := range askers {
			if got := output(); got != "answer to hello" {
				t.Errorf("%s asks the one at %s, which says %q", who, at, got)
			}
		}
	}
	s.oneByItselfIsReached(t)
	if !enclosed {
		s.hostIsReached(t, p)
	}
	s.trafficIsCounted(t, p)
	s.nothingIsLeftOf(t, p, before)
}

// timeout of a probe. A program in an emulated machine, on a busy one, takes more than half a
// minute to start, and where all is well nothing waits for this.
const timeout = 5 * time.Minute

// asks has an instance send a line, and returns what comes back.
func asks(t *testing.T, i environment.Instance, at string) string {
	t.Helper()
	host, port, _ := net.SplitHostPort(at)
	var out bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"bash", "-c", ask, host, port, "hello"}, Stdout: &out, Stderr: &out, Timeout: timeout})
	if err != nil || !exit.OK() {
		t.Errorf("%s: %+v, %v: %s", at, exit, err, out.String())
	}
	return strings.TrimSpace(out.String())
}

func hostAsks(t *testing.T, at string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp4", at, timeout)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer c.Close()
	fmt.Fprintln(c, "hello")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Errorf("%s: %v", at, err)
	}
	return strings.TrimSpace(line)
}

// oneByItselfIsReached asks an instance without such a network, if it says that
// it has an address.
func (s *scene) oneByItselfIsReached(t *testing.T) {
	const other = "7215"
	address := s.shared.Address()
	t.Logf("one by itself is %q", address)
	if address == "" {
		return
	}
	server, err := s.shared.Agent().Start(t.Context(), agent.Command{Argv: []string{"perl", "-e", answer, environment.Listen(s.shared), other}})
	if err != nil {
		t.Fatal(err)
	}
	at := net.JoinHostPort(address, other)
	if _, err := s.shared.Agent().Await(t.Context(), agent.Probe{TCP: net.JoinHostPort(environment.Listen(s.shared), other), Timeout: timeout}); err != nil {
		t.Error(err)
	} else if got := hostAsks(t, at); got != "answer to hello" {
		t.Errorf("the host asks the one at %s, which says %q", at, got)
	}
	if err := server.Signal(t.Context(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	server.Wait(t.Context())
}

func (s *scene) hostIsReached(t *testing.T, p pair) {
	l, err := net.Listen("tcp4", net.JoinHostPort(p.network.Host(), "0"))
	if err != nil {
		t.Errorf("the host has no address %s: %v", p.network.Host(), err)
		return
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			fmt.Fprint(c, "answer to ", line)
			c.Close()
		}
	}()
	for _, i := range p.one {
		if got := asks(t, i, l.Addr().String()); got != "answer to hello" {
			t.Errorf("%s asks the host, which says %q", i.Address(), got)
		}
	}
}

// aServerIsReachedOnItsLoopback asks one inside from inside, where every
// environment has an address, whatever network it has besides.
func aServerIsReachedOnItsLoopback(t *testing.T, s *scene) {
	const local, own = "127.0.0.1", "7216"
	server, err := s.shared.Agent().Start(t.Context(), agent.Command{Argv: []string{"perl", "-e", answer, local, own}})
	if err != nil {
		t.Fatal(err)
	}
	at := net.JoinHostPort(local, own)
	if _, err := s.shared.Agent().Await(t.Context(), agent.Probe{TCP: at, Timeout: timeout}); err != nil {
		t.Error(err)
	} else if got := asks(t, s.shared, at); got != "answer to hello" {
		t.Errorf("the one at %s says %q", at, got)
	}
	if err := server.Signal(t.Context(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	server.Wait(t.Context())
}

// trafficIsCounted sends a million bytes from one to the other.
func (s *scene) trafficIsCounted(t *testing.T, p pair) {
	const size, sink = 1_000_000, "7214"
	sender, receiver := p.one[0], p.one[1]
	if f := sender.Footprint(); f.NetworkPID == 0 && len(f.Devices) == 0 {
		t.Log("its bytes cannot be told from the host's")
		return
	}
	take := `use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => $ARGV[0], LocalPort => $ARGV[1], Listen => 5) or die $@;
my $n = 0; do { my $c = $s->accept; my $all = join "", <$c>; $n = length $all } until $n; print $n`
	var got bytes.Buffer
	taking, err := receiver.Agent().Start(t.Context(), agent.Command{Argv: []string{"perl", "-e", take, environment.Listen(receiver), sink}, Stdout: &got})
	if err != nil {
		t.Fatal(err)
	}
	// From inside first: an engine's proxy answers before the program behind it does.
	if _, err := receiver.Agent().Await(t.Context(), agent.Probe{TCP: net.JoinHostPort(environment.Listen(receiver), sink), Timeout: timeout}); err != nil {
		t.Fatal(err)
	}
	if _, err := sender.Agent().Await(t.Context(), agent.Probe{TCP: net.JoinHostPort(receiver.Address(), sink), Timeout: timeout}); err != nil {
		t.Fatal(err)
	}
	samplers := []*usage.Sampler{usage.Start(sender.Footprint(), usage.Options{}), usage.Start(receiver.Footprint(), usage.Options{})}
	run(t, sender, fmt.Sprintf("bash -c 'head -c %d /dev/zero >/dev/tcp/%s/%s'", size, receiver.Address(), sink))
	if exit, err := taking.Wait(t.Context()); err != nil || !exit.OK() || got.String() != fmt.Sprint(size) {
		t.Errorf("%+v, %v: %q bytes arrived of %d", exit, err, got.String(), size)
	}
	sent, received := samplers[0].Stop().NetSent, samplers[1].Stop().NetReceived
	for what, figure := range map[string]usage.Figure{"sent": sent, "received": received} {
		if figure.Missing != "" || figure.Value < size || figure.Value > 2*size {
			t.Errorf("%d bytes were %s, and counted from outside %+v", size, what, figure)
		}
	}
}

// nothingIsLeftOf closes a network whose instances are stopped.
func (s *scene) nothingIsLeftOf(t *testing.T, p pair, before []string) {
	for _, i := range p.one {
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := p.network.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	s.nothingLeft(t)
	for _, line := range testenv.OpenNetworkNamespaces() {
		if !s.nested() && !slices.Contains(before, line) { // nested, it is that of the machines
			t.Errorf("left open: %s", line)
		}
	}
}

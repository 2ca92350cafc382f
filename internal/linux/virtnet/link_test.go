package virtnet

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/linux/netns"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

func TestMain(m *testing.M) {
	testenv.Main(m, map[string]testenv.Role{"nobody": nobody, "holder": holder})
}

// nobody makes a network without the rights, and says what came of it.
func nobody(string, string) (string, error) {
	if err := syscall.Setuid(65534); err != nil {
		return "", err
	}
	_, err := NewBridge(someOwner, "")
	return strings.ReplaceAll(fmt.Sprint(err), "\n", " "), nil
}

// holder makes a network with an instance, and says the name of its interface.
func holder(string, string) (string, error) {
	b, err := NewBridge(someOwner, "")
	if err != nil {
		return "", err
	}
	_, err = b.Namespace()
	return b.host, err
}

const someOwner = "abcdefghijkl"

func bridge(t *testing.T) *Bridge {
	t.Helper()
	needs.Root(t)
	b, err := NewBridge(someOwner, "a bridge, a veth pair each")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func namespace(t *testing.T, b *Bridge) *Port {
	t.Helper()
	p, err := b.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// listen answers in a namespace with the address of whoever calls.
func listen(t *testing.T, where *os.File, address string) string {
	t.Helper()
	var l net.Listener
	open := func() (err error) {
		l, err = net.Listen("tcp4", address+":0")
		return err
	}
	if err := in(where, open); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, c.RemoteAddr().(*net.TCPAddr).IP)
			c.Close()
		}
	}()
	return l.Addr().String()
}

func in(where *os.File, do func() error) error {
	if where == nil {
		return do()
	}
	return netns.Within(where, do)
}

// call returns what the answer is.
func call(t *testing.T, where *os.File, address string) string {
	t.Helper()
	output := ""
	err := in(where, func() error {
		c, err := net.DialTimeout("tcp4", address, time.Minute)
		if err != nil {
			return err
		}
		defer c.Close()
		answer, err := io.ReadAll(c)
		output = string(answer)
		return err
	})
	if err != nil {
		t.Errorf("calling %s: %v", address, err)
	}
	return output
}

func TestInstancesAndTheHostReachEachOther(t *testing.T) {
	b := bridge(t)
	one, two := namespace(t, b), namespace(t, b)
	places := []struct {
		name, address string
		space         *os.File
	}{
		{"the host", b.Host(), nil},
		{"one", one.Address.Addr().String(), one.File},
		{"two", two.Address.Addr().String(), two.File},
	}
	for _, to := range places {
		server := listen(t, to.space, to.address)
		for _, from := range places {
			if output := call(t, from.space, server); output != from.address {
				t.Errorf("%s calls %s from %s, and is taken for %q", from.name, to.name, from.address, output)
			}
		}
	}
}

func TestAPortsBytesAreCountedFromOutside(t *testing.T) {
	b := bridge(t)
	one := namespace(t, b)
	server := listen(t, nil, b.Host())
	sampler := usage.Start(usage.Footprint{Space: b.Space(), Devices: []string{one.Device}}, usage.Options{})
	call(t, one.File, server)
	u := sampler.Stop()
	if u.NetReceived.Missing != "" || u.NetReceived.Value < 100 || u.NetSent.Value < 100 {
		t.Errorf("received %+v, sent %+v", u.NetReceived, u.NetSent)
	}
}

func TestATapIsAPortForAsLongAsItsFileIsOpen(t *testing.T) {
	b := bridge(t)
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skip("needs /dev/net/tun: " + err.Error())
	}
	p, err := b.Tap()
	if err != nil {
		t.Fatal(err)
	}
	if l, err := b.there.LinkByName(p.Device); err != nil || l.Attrs().MasterIndex != b.master {
		t.Errorf("%s is no port: %+v, %v", p.Device, l, err)
	}
	p.File.Close()
	if _, err := b.there.LinkByName(p.Device); err == nil {
		t.Error("the tap outlives its file")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestNetworksOfOneMachineAreSeparate(t *testing.T) {
	a, b := bridge(t), bridge(t)
	if a.subnet.Overlaps(b.subnet.Prefix) || a.host == b.host {
		t.Errorf("%s at %s and %s at %s", a.host, a.subnet, b.host, b.subnet)
	}
	if !strings.Contains(a.host, someOwner) || len(a.host) > 15 {
		t.Errorf("the host's interface is called %s", a.host)
	}
}

func TestAFullNetworkIsAnError(t *testing.T) {
	b := bridge(t)
	for range lastPart - hostPart {
		p, err := b.take()
		if err != nil {
			t.Fatal(err)
		}
		if !b.subnet.Contains(p.Address.Addr()) || p.part == hostPart {
			t.Fatalf("%s is no address of %s", p.Address, b.subnet)
		}
	}
	if _, err := b.Namespace(); err == nil || !strings.Contains(err.Error(), "room for 253 instances") {
		t.Errorf("one more: %v", err)
	}
}

func TestMissingCapabilitiesAreNamed(t *testing.T) {
	bridge(t)
	words, _ := testenv.Again(t, "nobody", "", "")
	if output := strings.Join(words, " "); !strings.Contains(output, "CAP_NET_ADMIN") || !strings.Contains(output, "making a network namespace") {
		t.Errorf("%q", output)
	}
}

func TestNothingIsLeftOfAClosedNetwork(t *testing.T) {
	b := bridge(t)
	p := namespace(t, b)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	gone(t, b.host)
	if spaces := testenv.OpenNetworkNamespaces(); len(spaces) > 0 {
		t.Errorf("open are still %v", spaces)
	}
	if _, err := b.Tap(); err == nil {
		t.Error("a closed network takes instances")
	}
}

func TestNothingIsLeftOfANetworkWhoseProcessIsKilled(t *testing.T) {
	bridge(t)
	words, kill := testenv.Again(t, "holder", "", "")
	if _, err := os.Stat("/sys/class/net/" + words[0]); err != nil {
		t.Error(err)
	}
	kill()
	gone(t, words[0])
}

// gone waits for an interface's end: the kernel clears namespaces at leisure.
func gone(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat("/sys/class/net/" + name); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the interface %s is still there", name)
		}
	}
}

func TestLoopbackAddressesAreUnique(t *testing.T) {
	seen := map[netip.Addr]bool{}
	for range 50 {
		s, err := claimLoopback(7) // all begin at the same place
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if seen[s.Address] {
			t.Fatalf("%s is given twice", s.Address)
		}
		seen[s.Address] = true
		listen(t, nil, s.Address.String())
	}
	s, err := claimLoopback(7)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	again, err := claimLoopback(7)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Address != s.Address {
		t.Errorf("%s was given back, and %s is the next free one", s.Address, again.Address)
	}
}

func TestEveryLoopbackAddressCanBeClaimed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := claimLoopback(rapid.IntRange(0, loopbackAddresses-1).Draw(t, "begin"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if a := s.Address.As4(); a[0] != 127 || a[1] != 213 || a[2] == 0 && a[3] == 0 || a[2] == 255 && a[3] == 255 {
			t.Fatal(s.Address)
		}
	})
}

func TestASubnetDoesNotOverlapTheHostsRoutes(t *testing.T) {
	prefixes := func(list ...string) (p []netip.Prefix) {
		for _, text := range list {
			p = append(p, netip.MustParsePrefix(text))
		}
		return p
	}
	for _, c := range []struct {
		taken []netip.Prefix
		want  string
	}{
		{nil, "10.213.0.0/24"},
		{prefixes("0.0.0.0/0", "10.88.0.0/16"), "10.213.0.0/24"},
		{prefixes("10.213.0.0/23", "10.213.2.7/32"), "10.213.3.0/24"},
		{prefixes("10.0.0.0/8"), "172.29.0.0/24"},
		{prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/24"), "192.168.1.0/24"},
	} {
		number := 0
		for overlaps(candidate(number), c.taken) {
			number++
		}
		if got := candidate(number).String(); got != c.want {
			t.Errorf("beside %v it is %s, want %s", c.taken, got, c.want)
		}
	}
}

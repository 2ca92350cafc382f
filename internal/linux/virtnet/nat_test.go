package virtnet

import (
	"context"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/linux/netns"
	"tare/internal/testing/needs"
)

func natBridge(t *testing.T) *Bridge {
	t.Helper()
	needs.Root(t)
	needs.Program(t, Masquerader)
	b, err := NewNAT(someOwner, "a bridge with NAT")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// translated counts the connections that the rule has seen.
func translated(t *testing.T, b *Bridge) (packets string) {
	t.Helper()
	if err := netns.Within(b.space, func() error {
		output, err := exec.Command(Masquerader, "-w", "-t", "nat", "-L", "POSTROUTING", "-v", "-x", "-n").Output()
		for line := range strings.Lines(string(output)) {
			if strings.Contains(line, "MASQUERADE") {
				packets = strings.Fields(line)[0]
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return packets
}

func TestBehindNATAnInstanceHasTheRoutersAddress(t *testing.T) {
	b := natBridge(t)
	one, two := namespace(t, b), namespace(t, b)
	router := b.subnet.at(outerPart).Addr().String()
	if before := translated(t, b); before != "0" {
		t.Errorf("%s connections were translated before the first", before)
	}
	if output := call(t, one.File, listen(t, nil, b.Host())); output != router {
		t.Errorf("the host takes an instance for %s, want the router, %s", output, router)
	}
	if after := translated(t, b); after != "1" {
		t.Errorf("%s connections were translated, want 1", after)
	}
	if output := call(t, nil, listen(t, two.File, two.Address.Addr().String())); output != b.Host() {
		t.Errorf("an instance takes the host for %s, want %s", output, b.Host())
	}
	// Between the instances there is the bridge alone.
	if output := call(t, one.File, listen(t, two.File, two.Address.Addr().String())); output != one.Address.Addr().String() {
		t.Errorf("an instance takes another for %s", output)
	}
	if after := translated(t, b); after != "1" {
		t.Errorf("%s connections were translated, want still 1", after)
	}
}

func TestABridgeWithNATHasRoomForHalfAsMany(t *testing.T) {
	b := natBridge(t)
	inner := netip.PrefixFrom(b.subnet.Addr(), innerBits)
	for range lastInnerPart - hostPart {
		p, err := b.take()
		if err != nil {
			t.Fatal(err)
		}
		if !inner.Contains(p.Address.Addr()) || p.Address.Bits() != innerBits || p.Gateway != b.subnet.at(hostPart).Addr() {
			t.Fatalf("%s by %s is no place at the bridge %s", p.Address, p.Gateway, inner)
		}
	}
	if _, err := b.take(); err == nil || !strings.Contains(err.Error(), "room for 125 instances") {
		t.Errorf("one more: %v", err)
	}
}

func TestNothingIsLeftOfNATThatIsClosed(t *testing.T) {
	b := natBridge(t)
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	gone(t, b.host)
	known, err := routes()
	if err != nil || overlaps(b.subnet.Prefix, known) {
		t.Errorf("the host's routes lead to %s still: %v, %v", b.subnet, known, err)
	}
}

func TestAPublishedAddressIsUniqueOnTheHost(t *testing.T) {
	needs.Root(t)
	var fronts []*PublishedAddress
	for range 2 {
		f, err := NewPublishedAddress(someOwner)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			gone(t, f.bridge.host)
		})
		listen(t, nil, f.Address.String())
		fronts = append(fronts, f)
	}
	if fronts[0].Address == fronts[1].Address || fronts[0].Address.IsLoopback() {
		t.Errorf("%s and %s", fronts[0].Address, fronts[1].Address)
	}
}

package virtnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"pgregory.net/rapid"
)

// span joins machines at a bridge by an overlay, and returns each one's part.
func span(t *testing.T, machines []*Port) (o Overlay, parts []*Bridge) {
	t.Helper()
	var hosts []netip.Addr
	for _, m := range machines {
		hosts = append(hosts, m.Address.Addr())
	}
	o, err := NewOverlay(hosts)
	if err != nil {
		t.Fatal(err)
	}
	for own, m := range machines {
		o.Own = own
		var part *Bridge
		join := func() (err error) { part, err = o.Join(someOwner); return err }
		if err := in(m.File, join); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := in(m.File, func() error { return part.Close(context.Background()) }); err != nil {
				t.Error(err)
			}
		})
		parts = append(parts, part)
	}
	return o, parts
}

func TestInstancesOfSeveralHostsReachEachOtherAndTheHosts(t *testing.T) {
	between := bridge(t)
	machines := []*Port{namespace(t, between), namespace(t, between), namespace(t, between)}
	_, parts := span(t, machines)
	type place struct {
		address string
		where   *Port
	}
	var places []place
	for n, part := range parts {
		if err := in(machines[n].File, func() error { return part.Reach(t.Context()) }); err != nil {
			t.Error(err)
		}
		one := namespace(t, part)
		places = append(places, place{part.Host(), machines[n]}, place{one.Address.Addr().String(), one})
	}
	for _, to := range places {
		server := listen(t, to.where.File, to.address)
		for _, from := range places {
			if output := call(t, from.where.File, server); output != from.address {
				t.Errorf("%s calls %s and is taken for %q", from.address, to.address, output)
			}
		}
	}
}

// What passes is as large as an interface says: nothing is cut in pieces on the way, nor
// lost.
func TestLargePacketsPassBetweenHosts(t *testing.T) {
	between := bridge(t)
	machines := []*Port{namespace(t, between), namespace(t, between)}
	_, parts := span(t, machines)
	one, two := namespace(t, parts[0]), namespace(t, parts[1])
	if one.MTU != 1450 {
		t.Errorf("the MTU is %d, of 1500 with 50 for VXLAN", one.MTU)
	}
	var at net.PacketConn
	if err := in(two.File, func() (err error) {
		at, err = net.ListenPacket("udp4", two.Address.Addr().String()+":0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	const most = 1450 - 20 - 8
	if err := in(one.File, func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil || l.Attrs().MTU != one.MTU {
			t.Errorf("inside the MTU is %+v, %v", l, err)
		}
		c, err := net.Dial("udp4", at.LocalAddr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(make([]byte, most))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	at.SetReadDeadline(time.Now().Add(time.Minute))
	if n, _, err := at.ReadFrom(make([]byte, 2*most)); n != most || err != nil {
		t.Errorf("%d bytes came, %v", n, err)
	}
}

func TestAHostThatDoesNotAnswerIsNamed(t *testing.T) {
	between := bridge(t)
	machines := []*Port{namespace(t, between), namespace(t, between)}
	o, err := NewOverlay([]netip.Addr{machines[0].Address.Addr(), machines[1].Address.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = in(machines[0].File, func() error {
		part, err := o.Join(someOwner) // the other host has no part
		if err != nil {
			return err
		}
		return errors.Join(part.Reach(ctx), part.Close(context.Background()))
	})
	if want := "the host " + machines[1].Address.Addr().String() + " does not answer"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "UDP port 4789") {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestTheAddressesOfAnOverlayAreFreeOnEachHost(t *testing.T) {
	between := bridge(t)
	machine := namespace(t, between)
	o, _ := span(t, []*Port{machine, namespace(t, between)})
	o.Own, o.ID = 0, o.ID^1
	if err := in(machine.File, func() error { _, err := o.Join(someOwner); return err }); !errors.Is(err, ErrTaken) {
		t.Errorf("a second overlay of the same addresses: %v", err)
	}
}

func TestThePartsOfAnOverlayDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Overlay{Hosts: make([]netip.Addr, rapid.IntRange(2, mostHosts).Draw(t, "hosts"))}
		free := hostPart
		for o.Own = range o.Hosts {
			b := &Bridge{overlay: &o}
			if b.own() != free || b.room() <= b.own()+4 || b.room() > lastPart {
				t.Fatalf("host %d has %d to %d, and %d is free", o.Own, b.own(), b.room(), free)
			}
			free = b.room() + 1
		}
	})
}

func TestAnOverlayThatCannotBeIsRefused(t *testing.T) {
	two := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	for _, o := range []Overlay{{Hosts: two[:1]}, {Hosts: two, Own: 2}, {Hosts: two, Own: -1}, {Hosts: two, Number: 768}, {Hosts: two, Number: -1}, {Hosts: make([]netip.Addr, mostHosts+1)}} {
		if _, err := o.take(); err == nil || !strings.Contains(err.Error(), "there is no overlay") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := NewOverlay(make([]netip.Addr, mostHosts+1)); err == nil {
		t.Error("more hosts than addresses")
	}
}

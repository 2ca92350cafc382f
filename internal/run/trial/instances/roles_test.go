package instances

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
)

// published is an instance whose ports are published at the host's address.
type published struct{ environment.Instance }

func (published) Address() string { return "192.0.2.1" }
func (published) Details() environment.Details {
	return environment.Details{Listen: "0.0.0.0"}
}

type at struct {
	environment.Instance
	address string
}

func (a at) Address() string              { return a.address }
func (a at) Details() environment.Details { return environment.Details{} }

type host struct{ environment.Network }

func (host) Host() string { return "10.0.0.254" }

func TestInstancesPlayTheRolesOfTheirShape(t *testing.T) {
	p, _, _ := newPool(t, Config{})
	g := &Group{}
	roles := p.assign(g, Request{Block: 3, Environment: "a b"}, study.Shape{Together: true, Roles: []study.RoleShape{
		{Name: "node", Count: 2, Hosts: []string{"x", "y"}}, {Name: "driver", Count: 1, OnHost: true},
	}})
	var names []string
	for _, i := range roles.Instances() {
		names = append(names, i.Name)
	}
	if want := []string{"b3-a-b-1", "b3-host-4", "b3-a-b-2", "b3-a-b-3"}; !slices.Equal(names, want) {
		t.Errorf("the instances are %q, want %q", names, want)
	}
	nodes := roles.Of("node")
	if len(nodes) != 2 || nodes[1].Index != 2 || nodes[1].host != "y" || nodes[1].OnHost {
		t.Errorf("the second node is %+v", nodes[1])
	}
	if driver := roles.Of("driver")[0]; !driver.OnHost {
		t.Error("the driver is not on the host")
	}
	if other := roles.Of("logger"); len(other) != 1 || other[0] != roles.Together() {
		t.Error("a role without instances of its own is not where everything is together")
	}
	if len(g.instances) != 4 {
		t.Errorf("the group has %d instances", len(g.instances))
	}
}

func TestEachInstanceKnowsTheAddressesAsItReachesThem(t *testing.T) {
	server := &Instance{Index: 1, Instance: published{}}
	other := &Instance{Index: 2, Instance: at{address: "10.0.0.2"}}
	far := &Instance{Index: 3, Instance: at{address: "127.0.0.1"}, address: "198.51.100.7"}
	driver := &Instance{Index: 1, OnHost: true, Instance: at{address: "127.0.0.1"}}
	roles := Roles{apart: map[string][]*Instance{"server": {server, other, far}, "driver": {driver}}}
	names := []string{"driver", "server"}
	for name, c := range map[string]struct {
		of      *Instance
		address string
		roles   map[string][]string
	}{
		"a published server": {server, "0.0.0.0", map[string][]string{"server": {"0.0.0.0", "10.0.0.2", "198.51.100.7"}, "driver": {"10.0.0.254"}}},
		"another server":     {other, "10.0.0.2", map[string][]string{"server": {"192.0.2.1", "10.0.0.2", "198.51.100.7"}, "driver": {"10.0.0.254"}}},
		"one on a host":      {far, "198.51.100.7", map[string][]string{"server": {"192.0.2.1", "10.0.0.2", "198.51.100.7"}, "driver": {"10.0.0.254"}}},
		"the driver":         {driver, "10.0.0.254", map[string][]string{"server": {"192.0.2.1", "10.0.0.2", "198.51.100.7"}, "driver": {"10.0.0.254"}}},
	} {
		vars := roles.Vars(c.of, host{}, names)
		if vars.Address != c.address || vars.Index != c.of.Index || !maps.EqualFunc(vars.Roles, c.roles, slices.Equal) {
			t.Errorf("%s: %+v, want %s %v", name, vars, c.address, c.roles)
		}
	}
	if vars := roles.Vars(other, nil, names); vars.Address != "" || vars.Roles != nil || vars.Index != 2 {
		t.Errorf("without a network: %+v", vars)
	}
}

func TestOtherHostsReachAnInstanceByItsHostsAddress(t *testing.T) {
	for _, c := range []struct{ instance, host, address, reason string }{
		{"192.0.2.1", "192.0.2.1", "192.0.2.1", ""},
		{"127.0.0.1", "192.0.2.1", "192.0.2.1", ""},
		{"", "192.0.2.1", "", "have no address"},
		{"172.17.0.2", "192.0.2.1", "", "a network of their own on each host (address 172.17.0.2)"},
		{"127.0.0.1", "", "", "no address is known"},
	} {
		address, err := addressFromHosts(at{address: c.instance}, c.host)
		if address != c.address || (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q on %q: %q, %v", c.instance, c.host, address, err)
		}
	}
}

func TestAnInstanceRunsInTheSlotThatTheWorkloadNames(t *testing.T) {
	p, _, _ := newPool(t, Config{})
	p.Plan.Environments[1].Host = "far"
	for _, c := range []struct {
		environment string
		instance    Instance
		want        HostSlot
	}{
		{"a", Instance{}, HostSlot{"a", ""}},
		{"a", Instance{host: "near"}, HostSlot{"a", "near"}},
		{"b", Instance{}, HostSlot{"b", "far"}},
		{"b", Instance{host: "near", OnHost: true}, HostSlot{"", "near"}},
		{"b", Instance{OnHost: true}, HostSlot{"", "far"}},
	} {
		if got := p.slot(c.environment, &c.instance); got != c.want {
			t.Errorf("%s %+v: %v, want %v", c.environment, c.instance, got, c.want)
		}
	}
}

func TestARoleOnTheHostNeedsAnEnvironmentThere(t *testing.T) {
	r := request(1, "a", "trial")
	r.Shape = study.Shape{Copies: 1, Joined: true, Roles: []study.RoleShape{{Name: "driver", Count: 1, OnHost: true}}}
	p, log, _ := newPool(t, Config{})
	if _, err := p.Get(t.Context(), r); err == nil || !strings.Contains(err.Error(), "the role on the host needs the native environment") {
		t.Errorf("got %v", err)
	}
	p.Host = &fakeenv.Environment{Log: log}
	if g := get(t, p, r); len(g.Measured()) != 1 || !g.Measured()[0].OnHost {
		t.Errorf("the instances are %+v", g.Measured())
	}
	if got := strings.Join(log.Lines(), ", "); got != "network b1-a-1, close b1-a-1, network b1-a-3, start b1-host-4" {
		t.Error(got)
	}
}

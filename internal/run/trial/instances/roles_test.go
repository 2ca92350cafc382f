package instances

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
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

// in is an instance in a machine that it shares with others.
type in struct {
	environment.Instance
	machine string
}

func (i in) Details() environment.Details { return environment.Details{Machine: i.machine} }

func TestAMachineThatInstancesShareIsMeteredOnce(t *testing.T) {
	own, also, first, second, beside := &Instance{Instance: in{}}, &Instance{Instance: in{}}, &Instance{Instance: in{machine: "m"}}, &Instance{Instance: in{machine: "m"}}, &Instance{Instance: in{}, Beside: true}
	if got := Metered([]*Instance{own, first, also, second, beside}); !slices.Equal(got, []*Instance{own, first, also}) {
		t.Errorf("%d are metered", len(got))
	}
}

// oneMachine has all of its instances in one machine, whose address they share.
type oneMachine struct{ environment.Environment }

func (e oneMachine) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	i, err := e.Environment.Start(ctx, r)
	return in{i, r.Beside}, err
}

func TestInstancesThatShareAMachineReachEachOtherByItsLoopback(t *testing.T) {
	p, _, fake := newPool(t, Config{})
	p.Environments["a"] = oneMachine{fake}
	g := get(t, p, Request{Environment: "a", Shape: study.Shape{Copies: 1, Together: true, Joined: true, Roles: []study.RoleShape{{Name: "driver", Count: 1}}}})
	if facts, _ := g.TakeFacts(); !slices.Contains(facts.Notes, "between its instances, the loopback of the machine that they share; from the host: a wire") {
		t.Errorf("the notes are %q", facts.Notes)
	}
}

// enclosed is a network that programs on the host do not reach.
type enclosed struct{ environment.Environment }

func (e enclosed) NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (environment.Network, error) {
	n, err := e.Environment.NewNetwork(ctx, o, name)
	return enclosedNetwork{n}, err
}

type enclosedNetwork struct{ environment.Network }

func (enclosedNetwork) Enclosed() string { return "it is enclosed" }

func TestARoleOnTheHostIsNotReachedFromAnEnclosedNetwork(t *testing.T) {
	p, _, fake := newPool(t, Config{})
	p.Environments["a"] = enclosed{fake}
	r := Request{Environment: "a", Shape: study.Shape{Copies: 1, Together: true, Joined: true, Roles: []study.RoleShape{{Name: "driver", OnHost: true, Count: 1}}}}
	if _, err := p.Get(t.Context(), r); err == nil || !strings.Contains(err.Error(), "it is enclosed") {
		t.Error(err)
	}
	r.Shape.Roles[0].OnHost = false
	g, err := p.Get(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if facts, _ := g.TakeFacts(); !slices.Contains(facts.Notes, "between its instances: a wire") {
		t.Errorf("the notes are %q", facts.Notes)
	}
}

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
	if driver := roles.Of("driver")[0]; driver.with != "" || nodes[0].with != "b3-a-b-1" || roles.Together().with != "b3-a-b-1" {
		t.Errorf("what shares a machine: %q, %q, %q", driver.with, nodes[0].with, roles.Together().with)
	}
	alone := p.assign(&Group{}, Request{Environment: "a"}, study.Shape{Together: true})
	if with := alone.Together().with; with != "" {
		t.Errorf("what is alone shares a machine with %q", with)
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

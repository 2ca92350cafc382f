package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/image"
	"tare/internal/workload"
)

func TestAnEnvironmentRunsInsideAnotherAndTakesItAlong(t *testing.T) {
	text := `
study: nested
limits: {memory: 1GiB}
environments:
  native: {}
  vm: {kind: qemu, memory: 2GiB, limits: {memory: 2GiB}}
  docker-in-vm: {kind: docker, inside: vm}
workloads: [{use: startup}]
`
	plan, err := resolveText(t, text, Overrides{Only: []string{"docker-in-vm"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Environments) != 2 || plan.Environments[1].Inside == nil {
		t.Fatalf("the plan has %+v", plan.Environments)
	}
	outer := plan.Environments[1].Inside
	check(t, "the outer one's name, kind and own limits",
		[]any{outer.Name, outer.Kind, outer.Limits.Memory, plan.Environments[1].Limits.Memory},
		[]any{"vm", "qemu", 2 * quantity.GiB, quantity.GiB})
	options, err := outer.Decode()
	if err != nil || options.(*fakeOptions).Memory != 2*quantity.GiB {
		t.Errorf("the outer one's options are %+v, %v", options, err)
	}
}

func TestTheInstancesOfACopyShareAMachine(t *testing.T) {
	text := `
study: nested
limits: {memory: 1GiB}
environments:
  native: {}
  vm: {kind: qemu, limits: {memory: 2GiB}}
  together: {kind: docker, inside: {one: vm}}
  each: {kind: docker, inside: vm}
workloads: [{use: redis, place: {server: apart, driver: apart}, instances: 3}]
`
	plan, err := resolveText(t, text, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	one, each := plan.Environment("together"), plan.Environment("each")
	check(t, "the outer one and how it is told", []any{one.Inside.Name, one.OneMachine, one.KindAndHost(), each.OneMachine},
		[]any{"vm", true, "docker inside one vm", false})
	level := plan.Workloads[0].Levels[0]
	check(t, "the memory of three copies with two instances each", []any{plan.memoryOf("together", level), plan.memoryOf("each", level)}, []any{6 * quantity.GiB, 12 * quantity.GiB})
}

func TestTheMachineThatAnEnvironmentIsInsideHasASystem(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "bzImage"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := `
study: systems
environments:
  native: {}
  vm: {kind: qemu}
  docker-in-vm: {kind: docker, inside: vm}
  trixie: {kind: docker, inside: vm, system: {suite: trixie, kernel: stock}}
  own: {kind: docker, inside: vm, system: {kernel: ./bzImage, modules: .}}
workloads: [{use: startup}]
`
	plan, err := Resolve(&File{Origin: "study.yaml", Source: []byte(text), directory: directory}, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]image.System{
		"docker-in-vm": {}, "trixie": {Suite: "trixie", Kernel: "stock"}, "own": {Kernel: filepath.Join(directory, "bzImage"), Modules: directory},
	} {
		check(t, "the system of the machine of "+name, plan.Environment(name).Inside.System, want)
	}
	trixie := plan.Environment("trixie")
	check(t, "in words", []string{trixie.KindAndHost(), trixie.UnusualOptions()},
		[]string{"docker inside vm with trixie, kernel stock", "system.kernel=stock system.suite=trixie"})
	check(t, "the machine itself", plan.Environment("vm").System, image.System{})
}

func TestHostsAreNamedOnceAndUsedByName(t *testing.T) {
	text := `
study: spread
hosts:
  client: {ssh: "root@client", config: none, address: 10.0.0.9}
  h1: {ssh: h1, config: none}
  h2: {ssh: h2, config: none, sudo: true}
environments:
  native: {}
  away: {kind: native, host: h1}
workloads: [{use: redis, place: {server: {apart: [h2]}, driver: {host: client}}}]
`
	plan, err := resolveText(t, text, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "hosts", plan.Hosts, map[string]Host{
		"client": {SSH: "root@client", Config: "none", Address: "10.0.0.9"},
		"h1":     {SSH: "h1", Config: "none"}, "h2": {SSH: "h2", Config: "none", Sudo: true},
	})
	check(t, "the environment's host", plan.Environments[1].Host, "h1")
	shape := plan.Workloads[0].Levels[0].Shape
	check(t, "where the roles run", shape.Roles, []RoleShape{
		{Name: "driver", OnHost: true, Count: 1, Hosts: []string{"client"}},
		{Name: "server", Count: 1, Hosts: []string{"h2"}},
	})
	if !strings.Contains(shape.Key(), "on client") {
		t.Errorf("the shape %s is not told from one without hosts", shape.Key())
	}
	check(t, "the hosts of both roles", shape.On("h1"), []string{"client", "h2"})
	together := Shape{Copies: 1, Together: true, Roles: []RoleShape{{Name: "driver", OnHost: true, Count: 1, Hosts: []string{"h1"}}}}
	check(t, "a role on the environment's own host", together.On("h1"), []string{"h1"})
	check(t, "the same with the environment here", together.On(""), []string{"", "h1"})
}

func TestInvalidNestingAndPlacementAreReportedWithTheirPosition(t *testing.T) {
	for name, c := range map[string]struct{ environments, place, want string }{
		"an unknown outer one":     {"docker: {inside: vn}\n  vm: {kind: qemu}", "", `study.yaml:5:20: inside: unknown environment "vn"; did you mean "vm"?`},
		"an unknown shared one":    {"docker: {inside: {one: vn}}\n  vm: {kind: qemu}", "", `study.yaml:5:20: inside: unknown environment "vn"; did you mean "vm"?`},
		"nothing shared":           {"docker: {inside: {}}\n  vm: {kind: qemu}", "", "inside: to have all instances of a workload in one machine, write {one: NAME}"},
		"another form":             {"docker: {inside: {all: vm}}\n  vm: {kind: qemu}", "", `unknown key "all"`},
		"itself":                   {"docker: {inside: docker}", "", "docker is inside docker: this is a cycle"},
		"a circle":                 {"a: {kind: qemu, inside: b}\n  b: {kind: qemu, inside: a}", "", "a is inside b is inside a: this is a cycle"},
		"no machine":               {"docker: {inside: native}", "", "inside: the instances of native (kind native) cannot contain other environments; those of these kinds can: qemu"},
		"three levels":             {"vm: {kind: qemu}\n  in: {kind: qemu, inside: vm}\n  most: {kind: docker, inside: in}", "", "in is inside vm itself, and at most two levels"},
		"an outer one elsewhere":   {"vm: {kind: qemu, host: h1}\n  docker: {inside: vm}", "", "vm is on host h1, and only instances that are started here"},
		"both":                     {"vm: {kind: qemu}\n  docker: {inside: vm, host: h1}", "", "docker also has host: h1"},
		"a system of nothing":      {"vm: {kind: qemu, system: {suite: trixie}}", "", "study.yaml:5:28: system: is that of the machine which contains an environment: add inside:"},
		"an empty system":          {"vm: {kind: qemu}\n  docker: {inside: vm, system: {}}", "", "system: is empty: give it a suite"},
		"no release":               {"vm: {kind: qemu}\n  docker: {inside: vm, system: {suite: Debian 13}}", "", `study.yaml:6:40: suite: "Debian 13" is not a release's code name`},
		"no kernel":                {"vm: {kind: qemu}\n  docker: {inside: vm, system: {kernel: clod}}", "", `study.yaml:6:41: kernel: "clod" is not one of cloud, stock, image, and no path`},
		"no kernel there":          {"vm: {kind: qemu}\n  docker: {inside: vm, system: {kernel: /no/bzImage}}", "", "kernel: stat /no/bzImage: no such file"},
		"a directory as a kernel":  {"vm: {kind: qemu}\n  docker: {inside: vm, system: {kernel: /etc/}}", "", "kernel: /etc/ is not a file"},
		"modules of a package":     {"vm: {kind: qemu}\n  docker: {inside: vm, system: {kernel: stock, modules: /lib}}", "", "modules: are those of a kernel that is a file"},
		"a kernel of no image":     {"vm: {kind: qemu}\n  docker: {inside: vm, system: {kernel: image}}", "", "kernel: image is the kernel that a referenced image has"},
		"a suite of nothing":       {"vm: {kind: qemu}\n  docker: {inside: vm, system: {suite: trixie, reference: 'x:1', kernel: image}}", "", "suite: nothing is taken from trixie"},
		"no image there":           {"vm: {kind: qemu}\n  docker: {inside: vm, system: {reference: 'oci:/no/image'}}", "", "reference: image oci:/no/image"},
		"a mistyped key of it":     {"vm: {kind: qemu}\n  docker: {inside: vm, system: {suit: trixie}}", "", `unknown key "suit"; did you mean "suite"?`},
		"an unknown host":          {"docker: {host: h3}", "", `study.yaml:5:18: host: unknown host "h3"; did you mean "h1"?`},
		"a role on an unknown one": {"docker: {}", "place: {driver: {host: clint}}", `host: unknown host "clint"; did you mean "client"?`},
		"a role twice on one":      {"docker: {}", "place: {server: {apart: [h1, h1]}}", "host h1 is listed twice"},
		"a server on a machine":    {"docker: {}", "place: {server: {host: h1}}", "its environment is measured"},
		"a host's bare name":       {"docker: {}", "place: {driver: client}", "client is a host of the study; did you mean {host: client}?"},
		"a bare name for a server": {"docker: {}", "place: {server: h1}", "h1 is a host of the study; did you mean {apart: [h1]}?"},
		"neither of the forms":     {"docker: {}", "place: {driver: {}}", "write {host: NAME}; to run its instances on several, {apart: [NAME, ...]}"},
	} {
		text := "study: x\nhosts: {h1: {ssh: h1, config: none}, client: {ssh: c, config: none}}\nenvironments:\n  native: {}\n  " + c.environments + "\nworkloads: [{use: redis, " + c.place + "}]\n"
		if _, err := resolveText(t, text, Overrides{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
	for name, c := range map[string]struct{ hosts, want string }{
		"no way to it":   {"h1: {}", "ssh: is missing"},
		"no address":     {"h1: {ssh: h1, config: none, address: here}", "is not an IPv4 address"},
		"no such file":   {"h1: {ssh: h1, config: /no/such/config}", "config:"},
		"no such name":   {"h 1: {ssh: h1, config: none}", "is not a valid name of a host"},
		"a mistyped key": {"h1: {shh: h1}", "shh"},
	} {
		text := "study: x\nhosts: {" + c.hosts + "}\nenvironments: {native: {}}\nworkloads: [{use: redis}]\n"
		if _, err := resolveText(t, text, Overrides{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}

func TestMoreInstancesThanHostsAreRefused(t *testing.T) {
	w := Workload{Name: "many", Pack: workload.Pack{Name: "many",
		Servers: []workload.Server{{Step: workload.Step{Run: "true", Role: "node"}}},
		Driver:  &workload.Step{Run: "true", Role: "driver"},
		Roles:   map[string]workload.Role{"node": {Place: workload.Apart, Count: "3", Hosts: []string{"h1", "h2"}}},
	}}
	if _, err := w.shape(Level{}); err == nil || !strings.Contains(err.Error(), "3 instances, but place: lists 2 hosts") {
		t.Errorf("got %v", err)
	}
}

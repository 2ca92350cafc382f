package attribution

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/environment"
	_ "tare/internal/environment/cloudhypervisor"
	"tare/internal/environment/docker"
	_ "tare/internal/environment/firecracker"
	"tare/internal/environment/gvisor"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
	"tare/internal/image"
	"tare/internal/study"
)

// theFacts are those of a machine with cgroup v1, Docker with runsc, and Podman.
func theFacts(kind string, options any) any {
	switch o := options.(type) {
	case *docker.Options:
		return runtimeFacts(kind, o.Runtime)
	case *gvisor.Options:
		engine := "docker"
		switch {
		case o.Engine != "auto":
			engine = o.Engine
		case o.Network == "host" || o.Network == "sandbox":
			engine = "direct"
		}
		return gvisor.Facts{Engine: engine, Docker: runtimeFacts("docker", o.Runtime)}
	}
	return nil
}

func runtimeFacts(kind, name string) docker.Facts {
	switch {
	case kind == "podman" && name == "":
		return docker.Facts{Runtime: "crun"}
	case name == "":
		return docker.Facts{Runtime: "runc"}
	case name == "absent":
		return docker.Facts{Err: errors.New("nobody answers")}
	case name == "runsc":
		return docker.Facts{Runtime: "/usr/local/bin/runsc", Arguments: []string{"--platform=ptrace"}}
	}
	return docker.Facts{Runtime: name}
}

// of is an environment as a study would write it: "docker network=host".
func of(t interface{ Fatal(...any) }, name, text string) study.Environment {
	kind, rest, _ := strings.Cut(text, " ")
	e := study.Environment{Name: name, Kind: kind}
	registration, known := environment.Lookup(kind)
	if !known {
		t.Fatal("no kind ", kind)
	}
	options := registration.Options()
	if rest != "" {
		if err := json.Unmarshal([]byte(rest), options); err != nil {
			t.Fatal(text, err)
		}
	}
	if v, ok := options.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			t.Fatal(text, err)
		}
	}
	e.Options, _ = json.Marshal(options)
	return e
}

func keysOf(parts []Part) (keys []string) {
	for _, p := range parts {
		keys = append(keys, p.Key)
	}
	return keys
}

func TestTheStepsBetweenTwoEnvironmentsAreTheirParts(t *testing.T) {
	const isolation = "runtime namespaces.pid namespaces.ipc namespaces.uts devices root capabilities seccomp network.bridge log.pipe rest"
	for _, c := range []struct{ from, to, want string }{
		{"native", "docker", isolation},
		{"native", `docker {"log": "json-file"}`, isolation + " log"},
		{"native", `docker {"network": "publish", "ports": ["80"]}`, isolation + " network.publish"},
		{"native", `docker {"network": "nat"}`, strings.Replace(isolation, "network.bridge", "network.bridge network.nat", 1)},
		{"native", `docker {"network": "host", "seccomp": "unconfined", "data": "overlay"}`,
			"runtime namespaces.pid namespaces.ipc namespaces.uts devices root data capabilities log.pipe rest"},
		{`native {"rootfs": "host", "network": "loopback"}`, "docker", "rootfs network.host " + isolation},
		{"native", "podman", strings.Replace(isolation, "capabilities ", "", 1)}, // Podman's are native's
		{`native {"dev": "host", "proc": "host", "capabilities": "all"}`, "docker", "dev " + strings.Replace(isolation, "capabilities", "masked capabilities", 1)},
		{`native {"dev": "host", "capabilities": "all"}`, "native", "dev capabilities"},
		{"native", "gvisor", "runtime root network.bridge log.pipe gvisor.sentry gvisor.platform gvisor.netstack gvisor.overlay gvisor.shared rest"},
		{"native", `gvisor {"engine": "direct"}`, "runtime root network.none gvisor.sentry gvisor.netstack gvisor.overlay gvisor.shared rest"},
		{"native", `gvisor {"engine": "direct", "network": "host"}`, "runtime root gvisor.sentry gvisor.overlay gvisor.shared rest"},
		{"docker", "gvisor", "engine-off gvisor.sentry gvisor.platform gvisor.netstack gvisor.overlay gvisor.shared rest"},
		{"docker", `docker {"runtime": "runsc"}`, "engine-off gvisor.sentry gvisor.platform gvisor.netstack gvisor.overlay gvisor.shared rest"},
		{"docker", "podman", "engine-off runtime capabilities rest"},
		{"docker", `docker {"network": "host"}`, "network.host"},
		{"docker", `docker {"network": "publish", "ports": ["80"], "log": "local"}`, "log network.publish"},
		{"docker", "native", "engine-off namespaces.pid namespaces.ipc namespaces.uts devices root capabilities seccomp network.host log.null rest"},
		{`docker {"runtime": "absent"}`, `docker {"network": "none"}`, "runtime network.none"},
		{"native", "oci", "runtime namespaces.pid namespaces.ipc namespaces.uts namespaces.cgroup devices root capabilities seccomp network.bridge"},
		{"oci", `oci {"runtime": "crun", "seccomp": "unconfined"}`, "runtime seccomp"},
		{"oci", `oci {"runtime": "runsc", "platform": "ptrace", "network": "host"}`, "network.host gvisor.sentry gvisor.platform gvisor.overlay gvisor.shared"},
		{"native", "qemu", "vm machine cache.writeback"},
		{"native", `qemu {"network": "nat", "cache": "none", "aio": "native"}`, "network.bridge vm machine cache.writeback cache.none aio network.nat"},
		{"native", `qemu {"disk_device": "nvme"}`, "vm machine cache.writeback disk_device"},
		{"docker", `qemu {"machine": "microvm", "cache": "unsafe"}`, "vm"},
		{"qemu", "native", "machine cache.unsafe vm"},
		{"qemu", `qemu {"cache": "none", "aio": "native"}`, "cache.none aio"},
		{"native", "firecracker", "vm"},
		{"native", "handicap", "rest"},
		{"handicap", `handicap {"costly": true, "idle": true}`, "costly idle"},
	} {
		l, err := Build(of(t, "a", c.from), of(t, "b", c.to), BuildOptions{Facts: theFacts})
		if err != nil {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
			continue
		}
		if got := strings.Join(keysOf(l.Parts), " "); got != c.want {
			t.Errorf("%s to %s: the parts are\n%s, want\n%s", c.from, c.to, got, c.want)
		}
		if testing.Verbose() {
			t.Log("\n" + printed(l))
		}
	}
}

// printed is a ladder as people read it.
func printed(l Ladder) string {
	var b strings.Builder
	for n, s := range l.Steps {
		fmt.Fprintf(&b, "%-14s %-22s %s: %s %v\n", s.Environment, s.Part, s.Name, l.Parts[n].About, l.Parts[n].Needs)
	}
	for _, n := range l.Notes {
		fmt.Fprintln(&b, "note:", n)
	}
	return b.String()
}

// Each step switches what no other switches, each rung is one that its kind
// takes, and all parts together are the other end.
func TestEachStepSwitchesOnePartAndAllPartsMakeTheOtherEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawPair(t)
		l, err := Build(from, to, BuildOptions{Facts: theFacts})
		if err != nil {
			if renamed := to; !strings.Contains(err.Error(), "do not differ") || !same(from, renamed) {
				t.Fatalf("%v", err)
			}
			return
		}
		if len(l.Rungs) != len(l.Parts)+1 || len(l.Steps) != len(l.Parts) || l.Rungs[0].Name != "a" || l.Rungs[len(l.Parts)].Name != "b" {
			t.Fatalf("%d rungs, %d steps, %d parts", len(l.Rungs), len(l.Steps), len(l.Parts))
		}
		seen := map[string]bool{}
		for n, rung := range l.Rungs {
			if seen[rung.Name] || strings.Trim(rung.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				t.Fatalf("the name %q", rung.Name)
			}
			seen[rung.Name] = true
			accepted(t, rung)
			if n == 0 {
				continue
			}
			base := l.Rungs[n-1]
			if s := l.Steps[n-1]; s.Environment != rung.Name || s.Base != base.Name || s.Part != l.Parts[n-1].Key || s.Name == "" || s.About == "" {
				t.Fatalf("step %+v", s)
			}
			if same(base, rung) {
				t.Fatalf("%s changes nothing", l.Parts[n-1].Key)
			}
			if base.Kind == rung.Kind {
				one, _ := treeOf(base.Options)
				two, _ := treeOf(rung.Options)
				for _, c := range differences(one, two) {
					if !strings.Contains(l.Parts[n-1].About, c.path) && l.Parts[n-1].Key != "gvisor.sentry" {
						t.Fatalf("%s (%s) also changes %s", l.Parts[n-1].Key, l.Parts[n-1].About, c)
					}
				}
			}
		}
		if !same(l.Rungs[0], from) || !same(l.Rungs[len(l.Parts)], to) {
			t.Fatal("the ends are others")
		}
	})
}

func accepted(t *rapid.T, e study.Environment) {
	options, err := e.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := options.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			t.Fatalf("%s of kind %s is refused: %v: %s", e.Name, e.Kind, err, e.Options)
		}
	}
}

// Whatever the order: parts whose needs are met make an environment, and the same
// parts the same one.
func TestPartsCanBeSwitchedInAnyOrderThatRespectsTheirNeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawPair(t)
		l, err := Build(from, to, BuildOptions{Facts: theFacts})
		if err != nil {
			return // said by the other test
		}
		on, order := map[string]bool{}, []string{}
		for len(on) < len(l.Parts) {
			var ready []string
			for _, p := range l.Parts {
				if !on[p.Key] && !slices.ContainsFunc(p.Needs, func(k string) bool { return !on[k] }) {
					ready = append(ready, p.Key)
				}
			}
			if len(ready) == 0 {
				t.Fatalf("nothing can follow %v", on)
			}
			key := rapid.SampledFrom(ready).Draw(t, "next")
			on[key], order = true, append(order, key)
			e, err := l.With(on)
			if err != nil {
				t.Fatalf("%v: %v", order, err)
			}
			accepted(t, e)
			if again, _ := l.With(on); again.Name != e.Name || !same(again, e) {
				t.Fatal("the same parts are another environment")
			}
		}
		if e, _ := l.With(on); e.Name != "b" {
			t.Fatalf("all parts make %s", e.Name)
		}
		other, err := Build(from, to, BuildOptions{Facts: theFacts, Order: order})
		if err != nil || !slices.Equal(keysOf(other.Parts), order) {
			t.Fatalf("in the order %v: %v, %v", order, keysOf(other.Parts), err)
		}
	})
}

func TestOnlyTheChosenPartsHaveAStep(t *testing.T) {
	from, to := of(t, "native", "native"), of(t, "docker", "docker")
	l, err := Build(from, to, BuildOptions{Facts: theFacts, Only: []string{"seccomp", "network"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"others-1", "seccomp", "network.bridge", "log.pipe", "rest"}
	if got := keysOf(l.Parts); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := []string{l.Rungs[1].Name, l.Rungs[2].Name}; !slices.Equal(got, []string{"01-others-1", "02-seccomp"}) {
		t.Errorf("rungs %q", got)
	}
	if n := l.Parts[0].Name; n != "start by a runtime, pid namespace and 5 others" {
		t.Errorf("the others are called %q", n)
	}
	for _, c := range []struct {
		o    BuildOptions
		want string
	}{
		{BuildOptions{Only: []string{"secomp"}}, "no part or group secomp"},
		{BuildOptions{Order: []string{"secomp"}}, "no part secomp"},
		{BuildOptions{Order: []string{"rest", "seccomp"}}, "rest needs seccomp before it"},
		{BuildOptions{Order: []string{"seccomp", "seccomp"}}, "twice"},
	} {
		c.o.Facts = theFacts
		if _, err := Build(from, to, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v gives %v", c.o, err)
		}
	}
	if _, err := Build(from, from, BuildOptions{Facts: theFacts}); err == nil {
		t.Error("a ladder from an environment to itself")
	}
	if _, err := l.With(map[string]bool{"seccomp": true}); err == nil || !strings.Contains(err.Error(), "needs others-1") {
		t.Errorf("a part without what it needs: %v", err)
	}
}

func TestLimitsPlaceAndParametersAreParts(t *testing.T) {
	from, to := of(t, "native", "native"), of(t, "docker", "docker")
	to.Limits = environment.Limits{CPUs: 0.5, Memory: 1 << 29, IO: environment.IO{Write: 1 << 20}}
	to.With = map[string]map[string]string{"nginx": {"access_log": "/dev/stdout"}}
	vm := of(t, "vm", "qemu")
	to.Inside = &vm
	l, err := Build(from, to, BuildOptions{Facts: theFacts})
	if err != nil {
		t.Fatal(err)
	}
	keys := keysOf(l.Parts)
	if !slices.Equal(keys[:3], []string{"limits.cpus", "limits.memory", "limits.io"}) || !slices.Equal(keys[len(keys)-2:], []string{"place", "with.nginx.access_log"}) {
		t.Errorf("%q", keys)
	}
	if e := l.Rungs[1]; e.Limits.CPUs != 0.5 || e.Limits.Memory != 0 || e.Kind != "native" {
		t.Errorf("%+v", e)
	}
	back, err := Build(to, from, BuildOptions{Facts: theFacts})
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.Index(keysOf(back.Parts), "place"); at != 3 || back.Rungs[4].Inside != nil {
		t.Errorf("%q", keysOf(back.Parts))
	}
}

func TestTheSystemOfTheMachineIsOneStepFromOneMachineToItsLike(t *testing.T) {
	from, to := of(t, "old", "docker"), of(t, "new", "docker")
	vm := of(t, "vm", "qemu")
	newer := vm
	newer.System = image.System{Suite: "trixie"}
	from.Inside, to.Inside = &vm, &newer
	l, err := Build(from, to, BuildOptions{Facts: theFacts})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Parts) != 1 || l.Parts[0].About != "inside vm → inside vm with trixie" {
		t.Errorf("%+v", l.Parts)
	}
	if !slices.ContainsFunc(l.Notes, func(n string) bool { return strings.Contains(n, "the one's suite and the other's kernel") }) {
		t.Errorf("%q", l.Notes)
	}
}

func TestAnEngineThatDoesNotAnswerIsANoteNotAnError(t *testing.T) {
	l, err := Build(of(t, "native", "native"), of(t, "docker", `docker {"runtime": "absent"}`), BuildOptions{Facts: theFacts})
	if err != nil || !slices.ContainsFunc(l.Notes, func(n string) bool { return strings.Contains(n, "nobody answers") }) {
		t.Errorf("%v: %q", err, l.Notes)
	}
}

func TestSentencesCanBeginWithEveryPart(t *testing.T) {
	from, to := of(t, "a", "native"), of(t, "b", "docker")
	from.With = map[string]map[string]string{"nginx": {"access_log": "/data/nginx/access.log", "clients": "10"}}
	to.With = map[string]map[string]string{"nginx": {"access_log": "/dev/stdout", "clients": "50"}, "redis": {"out": "/dev/stderr", "log_level": "debug"}}
	l, err := Build(from, to, BuildOptions{Facts: theFacts, Only: []string{"devices", "network", "parameters"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range l.Steps {
		got = append(got, fmt.Sprintf("%s: %s|%s|%v", s.Part, s.Name, s.Subject, s.Many))
	}
	want := []string{
		"others-1: start by a runtime, pid namespace and 2 others|Start by a runtime, pid namespace and 2 others, switched together,|true",
		"devices: device filter||false",
		"others-2: overlay root, Docker's set of capabilities and seccomp filter|Overlay root, Docker's set of capabilities and seccomp filter, switched together,|true",
		"network.bridge: network namespace and bridge||true",
		"log.pipe: log path through a process||false",
		"rest: engine and shim of docker||true",
		"with.nginx.access_log: log path of nginx||false",
		"with.nginx.clients: clients of nginx|Setting clients of nginx from 10 to 50|false",
		"with.redis.log_level: log_level of redis|Setting log_level of redis from the study's value to debug|false",
		"with.redis.out: log path of redis||false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A part that makes something cheaper is told without what it puts on the way.
func TestASwitchIsDescribedWithoutACause(t *testing.T) {
	from, to := of(t, "a", "native"), of(t, "b", "docker")
	to.With = map[string]map[string]string{"nginx": {"access_log": "/dev/stdout"}}
	l, err := Build(from, to, BuildOptions{Facts: theFacts, Study: map[string]map[string]string{"nginx": {"access_log": "off"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"seccomp":               "seccomp: unconfined → default",
		"network.bridge":        "network: host → bridge",
		"rest":                  "",
		"with.nginx.access_log": "with.nginx.access_log: off → /dev/stdout",
	}
	for _, s := range l.Steps {
		if text, asked := want[s.Part]; asked && text != s.Switched {
			t.Errorf("%s: %q, want %q", s.Part, s.Switched, text)
		}
		delete(want, s.Part)
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}

func TestAnUnknownPartOrGroupIsRejectedWithTheKnownOnes(t *testing.T) {
	from, to := of(t, "a", "native"), of(t, "b", "docker")
	_, err := Build(from, to, BuildOptions{Facts: theFacts, Only: []string{"rot"}})
	if err == nil || !strings.Contains(err.Error(), "no part or group rot; did you mean root? (groups: ") || !strings.Contains(err.Error(), "parts: ") {
		t.Error(err)
	}
	l, err := Build(from, to, BuildOptions{Facts: theFacts})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.CheckGroups([]string{"namespaces"}); err != nil {
		t.Error(err)
	}
	if err := l.CheckGroups([]string{"namespace"}); err == nil || !strings.Contains(err.Error(), "no group namespace; did you mean namespaces?") {
		t.Error(err)
	}
}

func TestNamesOfSeveralPartsTakeThePlural(t *testing.T) {
	var many []string
	check := func(values map[string]environment.Value) {
		for _, v := range values {
			if plural(v.Name) && !slices.Contains(many, v.Name) {
				many = append(many, v.Name)
			}
		}
	}
	for _, values := range environment.SharedValues() {
		check(values)
	}
	for _, kind := range environment.Kinds() {
		r, _ := environment.Lookup(kind)
		for _, s := range r.Parts.Switches {
			check(s.Values)
		}
	}
	slices.Sort(many)
	want := []string{"host's programs", "image's programs", "masked paths", "network namespace and bridge", "published ports with NAT and proxy"}
	if !slices.Equal(many, want) {
		t.Errorf("%q", many)
	}
	for name, want := range map[string]bool{"cgroup limits": true, "limit of CPUs": false, "absence of the masked paths": false, "host's network": false, "virtual machine": false} {
		if plural(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

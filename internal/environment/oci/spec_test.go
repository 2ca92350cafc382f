package oci

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"pgregory.net/rapid"

	"tare/internal/linux/capability"
)

// some are parts of an instance, with a profile that says what it was made from.
func some() bundleInput {
	return bundleInput{name: "a-1", root: "/r", binds: []string{"/i/usr:/usr:ro"}, agent: "/agent", data: "/d", env: []string{"A=b"}, group: "/g",
		kernel: func(s *specs.Spec) (*specs.LinuxSeccomp, error) {
			return &specs.LinuxSeccomp{ListenerPath: strings.Join(s.Process.Capabilities.Bounding, " ")}, nil
		}}
}

func made(t interface{ Fatal(...any) }, o Options) *specs.Spec {
	s, err := spec(&o, some())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leaves are the values of a specification by their paths. Lists of objects are
// told apart by what names the object, since their order means nothing here.
func leaves(t interface{ Fatal(...any) }, s *specs.Spec) map[string]string {
	text, err := json.Marshal(s)
	var tree any
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				walk(path+"."+key, inner)
			}
		case []any:
			for _, inner := range v {
				if object, ok := inner.(map[string]any); ok {
					for _, name := range []string{"destination", "type"} {
						if text, ok := object[name].(string); ok && path != ".linux.resources.devices" {
							walk(path+"["+text+"]", inner)
							break
						}
					}
				}
			}
			whole, _ := json.Marshal(v)
			if path != ".mounts" && path != ".linux.namespaces" {
				found[path] = string(whole)
			}
		default:
			whole, _ := json.Marshal(v)
			found[path] = string(whole)
		}
	}
	walk("", tree)
	return found
}

// its are the parts of the specification that a switch may change, by the
// beginnings of their paths.
var its = map[string][]string{
	"namespaces.mount":  {".linux.namespaces[mount]", ".mounts[/sys/fs/cgroup]"},
	"namespaces.pid":    {".linux.namespaces[pid]", ".mounts[/proc]"},
	"namespaces.ipc":    {".linux.namespaces[ipc]", ".mounts[/dev/mqueue]"},
	"namespaces.uts":    {".linux.namespaces[uts]", ".hostname"},
	"namespaces.cgroup": {".linux.namespaces[cgroup]", ".mounts[/sys/fs/cgroup]"},
	"namespaces.user":   {".linux.namespaces[user]", ".linux.uidMappings", ".linux.gidMappings", ".mounts[/proc]", ".mounts[/sys", ".mounts[/dev/mqueue]"},
	"namespaces.time":   {".linux.namespaces[time]"},
	"cgroup_limits":     {}, // they are the group's
	"devices":           {".linux.resources.devices"},
	// What an overlay or a copy is made of stands elsewhere.
	"root":         {".root.readonly", ".mounts[/tmp]", ".mounts[/run]", ".mounts[/var/tmp]"},
	"data":         {".mounts[/data]"},
	"masked":       {".linux.maskedPaths", ".linux.readonlyPaths"},
	"capabilities": {".process.capabilities", ".linux.seccomp"}, // Docker's profile unlocks calls by capability
	"no_new_privs": {".process.noNewPrivileges"},
	"seccomp":      {".linux.seccomp"},
	"network":      {".linux.namespaces[network]", ".mounts[/sys]"},
	"log":          {}, // it stands outside
}

func TestEachSwitchChangesItsOwnPartOfTheSpecificationAndNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Default()
		for _, s := range Switches {
			s.Set(&o, rapid.SampledFrom(s.Values).Draw(t, s.Key))
		}
		s := rapid.SampledFrom(Switches).Draw(t, "switch")
		before := leaves(t, made(t, o))
		s.Set(&o, rapid.SampledFrom(s.Values).Draw(t, "value"))
		after := leaves(t, made(t, o))
		for _, path := range changed(before, after) {
			if !slices.ContainsFunc(its[s.Key], func(own string) bool { return strings.HasPrefix(path, own) }) {
				t.Fatalf("%s also changes %s: %s, now %s", s.Key, path, before[path], after[path])
			}
		}
	})
}

func changed(a, b map[string]string) (paths []string) {
	for _, from := range []map[string]string{a, b} {
		for path := range from {
			one, before := a[path]
			two, after := b[path]
			if (one != two || before != after) && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func TestEachValueOfASwitchIsAnotherSpecification(t *testing.T) {
	// The group, a process, and what is mounted before the runtime starts.
	elsewhere := map[string]bool{"cgroup_limits": true, "log": true, "root": true}
	for _, s := range Switches {
		if _, known := its[s.Key]; !known {
			t.Errorf("no test says what %s may change", s.Key)
		}
		o := Default()
		least, most := o, o
		s.Set(&least, s.Values[0])
		s.Set(&most, s.Values[len(s.Values)-1])
		if same := cmp.Equal(made(t, least), made(t, most)); same != elsewhere[s.Key] {
			t.Errorf("%s: the specification of %s is that of %s: %t", s.Key, s.Values[0], s.Values[len(s.Values)-1], same)
		}
	}
}

func TestEveryKeyOfTheOptionsThatIsolatesHasASwitch(t *testing.T) {
	neither := []string{"runtime", "runtime_args", "platform"} // what does it, not what is done
	var check func(prefix string, of reflect.Type)
	check = func(prefix string, of reflect.Type) {
		for f := range of.Fields() {
			key := prefix + f.Tag.Get("yaml")
			if f.Type.Kind() == reflect.Struct {
				check(key+".", f.Type)
			} else if _, ok := FindSwitch(key); !ok && !slices.Contains(neither, key) {
				t.Errorf("%s has no switch", key)
			}
		}
	}
	check("", reflect.TypeFor[Options]())
}

func TestASwitchReadsBackWhatItWasSetTo(t *testing.T) {
	for _, s := range Switches {
		if d := Default(); !slices.Contains(s.Values, s.Get(&d)) {
			t.Errorf("%s is %q by default, which is none of %q", s.Key, s.Get(&d), s.Values)
		}
		for _, value := range s.Values {
			o := Default()
			if s.Set(&o, value); s.Get(&o) != value {
				t.Errorf("%s was set to %s and is %s", s.Key, value, s.Get(&o))
			}
		}
	}
	if o := Bare(); o.Validate() != nil {
		t.Errorf("the least isolation: %v", o.Validate())
	}
}

func TestTheSpecificationIsDockersByDefault(t *testing.T) {
	s := made(t, Default())
	var kinds []string
	for _, n := range s.Linux.Namespaces {
		kinds = append(kinds, string(n.Type))
	}
	if want := []string{"pid", "mount", "ipc", "uts", "cgroup", "network"}; !slices.Equal(kinds, want) {
		t.Errorf("namespaces %v, want %v", kinds, want)
	}
	if s.Process.NoNewPrivileges || len(s.Process.Capabilities.Effective) != 14 || s.Linux.Seccomp == nil || len(s.Linux.MaskedPaths) == 0 || s.Linux.CgroupsPath != "/g" {
		t.Errorf("%+v", s.Process)
	}
	if rules := s.Linux.Resources.Devices; len(rules) != 7 || rules[0].Allow {
		t.Errorf("devices %+v", rules)
	}
}

func TestDockersProfileIsForThisKernel(t *testing.T) {
	o := Default()
	p := some()
	p.kernel = filter("default")
	s, err := spec(&o, p)
	if err != nil {
		t.Fatal(err)
	}
	has := func(s *specs.Spec, call string) bool {
		return slices.ContainsFunc(s.Linux.Seccomp.Syscalls, func(c specs.LinuxSyscall) bool {
			return c.Action == specs.ActAllow && slices.Contains(c.Names, call) && len(c.Args) == 0
		})
	}
	if !has(s, "read") || has(s, "mount") || s.Linux.Seccomp.DefaultAction != specs.ActErrno {
		t.Errorf("%+v", s.Linux.Seccomp.DefaultAction)
	}
	o.Capabilities = "all"
	if s, err = spec(&o, p); err != nil || !has(s, "mount") {
		t.Errorf("with all capabilities mount is not allowed: %v", err)
	}
	o.Seccomp = "/absent/profile.json"
	p.kernel = filter(o.Seccomp)
	if _, err = spec(&o, p); err == nil || !strings.Contains(err.Error(), "/absent/profile.json") {
		t.Errorf("an absent profile gives %v", err)
	}
}

func TestOnlyCapabilitiesOfTareAreGranted(t *testing.T) {
	held := []string{"CAP_CHOWN", "CAP_KILL"}
	for option, want := range map[string][]string{
		"default": {"CAP_CHOWN", "CAP_KILL"}, "all": {"CAP_CHOWN", "CAP_KILL"}, "none": {}, "kill, sys_admin,CAP_KILL": {"CAP_KILL"},
	} {
		got, err := CapabilitiesOf(option, held)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", option, got, err, want)
		}
	}
	if set, err := capability.Parse("00000000a80425fb"); err != nil || len(without(set, dockerCapabilities))+len(without(dockerCapabilities, set)) > 0 {
		t.Errorf("Docker's set reads as %v, %v", set, err)
	}
}

func TestOptionsThatCannotWorkAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.Runtime = "" }, "runtime: name"},
		{func(o *Options) { o.Platform = "kvm" }, "platform: only gVisor"},
		{func(o *Options) { o.Runtime, o.Platform = "/opt/sandbox", "kvm" }, ""},
		{func(o *Options) { o.Runtime, o.Platform = "runsc", "xen" }, "choose one of systrap, ptrace, kvm"},
		{func(o *Options) { o.Root = "tmpfs" }, `root: "tmpfs"`},
		{func(o *Options) { o.Network = "bride" }, "bridge, nat, user, pasta, none, host"},
		{func(o *Options) { o.Log = "journald" }, "null, pipe, file, json-file"},
		{func(o *Options) { o.Seccomp = "profile.json" }, "absolute path"},
		{func(o *Options) { o.Capabilities = "chown,fly" }, "CAP_FLY is not a capability"},
		{func(o *Options) { o.Data = "volume" }, "bind, overlay, tmpfs, /dev/..."},
		{func(o *Options) { o.Data, o.Root = "overlay", "folder" }, "data: overlay"},
		{func(o *Options) { o.Namespaces.Mount = false }, "masked: needs a mount namespace"},
		{func(o *Options) { o.Namespaces.Mount, o.Masked, o.Namespaces.User = false, false, true }, "namespaces: user: true needs mount: true"},
	} {
		o := Default()
		c.change(&o)
		if err := o.Validate(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

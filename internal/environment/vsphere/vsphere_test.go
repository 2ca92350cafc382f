package vsphere

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/environment"
	_ "tare/internal/environment/native" // what runs in the guest
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/testing/localhost"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/testing/vspheretest"
	"tare/internal/usage"
)

func TestMain(m *testing.M) {
	localhost.ServeIfAsked()
	testenv.Main(m, nil)
}

func valid() *Options {
	o := defaults()
	o.URL, o.Account, o.Template = "https://vcenter.example.org", "me@vsphere.local", "debian"
	return o
}

func TestOptionsThatCannotWorkAreRefusedWithTheReason(t *testing.T) {
	const secret = "hunter2"
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string // "" means that they are fine
	}{
		{"enough", func(o *Options) {}, ""},
		{"nothing", func(o *Options) { *o = *defaults() }, "url: missing"},
		{"no template", func(o *Options) { o.Template = "" }, "template: missing"},
		{"a password in the URL", func(o *Options) { o.URL = "https://me:" + secret + "@vcenter" }, "url: contains a user or a password"},
		{"a password in what is no URL", func(o *Options) { o.URL = "https://me:" + secret + "@[vcenter" }, "url: not a valid URL"},
		{"another scheme", func(o *Options) { o.URL = "ftp://vcenter" }, `url: "ftp://vcenter" is not of the form https://SERVER`},
		{"nobody", func(o *Options) { o.Account = "" }, "account: missing"},
		{"no password", func(o *Options) { o.PasswordEnv = "" }, "password_env: missing; name the environment variable"},
		{"a password for its variable", func(o *Options) { o.PasswordEnv = secret + " =" }, "password_env: not a valid name"},
		{"two words on certificates", func(o *Options) { o.Insecure, o.CAFile = true, "/ca.pem" }, "insecure: accepts any certificate"},
		{"an unknown mode", func(o *Options) { o.Mode = "copy" }, `mode: "copy" is not known: choose one of linked, clone, restore, start`},
		{"a snapshot for what is taken as it is", func(o *Options) { o.Mode, o.Snapshot = "start", "fresh" }, "snapshot: mode: start uses the VM in its current state"},
		{"a size for what is taken as it is", func(o *Options) { o.Mode, o.CPUs = "start", 2 }, "cpus: mode: start does not change the VM"},
		{"a key that is none", func(o *Options) { o.HostKey = "AAAA" }, `host_key: "AAAA" is not a public key`},
		{"two keys", func(o *Options) { o.HostKey, o.KnownHosts = "AAAA", "/known" }, "host_key: cannot be combined with known_hosts"},
		{"an alias for many", func(o *Options) { o.KeyAlias = "*" }, `key_alias: "*" is not valid in a known_hosts file`},
		{"no time", func(o *Options) { o.StartTimeout = 0 }, "start_timeout: 0s is not positive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := valid()
			c.change(o)
			err := o.Validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("it tells the password: %v", err)
			}
		})
	}
}

func TestAStudysOptionsAreReadFlat(t *testing.T) {
	o := defaults()
	text := `{"url": "https://v", "account": "a", "template": "t", "mode": "clone", "memory": "1GiB", "host_key": "k", "folder": "f"}`
	if err := json.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	if o.URL != "https://v" || o.Template != "t" || o.Mode != "clone" || o.HostKey != "k" || o.Folder != "f" || o.Memory.String() != "1GiB" || o.User != "root" {
		t.Errorf("%+v", o)
	}
}

// simulated are options that lead to a simulator of the test's own.
func simulated(t *testing.T) *Options {
	t.Helper()
	needs.Root(t)
	needs.Program(t, "go", "/usr/sbin/sshd", "ssh-keygen")
	text, err := vspheretest.Fake(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := defaults()
	if err := json.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAServerThatRejectsTheLoginIsReportedWithTheFix(t *testing.T) {
	o := simulated(t)
	wrong := t.TempDir() + "/wrong"
	if err := os.WriteFile(wrong, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		change      func(*Options)
		reason, fix string
	}{
		{"no variable", func(o *Options) { o.PasswordFile, o.PasswordEnv = "", "TARE_NO_SUCH" }, "the environment variable TARE_NO_SUCH", "export TARE_NO_SUCH=..."},
		{"no file", func(o *Options) { o.PasswordFile = "/nowhere" }, "password_file: open /nowhere", "password_file"},
		{"a wrong password", func(o *Options) { o.PasswordFile = wrong }, "logging in to " + o.URL + " as tester", ""},
		{"an unknown certificate", func(o *Options) { o.CAFile = "" }, "certificate", "ca_file"},
		{"nobody there", func(o *Options) { o.URL = "https://127.0.0.1:1" }, "connection refused", ""},
		{"an unknown datacenter", func(o *Options) { o.Datacenter = "Atlantis" }, "datacenter: at " + o.URL, ""},
		{"an unknown template", func(o *Options) { o.Template = "nobody" }, "has no virtual machine nobody", "create the VM"},
		{"a key that is not known", func(o *Options) { o.HostKey, o.KnownHosts = "", "/dev/null" }, "/dev/null has no key of template", "ssh_host_ed25519_key.pub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := *o
			c.change(&changed)
			state, findings := environment.Check(t.Context(), kind, &changed)
			last := findings[len(findings)-1]
			if state != environment.Missing || !strings.Contains(last.Reason, c.reason) || !strings.Contains(last.Fix.String(), c.fix) {
				t.Errorf("%s, %+v", state, last)
			}
			if strings.Contains(last.Reason+last.Fix.String(), vspheretest.Password) {
				t.Errorf("it tells the password: %+v", last)
			}
		})
	}
	state, findings := environment.Check(t.Context(), kind, o)
	if state != environment.Caveat {
		t.Errorf("%s, %+v", state, findings)
	}
	output, _ := json.Marshal(findings)
	if !strings.Contains(string(output), "only against the simulator vcsim") || strings.Contains(string(output), vspheretest.Password) {
		t.Errorf("%s", output)
	}
}

// bench starts instances.
type bench struct {
	options *Options
	image   *image.Image
	owner   *cleanup.Owner
}

func (b *bench) start(t *testing.T, name string) (environment.Instance, error) {
	t.Helper()
	registration, _ := environment.Lookup(kind)
	env, err := registration.New(b.options)
	if err != nil {
		t.Fatal(err)
	}
	var console bytes.Buffer
	i, err := env.Start(t.Context(), environment.Request{Name: name, Owner: b.owner, Image: b.image, Console: &console})
	t.Logf("its console:\n%s", console.String())
	if strings.Contains(console.String(), vspheretest.Password) {
		t.Error("the console tells the password")
	}
	if i != nil {
		t.Cleanup(func() { i.Stop(context.Background()) })
	}
	return i, err
}

func (b *bench) names(t *testing.T) (names []string) {
	t.Helper()
	s := newSphere(*b.options)
	defer s.center.close()
	finder, err := s.center.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := finder.VirtualMachineList(t.Context(), "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, vm := range list {
		names = append(names, vm.Name())
	}
	return names
}

func TestEachModeEndsAsItBegan(t *testing.T) {
	o := simulated(t)
	testenv.NeedsAgent(t)
	b := &bench{image: testenv.Image(t)}
	for _, mode := range []string{hypervisor.Linked, hypervisor.Clone, hypervisor.Restore, hypervisor.Start} {
		t.Run(mode, func(t *testing.T) {
			changed := *o
			changed.Mode = mode
			if mode == hypervisor.Start {
				changed.Snapshot = ""
			}
			b.options, b.owner = &changed, testenv.Owner(t, t.TempDir())
			i, err := b.start(t, "vm")
			if err != nil {
				t.Fatal(err)
			}
			own := mode == hypervisor.Linked || mode == hypervisor.Clone
			if names := b.names(t); len(names) > 1 != own {
				t.Errorf("mode %s has %q run", mode, names)
			}
			if !own {
				if _, err := b.start(t, "second"); err == nil || !strings.Contains(err.Error(), "mode: "+mode+" runs one instance at a time") {
					t.Errorf("a second instance of the template: %v", err)
				}
			}
			used := environment.Meter(i, usage.Options{}).Stop()
			if !strings.Contains(strings.Join(used.Notes, "\n"), "the resource use of ESXi for the VM is not included") {
				t.Errorf("its usage has the notes %q", used.Notes)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if names := b.names(t); len(names) != 1 || names[0] != "template" {
				t.Errorf("left are %q", names)
			}
			s := newSphere(changed)
			defer s.center.close()
			if state, err := s.State(t.Context(), "template"); err != nil || state.On || len(state.Labels) > 0 {
				t.Errorf("the template is %+v, %v", state, err)
			}
		})
	}
}

func TestAGuestWithAnotherKeyIsNotTrusted(t *testing.T) {
	o := simulated(t)
	testenv.NeedsAgent(t)
	b := &bench{options: o, image: testenv.Image(t), owner: testenv.Owner(t, t.TempDir())}
	o.HostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl stranger"
	_, err := b.start(t, "vm")
	if err == nil || !strings.Contains(err.Error(), "connecting to its guest over SSH") || !strings.Contains(err.Error(), "host key alias template") {
		t.Errorf("%v", err)
	}
	if names := b.names(t); len(names) != 1 {
		t.Errorf("left are %q", names)
	}
}

func TestAGuestWithoutAnSSHServerEndsWithItsTime(t *testing.T) {
	o := simulated(t)
	testenv.NeedsAgent(t)
	b := &bench{options: o, image: testenv.Image(t), owner: testenv.Owner(t, t.TempDir())}
	o.Port, o.StartTimeout = 23, 3*time.Second
	_, err := b.start(t, "vm")
	if err == nil || !strings.Contains(err.Error(), "after start_timeout: 3s") {
		t.Errorf("%v", err)
	}
	if names := b.names(t); len(names) != 1 {
		t.Errorf("left are %q", names)
	}
}

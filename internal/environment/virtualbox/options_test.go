package virtualbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment/support/hypervisor"
)

func TestOptionsThatCannotWorkAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string // "" means that they are fine
	}{
		{"a template", func(o *Options) {}, ""},
		{"no template", func(o *Options) { o.Template = "" }, "template: missing"},
		{"a flag for a template", func(o *Options) { o.Template = "--help" }, `template: "--help" is not a valid name`},
		{"a flag for a snapshot", func(o *Options) { o.Snapshot = "--help" }, `snapshot: "--help" is not a valid name`},
		{"an unknown network", func(o *Options) { o.Network = "intnet" }, `network: "intnet" is not known: choose one of nat, hostonly, bridged`},
		{"a network without its interface", func(o *Options) { o.Network = "hostonly" }, "adapter: network: hostonly needs an interface of the host"},
		{"a network with its interface", func(o *Options) { o.Network, o.Adapter = "bridged", "eth0" }, ""},
		{"an interface for nothing", func(o *Options) { o.Adapter = "eth0" }, "adapter: not used with network: nat"},
		{"a folder from here", func(o *Options) { o.Folder = "vms" }, `folder: "vms" is not an absolute path`},
		{"a folder for no clone", func(o *Options) { o.Folder, o.Mode = "/vms", "restore" }, "folder: not used with mode: restore"},
		{"nobody's VMs", func(o *Options) { o.RunAs = "no such user" }, "run_as: "},
		{"no program", func(o *Options) { o.Program = "" }, "program: empty"},
		{"too little memory", func(o *Options) { o.Memory = 1 }, "memory: 1B is too little"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := defaults()
			o.Template = "debian"
			c.change(o)
			if err := o.Validate(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAGuestOnANetworkIsReachedAtTheAddressItReports(t *testing.T) {
	o, c := fake(t)
	o.Network, o.Adapter = hostonly, "lo"
	c.must(t, "modifyvm", "template", "--nic1", "hostonly", "--hostonlyadapter1", "lo")
	b := newBox(*o)
	v := hypervisor.VM{Name: "template"}
	reach, err := b.PowerOn(t.Context(), v, 2222)
	if err != nil {
		t.Fatal(err)
	}
	tell(t, filepath.Dir(o.Program), "192.168.56.101")
	if at, err := reach(t.Context()); err != nil || at != "192.168.56.101:2222" {
		t.Errorf("%q, %v", at, err)
	}
	network, err := (&machines{b}).NewNetwork(t.Context(), nil, "")
	if err != nil || network.Host() != "127.0.0.1" {
		t.Errorf("%v, %v", network, err)
	}
	if err := b.PowerOff(t.Context(), v); err != nil {
		t.Error(err)
	}
	o.Network = nat
	if _, err := newBox(*o).PowerOn(t.Context(), v, 22); err == nil || !strings.Contains(err.Error(), `has nic1 "hostonly", and the study says network: nat`) {
		t.Errorf("%v", err)
	}
}

// tell sets the address that the fake's only VM reports, as the Guest Additions do.
func tell(t *testing.T, folder, address string) {
	t.Helper()
	file := filepath.Join(folder, "state.json")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), `"Address": ""`, `"Address": "`+address+`"`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

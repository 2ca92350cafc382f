package oci

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tare/internal/testing/testenv"
)

func TestThePartsOfGvisorAreItsFlags(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string // of the flags after --ignore-cgroups
	}{
		{func(*Options) {}, "--overlay2=root:dir=/f --platform=systrap --network=sandbox"},
		{func(o *Options) { o.Network = "host" }, "--overlay2=root:dir=/f --platform=systrap --network=host"},
		{func(o *Options) { o.Gvisor.Netstack = false }, "--overlay2=root:dir=/f --platform=systrap --network=host"},
		{func(o *Options) { o.Gvisor.Overlay = false }, "--overlay2=none --platform=systrap --network=sandbox"},
		{func(o *Options) { o.Root = "folder" }, "--overlay2=none --platform=systrap --network=sandbox"},
		{func(o *Options) { o.Gvisor.Directfs, o.Gvisor.Shared = false, false },
			"--overlay2=root:dir=/f --platform=systrap --network=sandbox --directfs=false --file-access-mounts=exclusive"},
		{func(o *Options) { o.RuntimeArgs = []string{"--net-raw"} }, "--overlay2=root:dir=/f --platform=systrap --network=sandbox --net-raw"},
	} {
		o := Default()
		o.Runtime = "runsc"
		c.change(&o)
		words := program{"runsc", &o}.global("/f")
		if got := strings.Join(words[slices.Index(words, "--ignore-cgroups")+1:], " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		o.Runtime = "runc"
		if err := o.Validate(); (err != nil) != (o.Gvisor != Default().Gvisor) || err != nil && !strings.HasPrefix(err.Error(), "gvisor: only gVisor") {
			t.Errorf("runc with %+v: %v", o.Gvisor, err)
		}
	}
}

// What is written to the root lies in the kernel's overlay where gVisor has none
// of its own, and else in a file that only gVisor reads.
func TestTheOverlayIsTheKernelsWhereGvisorHasNone(t *testing.T) {
	for options, kernels := range map[string]bool{
		`{"runtime": "runsc"}`:                               false,
		`{"runtime": "runsc", "gvisor": {"overlay": false}}`: true,
	} {
		i := at(t, options)
		testenv.Run(t, i, "echo new >/etc/new && cat /etc/new")
		if _, err := os.Stat(i.(*instance).directory + "/upper/etc/new"); (err == nil) != kernels {
			t.Errorf("%s: in the kernel's overlay: %v", options, err)
		}
	}
}

// Without its own network stack gVisor shows the interfaces of the namespace that
// it is in, and reaches what they reach.
func TestTheNetworkIsReachedWithEitherStack(t *testing.T) {
	for _, options := range []string{`{"runtime": "runsc"}`, `{"runtime": "runsc", "gvisor": {"netstack": false}}`} {
		i := at(t, options)
		if got := testenv.Run(t, i, "cat /proc/net/dev"); !strings.Contains(got, "eth0") {
			t.Errorf("%s: the interfaces are %s", options, got)
		}
		if own := strings.HasPrefix(i.Paths().Network, "gVisor's network stack"); own != !strings.Contains(options, "false") {
			t.Errorf("%s: the path is %q", options, i.Paths().Network)
		}
	}
}

// Its own ones begin at 16000: a closed connection would keep a server's port for a minute.
func TestConnectionsInGvisorTakeThePortsThatLinuxGivesThem(t *testing.T) {
	i := at(t, `{"runtime": "runsc", "network": "none"}`)
	if got := strings.Fields(testenv.Run(t, i, "cat /proc/sys/net/ipv4/ip_local_port_range")); !slices.Equal(got, []string{"32768", "60999"}) {
		t.Errorf("they are %q", got)
	}
	if notes := strings.Join(i.Notes(), "\n"); strings.Contains(notes, "any port") {
		t.Error(notes)
	}
}

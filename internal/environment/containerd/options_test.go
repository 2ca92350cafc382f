package containerd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/pkg/identifiers"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"pgregory.net/rapid"

	"tare/internal/environment"
	"tare/internal/environment/oci"
)

func defaults(t *testing.T) (environment.Registration, *Options) {
	t.Helper()
	t.Setenv("CONTAINERD_ADDRESS", "")
	r, known := environment.Lookup("containerd")
	if !known {
		t.Fatal("the kind is not registered")
	}
	return r, r.Options().(*Options)
}

func TestOptionsThatCannotWorkAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string // "" means that they are fine
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.Binary = "crun" }, ""},
		{func(o *Options) { o.Runtime = "io.containerd.kata.v2" }, ""},
		{func(o *Options) { o.Runtime = "io.containerd.runsc.v1" }, "runtime: gVisor's shim is not supported: use kind: gvisor"},
		{func(o *Options) { o.Data = "/dev/sdz1" }, ""},
		{func(o *Options) { o.Address = "tcp://10.0.0.1:2375" }, "address: \"tcp://10.0.0.1:2375\" is not the path of a socket"},
		{func(o *Options) { o.Runtime = "runc" }, "runtime: \"runc\" is not the name of a runtime of containerd"},
		{func(o *Options) { o.Runtime = "/usr/bin/crun.v2" }, "is not the name of a runtime"},
		{func(o *Options) { o.Runtime = "io.containerd.runc." }, "is not the name of a runtime"},
		{func(o *Options) { o.Runtime, o.Binary = "io.containerd.kata.v2", "runc" }, "binary: it is the program that the shim of io.containerd.runc.v2 executes"},
		{func(o *Options) { o.Network = "user" }, "choose one of bridge, nat, none, host"},
		{func(o *Options) { o.Seccomp = "off" }, "seccomp: \"off\" is neither"},
		{func(o *Options) { o.Data = "volume" }, "choose one of bind, overlay, tmpfs, /dev/..."},
	} {
		registration, o := defaults(t)
		c.change(o)
		err := o.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", o, err, c.want)
		}
		if _, made := registration.New(o); (made == nil) != (err == nil) {
			t.Errorf("New says %v where Validate says %v", made, err)
		}
	}
}

func TestTheShimHasTheNameThatContainerdLooksFor(t *testing.T) {
	for runtime, want := range map[string]string{
		"io.containerd.runc.v2": "containerd-shim-runc-v2", "io.containerd.runsc.v1": "containerd-shim-runsc-v1", "io.containerd.kata-qemu.v2": "containerd-shim-kata-qemu-v2",
	} {
		if got := oci.Shim(runtime); got != want {
			t.Errorf("%s is served by %q, want %q", runtime, got, want)
		}
	}
}

// Names of instances are letters, digits and dashes in any order.
func TestEveryInstanceHasAnIdentifierOfItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9-]{0,90}`)
		one, two := name.Draw(t, "one"), name.Draw(t, "two")
		first, second := identifier("abcdefghijkl", "tare-abcdefghijkl-"+one), identifier("abcdefghijkl", "tare-abcdefghijkl-"+two)
		if err := identifiers.Validate(first); err != nil || (first == second) != (one == two) || !strings.HasPrefix(first, "tare-abcdefghijkl-") {
			t.Fatalf("%q is %q (%v), and %q is %q", one, first, err, two, second)
		}
	})
}

func TestAMachineWithoutContainerdIsToldWhatIsMissing(t *testing.T) {
	_, o := defaults(t)
	o.Address = filepath.Join(t.TempDir(), "none.sock")
	t.Setenv("PATH", t.TempDir())
	f := o.answers(t.Context())
	if f.State != environment.Missing || !strings.Contains(f.Reason, o.Address) || f.Fix.String() != "apt-get install -y containerd" || !f.Fix.Service {
		t.Errorf("%+v", f)
	}
}

// Kata Containers' guest has the limits that the configuration says, and no others.
func TestTheLimitsForAGuestAreInItsConfiguration(t *testing.T) {
	var r specs.LinuxResources
	if limit(&r, environment.Limits{}); r.CPU != nil || r.Memory != nil {
		t.Errorf("without limits: %+v", r)
	}
	limit(&r, environment.Limits{CPUs: 1.5, Memory: 64 << 20})
	if *r.CPU.Quota != 150_000 || *r.CPU.Period != 100_000 || *r.Memory.Limit != 64<<20 || r.CPU.Cpus != "" {
		t.Errorf("%+v %+v", r.CPU, r.Memory)
	}
	for _, cpus := range []float64{0, 1.5} {
		var r specs.LinuxResources
		limit(&r, environment.Limits{CPUs: cpus, Cores: []int{1, 2, 5}})
		if r.CPU == nil || r.CPU.Cpus != "1-2,5" || (r.CPU.Quota != nil) != (cpus > 0) {
			t.Errorf("%v CPUs and cores: %+v", cpus, r.CPU)
		}
	}
}

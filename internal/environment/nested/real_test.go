package nested

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	_ "tare/internal/environment/cloudhypervisor"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/firecracker"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/image/kernel"
	"tare/internal/linux/kvm"
	"tare/internal/testing/localhost"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	localhost.ServeIfAsked()
	goleak.VerifyTestMain(m, testenv.EngineConnections()...)
}

type silent struct{ io.Writer }

func (silent) Close() error { return nil }

// ofGuests are the options of kinds whose instances are guests in the machine, whose KVM
// is emulated, and the variable that names the program which no distribution has.
var ofGuests = map[string]struct{ options, variable string }{
	"qemu":             {`{"accel": "kvm", "data": "64MiB", "start_timeout": 600000000000}`, ""},
	"firecracker":      {`{"data": "64MiB", "start_timeout": 600000000000}`, "FIRECRACKER"},
	"cloud-hypervisor": {`{"data": "64MiB", "start_timeout": 600000000000}`, "CLOUD_HYPERVISOR"},
}

// inMachine is a kind in a virtual machine.
func inMachine(t *testing.T, o *cleanup.Owner, kind string) Nesting {
	t.Helper()
	outer, _ := environment.Lookup("qemu")
	options := outer.Options()
	if err := json.Unmarshal([]byte(`{"accel": "tcg"}`), options); err != nil {
		t.Fatal(err)
	}
	testenv.NeedsKind(t, "qemu", options)
	vm, err := outer.New(options)
	if err != nil {
		t.Fatal(err)
	}
	registration, known := environment.Lookup(kind)
	if !known {
		t.Skipf("needs the kind %s", kind)
	}
	inner := registration.Options()
	if guest, is := ofGuests[kind]; is {
		text := guest.options
		if program := os.Getenv(guest.variable); guest.variable != "" && program != "" {
			text = fmt.Sprintf(`{"program": %q, %s`, program, text[1:])
		}
		if err := json.Unmarshal([]byte(text), inner); err != nil {
			t.Fatal(err)
		}
	}
	n := Nesting{
		Outer: "vm", Environment: vm, Limits: environment.Limits{CPUs: 2, Memory: 768 * quantity.MiB, Cores: []int{0, 1}},
		Name: "nested-" + kind, Kind: kind, Owner: o, Console: func(string) (io.WriteCloser, error) { return silent{io.Discard}, nil },
	}
	if n.Options, err = json.Marshal(inner); err != nil {
		t.Fatal(err)
	}
	if kind == "native" {
		// It needs no package: it takes the machine of oci, and no further image is made.
		oci, _ := environment.Lookup("oci")
		needed, err := oci.Needs(oci.Options())
		if err != nil {
			t.Skip("needs what oci takes in a machine: " + err.Error())
		}
		n.Needs.Packages = needed.Packages
	} else if n.Needs, err = registration.Needs(inner); err != nil {
		t.Skip("needs what the kind takes in a machine: " + err.Error())
	}
	return n
}

// tiny is the image of all instances here. An engine in the machine unpacks it under
// emulation.
func tiny(t *testing.T) *image.Image {
	t.Helper()
	return testenv.Tiny(t, "df", "stat", "tail", "test", "uname")
}

// start starts an instance of a kind in a virtual machine with a system.
func start(t *testing.T, o *cleanup.Owner, kind string, system image.System) (environment.Instance, environment.Environment) {
	t.Helper()
	measured := tiny(t)
	n := inMachine(t, o, kind)
	limits := environment.Limits{CPUs: 1, Memory: 256 * quantity.MiB, Cores: []int{0, 1}}
	if n.System = system; system != (image.System{}) || n.Needs.Guests {
		// One CPU: with two, Linux has crashed while it changed its own code (docs/how-to/nesting.md).
		n.Limits.CPUs, n.Limits.Cores, limits.Cores = 1, []int{0}, []int{0}
	}
	e := New(n)
	if err := e.Prepare(t.Context(), measured, func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	var console bytes.Buffer
	i, err := e.Start(t.Context(), environment.Request{
		Name: "nested", Owner: o, Image: measured, Console: &console, Limits: limits,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, console.String())
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the machine's console:\n%s", console.String())
		}
	})
	t.Logf("label %s, phases %v, paths %+v, notes %q, versions %v", e.Label(), i.Phases(), i.Paths(), i.Notes(), e.Versions(t.Context()))
	return i, e
}

func TestWhatIsStartedInAMachineIsContainedThereAndItsCostIsTheWholeMachines(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, c := range []struct{ kind, contained string }{
		{"native", "test -d /data"},
		{"oci", `test "$(stat -f -c %T /)" = overlayfs`},
		{"docker", `test "$(stat -f -c %T /)" = overlayfs && test -d /sys/class/net/eth0`},
	} {
		t.Run(c.kind, func(t *testing.T) {
			switch c.kind {
			case "oci":
				needs.LongForm(t, "another start of what the suite of conformance starts in a machine")
			case "native":
				needs.LongForm(t, "another start of what runs in a machine with the kernel that was asked for")
			}
			o := testenv.Owner(t, t.TempDir())
			i, _ := start(t, o, c.kind, image.System{})
			if kernel, mine := testenv.Run(t, i, "uname -r"), readFile(t, "/proc/sys/kernel/osrelease"); kernel == mine {
				t.Errorf("it runs on the host's kernel %s", kernel)
			}
			testenv.Run(t, i, c.contained+" && test $(tail -n 1 /proc/sys/kernel/panic_on_oops) = 1")
			if disk := testenv.Run(t, i, "df --output=source /data | tail -n 1"); disk != "/dev/vdb" {
				t.Errorf("/data is on %s, not on the machine's data disk", disk)
			}
			if groups := i.Footprint().Cgroups; len(groups) != 1 || !strings.Contains(groups[0], o.ID()) {
				t.Errorf("its cost is read from %v", groups)
			}
			var phases []string
			for _, p := range i.Phases() {
				phases = append(phases, p.Name)
			}
			for _, want := range []string{environment.PreparePhase, "vm kernel", c.kind + " agent"} {
				if !slices.Contains(phases, want) {
					t.Errorf("the phases are %v, without %s", phases, want)
				}
			}
			if paths := i.Paths(); !strings.Contains(paths.Root, " in vm, then ") {
				t.Errorf("its root is %q", paths.Root)
			}
		})
	}
}

// Two services of one application, as on one container host.
func TestInstancesThatAreBesideEachOtherShareAMachineAndItsNetwork(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	o := testenv.Owner(t, t.TempDir())
	n := inMachine(t, o, "oci")
	n.OneMachine = true
	e := New(n)
	if err := e.Prepare(t.Context(), tiny(t), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	network, err := e.NewNetwork(t.Context(), o, "between")
	if err != nil {
		t.Fatal(err)
	}
	var all [3]environment.Instance
	crash.Each(len(all), len(all), func(k int) {
		r := environment.Request{
			Name: fmt.Sprintf("i%d", k), Owner: o, Image: tiny(t), Console: io.Discard, Network: network, Beside: "i0",
			Limits: environment.Limits{CPUs: 1, Memory: 256 * quantity.MiB},
		}
		if k == 2 {
			r.Beside = "i2"
		}
		i, err := e.Start(t.Context(), r)
		if err != nil {
			t.Error(err)
			return
		}
		all[k] = i
		t.Cleanup(func() {
			if err := i.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	})
	if t.Failed() {
		return
	}
	boot := func(i environment.Instance) string {
		return testenv.Run(t, i, "tail -n 1 /proc/sys/kernel/random/boot_id")
	}
	if boot(all[0]) != boot(all[1]) || boot(all[0]) == boot(all[2]) {
		t.Errorf("the machines are %s, %s, %s", boot(all[0]), boot(all[1]), boot(all[2]))
	}
	if a, b := all[0].Address(), all[1].Address(); a == "" || a == b {
		t.Errorf("the addresses in one machine are %q and %q", a, b)
	}
	if m := all[0].Details().Machine; m != "i0" || all[1].Details().Machine != m || all[2].Details().Machine == m {
		t.Errorf("they are metered in %q, %q and %q", m, all[1].Details().Machine, all[2].Details().Machine)
	}
	if path := network.Path(); !strings.HasSuffix(path, " on vm") {
		t.Errorf("the path between them is %q", path)
	}
	t.Log(network.Path(), all[0].Address(), all[1].Address())
	if err := all[0].Stop(t.Context()); err != nil {
		t.Error(err)
	}
	boot(all[1]) // it runs on
}

// The machine's processor is emulated with its virtualization, so that its KVM works.
func TestAGuestUnderTheKVMOfAMachineRunsTheSameKernelThere(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for kind, guest := range ofGuests {
		t.Run(kind, func(t *testing.T) {
			if guest.variable != "" {
				if _, err := exec.LookPath(cmp.Or(os.Getenv(guest.variable), kind)); err != nil {
					t.Skipf("needs the program %s, or its path in %s: %v", kind, guest.variable, err)
				}
			}
			i, e := start(t, testenv.Owner(t, t.TempDir()), kind, image.System{})
			if label := e.Label(); label != "kvm in tcg" {
				t.Errorf("its label is %q", label)
			}
			if kernel, versions := testenv.Run(t, i, "uname -r"), e.Versions(t.Context()); !strings.HasPrefix(versions["guest kernel"], kernel+" (") {
				t.Errorf("it runs on the kernel %s, of %v", kernel, versions)
			}
			var phases []string
			for _, p := range i.Phases() {
				phases = append(phases, p.Name)
			}
			for _, want := range []string{"vm kernel", kind + " kernel"} {
				if !slices.Contains(phases, want) {
					t.Errorf("the phases are %v, without %s", phases, want)
				}
			}
			testenv.Run(t, i, "test -d /data && tail -n 1 /proc/cpuinfo")
		})
	}
}

func TestAMachineHasTheReleaseAndTheKernelThatAreAskedFor(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	release := "trixie"
	if strings.Contains(readFile(t, "/etc/os-release"), "ID=ubuntu") {
		release = "noble"
	}
	for _, c := range []struct {
		kind   string
		system image.System
		cloud  bool // Debian's and Ubuntu's kernels for all machines have other names
	}{
		{"oci", image.System{Suite: release, Kernel: kernel.Cloud}, true},
		{"native", image.System{Kernel: kernel.Stock}, false},
	} {
		t.Run(c.kind+" in "+c.system.String(), func(t *testing.T) {
			i, e := start(t, testenv.Owner(t, t.TempDir()), c.kind, c.system)
			kernel, versions := testenv.Run(t, i, "uname -r"), e.Versions(t.Context())
			if !strings.HasPrefix(versions["guest kernel"], kernel+" (") {
				t.Errorf("it runs on the kernel %s, and the machine's is said to be %s", kernel, versions["guest kernel"])
			}
			if release == "trixie" && strings.Contains(kernel, "-cloud-") != c.cloud {
				t.Errorf("%s has the kernel %s", c.system, kernel)
			}
			system := strings.ToLower(i.Details().Facts["machine.system"])
			if system == "" || system != strings.ToLower(versions["system"]) || c.system.Suite == "trixie" && !strings.Contains(system, "trixie") {
				t.Errorf("the machine's system is %q, of %v", system, versions)
			}
		})
	}
}

func TestAServiceThatEndsIsNotWaitedFor(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	image, n := tiny(t), inMachine(t, testenv.Owner(t, t.TempDir()), "native")
	n.Needs.Services = []environment.Service{{Argv: []string{"sh", "-c", "echo there is no directory; exit 3"}, Ready: agent.Probe{Exec: []string{"false"}}}}
	err := New(n).Prepare(t.Context(), image, nil)
	if err == nil {
		t.Fatal("a machine without its service is reported as ready")
	}
	for _, words := range []string{"waiting in vm until the service that native needs is ready", "exit status 3", "there is no directory"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q is missing in: %v", words, err)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

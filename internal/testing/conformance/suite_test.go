// Package conformance is the test suite that every kind of environment passes: the
// contract of Environment and Instance, checked with real instances. A new kind adds one
// line to the table below.
//
// It must not know how a kind works: it uses the interfaces only.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"tare/internal/environment"
	"tare/internal/environment/support/console"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/testing/kubevirttest"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/usage"

	_ "tare/internal/environment/bubblewrap"
	_ "tare/internal/environment/cloudhypervisor"
	_ "tare/internal/environment/containerd"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/firecracker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/kubernetes"
	_ "tare/internal/environment/machine"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
	_ "tare/internal/environment/virtualbox"
	_ "tare/internal/environment/vsphere"
)

// providers are all ways of running an image, with the options that a study
// would write.
var providers = []provider{
	{"native", "native", `{}`, nil},
	{"docker", "docker", `{}`, nil},
	{"docker host network", "docker", `{"network": "host", "seccomp": "unconfined", "data": "volume"}`, nil},
	{"docker log", "docker", `{"network": "none", "log": "json-file", "data": "overlay"}`, nil},
	{"podman", "podman", `{}`, nil},
	{"containerd", "containerd", `{}`, nil},
	{"containerd host network", "containerd", `{"network": "host", "seccomp": "unconfined", "data": "overlay"}`, nil},
	{"gvisor under docker", "gvisor", `{"engine": "docker"}`, nil},
	{"gvisor direct", "gvisor", `{"engine": "direct"}`, nil},
	{"gvisor direct ptrace", "gvisor", `{"engine": "direct", "platform": "ptrace", "network": "host", "data": "overlay"}`, nil},
	{"oci runc", "oci", `{}`, nil},
	{"oci crun", "oci", `{"runtime": "crun", "network": "nat", "log": "json-file"}`, nil},
	{"oci runsc", "oci", `{"runtime": "runsc"}`, nil},
	{"oci runc bare", "oci", `{"namespaces": {"pid": false, "mount": false, "ipc": false, "uts": false, "cgroup": false}, "devices": false,
		"masked": false, "seccomp": "unconfined", "capabilities": "all", "root": "folder", "network": "host"}`, nil},
	{"bubblewrap", "bubblewrap", `{}`, nil},
	{"qemu q35", "qemu", `{"machine": "q35", "accel": "tcg", "data": "64MiB"}`, nil},
	{"qemu microvm", "qemu", `{"machine": "microvm", "accel": "tcg", "data": "64MiB"}`, nil},
	{"oci in qemu", "oci in qemu", "", inHome},
	{"machine over ssh", "machine", "", overSSH},
	{"kubernetes runc", "kubernetes", "", inPods(`{"runtime_class": "runc"}`)},
	{"kubernetes gvisor", "kubernetes", "", inPods(`{"runtime_class": "gvisor"}`)},
	{"kubernetes kubevirt (double)", "kubernetes", "", kubeVirt},
	{"virtualbox (double)", "virtualbox", "", virtualBox},
	{"vsphere (vcsim)", "vsphere", "", vSphere},
	{"firecracker", "firecracker", "", realVMM("FIRECRACKER", "firecracker", "boot")},
	{"firecracker snapshot", "firecracker", "", realVMM("FIRECRACKER", "firecracker", "snapshot")},
	{"cloud-hypervisor", "cloud-hypervisor", "", realVMM("CLOUD_HYPERVISOR", "cloud-hypervisor", "boot")},
	{"cloud-hypervisor snapshot", "cloud-hypervisor", "", realVMM("CLOUD_HYPERVISOR", "cloud-hypervisor", "snapshot")},
}

// onMachine are those of the machine of make test-machine, whose KVM works and whose
// ordinary user has engines.
var onMachine = []provider{
	{"native", "native", `{}`, nil},
	{"native without root", "native", `{}`, nil},
	{"docker", "docker", `{}`, nil},
	{"docker rootless", "docker", `{"socket": "unix:///run/user/1000/docker.sock"}`, nil},
	{"podman", "podman", `{}`, nil},
	{"podman rootless", "podman", `{"socket": "unix:///run/user/1000/podman/podman.sock"}`, nil},
	{"oci runc", "oci", `{}`, nil},
	{"oci crun", "oci", `{"runtime": "crun", "network": "nat", "log": "json-file"}`, nil},
	{"containerd", "containerd", `{}`, nil},
	{"bubblewrap", "bubblewrap", `{}`, nil},
	{"gvisor under docker", "gvisor", `{"engine": "docker"}`, nil},
	{"gvisor direct systrap", "gvisor", `{"engine": "direct", "platform": "systrap"}`, nil},
	{"gvisor direct kvm", "gvisor", `{"engine": "direct", "platform": "kvm"}`, nil},
	{"qemu q35", "qemu", `{"machine": "q35", "accel": "kvm", "data": "64MiB"}`, nil},
	{"qemu microvm", "qemu", `{"machine": "microvm", "accel": "kvm", "data": "64MiB"}`, nil},
	{"firecracker", "firecracker", "", realVMM("FIRECRACKER", "firecracker", "boot")},
	{"firecracker snapshot", "firecracker", "", realVMM("FIRECRACKER", "firecracker", "snapshot")},
	{"cloud-hypervisor", "cloud-hypervisor", "", realVMM("CLOUD_HYPERVISOR", "cloud-hypervisor", "boot")},
	{"cloud-hypervisor snapshot", "cloud-hypervisor", "", realVMM("CLOUD_HYPERVISOR", "cloud-hypervisor", "snapshot")},
	{"docker kata", "docker", `{"runtime": "io.containerd.kata.v2"}`, nil},
	{"containerd kata", "containerd", `{"runtime": "io.containerd.kata.v2"}`, nil},
}

// rootlessUser has the rootless engines of the machine.
const rootlessUser = 1000

// rootless says whether an ordinary user's engine has the instances.
func (s *scene) rootless() bool { return strings.HasSuffix(s.name, "rootless") }

// withoutRoot is a provider whose tests an ordinary user runs.
const withoutRoot = "native without root"

func init() {
	if os.Getenv("TARE_TEST_MACHINE") != "" {
		providers = onMachine
	}
}

// cases are what each must do. Those above the gap share one instance; a start takes longer
// than most of what is asked of an instance.
var cases = []aCase{
	{"commands", commands},
	{"stream", outputComesAsItIsPrinted},
	{"signal", signalsArrive},
	{"files", filesArriveWhole},
	{"odd names", oddNamesArriveAsTheyAre},
	{"huge output", hugeOutputArrivesWhole},
	{"no output", silenceIsNoError},
	{"clock", theClockRunsAsTheHosts},
	{"cpu counted", theCostIsSeenFromOutside},
	{"same bytes", theBytesAreTheSameEverywhere},
	{"loopback", aServerIsReachedOnItsLoopback},
	{"other users", noOtherUserOfTheHostComesIn},
	{"input", theInputIsTheSameEverywhere},
	{"limit ignored", aLimitThatDoesNotHoldIsFound},
	{"wrong names", aWrongNameIsRefused},

	{"start and stop", startsAndLeavesNothing},
	{"mounts", directoriesOfThisMachineAreMounted},
	{"limits", limitsTakeHold},
	{"process limit", noMoreProcessesThanAsked},
	{"io limit", theDiskIsThrottled},
	{"two at once", twoAtOnce},
	{"cancel", aCancelledStartLeavesNothing},
	{"killed", aDeathIsNoticed},
	{"tare killed", whatAKilledTareLeavesIsSwept},
	{"frozen", aFrozenInstanceDoesNothingAndIsStopped},
	{"frozen, tare killed", whatAKilledTareLeavesFrozenIsSwept},
	{"network", twoReachEachOther},
}

// ofManyStarts are cases that say of a nested environment what they say of the one inside,
// and of most forms of a kind what they say of the first.
var ofManyStarts = []string{"io limit", "process limit", "two at once", "cancel"}

// ofTheMachine are cases that say something of the process of an emulated machine, of its
// cgroup and of its network, which are the same in all forms of the machine.
var ofTheMachine = []string{"killed", "tare killed", "frozen", "frozen, tare killed"}

type provider struct {
	name, kind, options string
	// setup makes what the provider needs of this machine (a double, a sshd) in
	// a home, once, and returns the options that lead to it; nil where the
	// options above are all. A process that is started to be killed does it too,
	// in the same home.
	setup func(home string) (options string, err error)
}

// decode gives the provider's options as a study would.
func (p provider) decode(home string) (any, error) {
	text := p.options
	if p.setup != nil {
		var err error
		if text, err = p.setup(home); err != nil {
			return nil, fmt.Errorf("setting up %s: %w", p.name, err)
		}
	}
	registration, ok := environment.Lookup(p.kind)
	if !ok {
		return nil, fmt.Errorf("the kind %s is not registered", p.kind)
	}
	options := registration.Options()
	if err := json.Unmarshal([]byte(text), options); err != nil {
		return nil, fmt.Errorf("the options of %s: %w", p.name, err)
	}
	return options, nil
}

type aCase struct {
	name string
	run  func(*testing.T, *scene)
}

// scene is a prepared environment with the owner of what a case starts.
type scene struct {
	provider
	env    environment.Environment
	image  *image.Image
	home   string
	owner  *cleanup.Owner
	shared environment.Instance // of an owner of its own
	took   time.Duration        // its start
	first  *inventory           // of the first provider
}

func TestEveryProviderDoesWhatAnInstancePromises(t *testing.T) {
	rows, first := map[string][]string{}, &inventory{}
	for n, p := range providers {
		another := slices.ContainsFunc(providers[:n], func(other provider) bool { return other.kind == p.kind })
		t.Run(p.name, func(t *testing.T) {
			rows[p.name] = slices.Repeat([]string{"-"}, len(cases))
			s := p.prepare(t)
			s.first = first
			for n, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					if (s.nested() || another) && slices.Contains(ofManyStarts, c.name) || another && s.emulated() && slices.Contains(ofTheMachine, c.name) {
						needs.LongForm(t, "many starts, of another form of a kind or of a machine under emulation")
					}
					began := time.Now()
					t.Cleanup(func() { rows[p.name][n] = outcome(t, time.Since(began)) })
					c.run(t, s.own(t))
				})
			}
		})
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	ran := slices.DeleteFunc(slices.Clone(providers), func(p provider) bool { return rows[p.name] == nil })
	for _, p := range ran {
		fmt.Fprintf(w, "\t%s", p.name)
	}
	for n, c := range cases {
		fmt.Fprintf(w, "\n%s", c.name)
		for _, p := range ran {
			fmt.Fprintf(w, "\t%s", rows[p.name][n])
		}
	}
	w.Flush()
	t.Logf("seconds of each case; -: the provider does not work here\n%s", table.String())
}

func outcome(t *testing.T, took time.Duration) string {
	switch {
	case t.Failed():
		return "FAIL"
	case t.Skipped():
		return "skip"
	}
	return fmt.Sprintf("%.1f", took.Seconds())
}

func TestTheSuiteHasEveryKind(t *testing.T) {
	for _, kind := range environment.Kinds() {
		if !slices.ContainsFunc(providers, func(p provider) bool { return p.kind == kind }) {
			t.Errorf("the table has no provider of the kind %s", kind)
		}
	}
}

// prepare skips where the provider does not work.
func (p provider) prepare(t *testing.T) *scene {
	t.Helper()
	if p.name != withoutRoot {
		needs.Root(t)
	} else if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: this is root")
	}
	testenv.NeedsAgent(t)
	above := needs.Disk(t)                         // which limits of I/O need
	if err := os.Chmod(above, 0o711); err != nil { // for the user of a rootless engine
		t.Fatal(err)
	}
	home := filepath.Join(above, oddHome)
	t.Cleanup(func() {
		for _, end := range sshMachines {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
		sshMachines = nil
	})
	options, err := p.decode(home)
	if errors.Is(err, kubevirttest.ErrNone) {
		needs.Cluster(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	testenv.NeedsKind(t, p.kind, options)
	needs.Program(t, "mmdebstrap")
	s := &scene{provider: p, home: home}
	if s.env, s.image, err = p.environment(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.shared = s.own(t).start(t, "shared")
	s.took = time.Since(began)
	return s
}

// own is the scene with an owner that has to leave nothing at the test's end.
func (s *scene) own(t *testing.T) *scene {
	t.Helper()
	mine := *s
	mine.owner = testenv.Owner(t, s.home)
	t.Cleanup(func() { mine.nothingLeft(t) })
	return &mine
}

// oddHome is a directory's name that every provider has to live with.
const oddHome = `a home of odd=things; 'ü' & more $x \n %s`

// emulated says that everything inside takes its time.
func (s *scene) emulated() bool { return s.env.Label() == "tcg" }

// nested says that the instance is in a machine of another environment, which
// has limits and a cost of its own.
func (s *scene) nested() bool { return s.shared.Details().Given != nil }

func (s *scene) request(name string) environment.Request {
	return environment.Request{Name: name, Owner: s.owner, Image: s.image, Console: io.Discard}
}

// start starts an instance that the test need not stop.
func (s *scene) start(t *testing.T, name string, change ...func(*environment.Request)) environment.Instance {
	t.Helper()
	r := s.request(name)
	for _, c := range change {
		c(&r)
	}
	r.Console = keptConsole(t, name)
	i, err := s.env.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		showUsage(t, i)
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// keptConsole keeps the end of what an instance prints, which a test that fails shows: its
// guest may have said why it stands still.
func keptConsole(t *testing.T, name string) *console.Console {
	kept := console.New(nil)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the console of %s:\n%s", name, strings.Join(kept.Lines(), "\n"))
		}
	})
	return kept
}

// showUsage shows which thread of an instance has used CPU time, if the test has failed: an
// agent may not answer because its guest stands still, because it computes, or because the
// host gave it no time.
func showUsage(t *testing.T, i environment.Instance) {
	if t.Failed() {
		t.Logf("CPU time since the start: %+v", usage.OfStart(i.Footprint()).Parts)
	}
}

// end stops an instance for good and looks that its processes are gone.
func (s *scene) end(t *testing.T, i environment.Instance) {
	t.Helper()
	processes := testenv.HoldInstance(t, i)
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, line := range processes.Running(settling) {
		t.Error(line)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Errorf("stopping again: %v", err)
	}
	s.nothingLeft(t)
}

// settling bounds the wait for the last process of an instance to be gone after Stop has
// returned: one that was not killed sleeps for longer.
const settling = time.Minute

// nothingLeft fails where anything of the owner stands.
func (s *scene) nothingLeft(t *testing.T) {
	t.Helper()
	for _, line := range testenv.Left(context.Background(), s.home, s.owner.ID()) {
		t.Errorf("left behind: %s", line)
	}
}

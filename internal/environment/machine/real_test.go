package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/native"
	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/host/cleanup"
	"tare/internal/testing/localhost"
	"tare/internal/testing/needs"
	"tare/internal/testing/sshhost"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

func TestMain(m *testing.M) {
	localhost.ServeIfAsked()
	testenv.Main(m, map[string]testenv.Role{"hold": hold})
}

// place is a machine with a home of tare there, which has the images and the program
// already, as an earlier start leaves them.
func place(t *testing.T) (*sshhost.Machine, *Options) {
	t.Helper()
	m, o := bare(t)
	at, _, err := remote.OwnProgram()
	if err != nil {
		t.Fatal(err)
	}
	at = filepath.Join(o.Home, at)
	self, err := os.Executable()
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o755)); err != nil {
		t.Fatal(err)
	}
	_ = os.Link(self, at) // where it cannot be, a start copies it
	return m, o
}

// bare is a machine with a home that has the images alone.
func bare(t *testing.T) (*sshhost.Machine, *Options) {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	registration, _ := environment.Lookup(kindThere)
	testenv.NeedsKind(t, kindThere, registration.Options())
	m := sshhost.New(t).Machine(t)
	home := t.TempDir()
	if err := os.Symlink(testenv.Images(), filepath.Join(home, "images")); err != nil {
		t.Fatal(err)
	}
	d := m.Destination()
	o := &Options{SSH: d.Host, Identity: d.Identity, KnownHosts: d.KnownHosts, Config: d.Config, Home: home, Options: native.Defaults()}
	t.Cleanup(func() {
		l := lineTo(*o)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hangUp()
	})
	return m, o
}

func prepared(t *testing.T, o *Options) environment.Environment {
	t.Helper()
	if state, findings := environment.Check(t.Context(), "machine", o); state == environment.Missing {
		t.Fatalf("%+v", findings)
	}
	r, _ := environment.Lookup("machine")
	e, err := r.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(t.Context(), testenv.Image(t), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	return e
}

func request(t *testing.T, name string) environment.Request {
	t.Helper()
	return environment.Request{Name: name, Owner: testenv.Owner(t, t.TempDir()), Image: testenv.Image(t), Console: io.Discard}
}

// waitGone waits until a home has neither owners nor anything of theirs.
func waitGone(t *testing.T, home, id string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		alive, err := cleanup.Alive(home)
		if err != nil {
			t.Fatal(err)
		}
		if left = append(testenv.Left(t.Context(), home, id), alive...); len(left) == 0 {
			return
		}
	}
	t.Errorf("left on the other machine: %q", left)
}

func TestAnInstanceRunsOnTheOtherMachine(t *testing.T) {
	m, o := place(t)
	e := prepared(t, o)
	r := request(t, "far-away")
	r.Limits = environment.Limits{CPUs: 0.5, Memory: 192 * quantity.MiB, Cores: []int{0}}
	i, err := e.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	id := testenv.OnlyOwner(t, o.Home)
	if i.Address() != m.Address {
		t.Errorf("its address is %q and the machine's %s", i.Address(), m.Address)
	}
	if i.Details().Loopback != m.Address {
		t.Error("it does not say that it shares the machine's loopback")
	}
	if got := testenv.Run(t, i, "cat /proc/net/fib_trie"); !strings.Contains(got, m.Address) {
		t.Errorf("its network is not the machine's:\n%s", got)
	}
	limits, err := environment.CheckLimits(t.Context(), i, r.Limits)
	if seen := fmt.Sprint(limits); err != nil || !strings.Contains(seen, "/tare/"+id+"/far-away") {
		t.Errorf("of the limits there is seen %s (%v)", seen, err)
	}
	meter := environment.Meter(i, usage.Options{})
	testenv.Run(t, i, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
	if u := meter.Stop(); u.CPU().Missing != "" || u.CPU().Value <= 0 || u.MemoryPeak.Missing != "" {
		t.Errorf("what it used: %+v", u)
	}
	if u := environment.UsageOfStart(i); u.CPU().Missing != "" || u.CPU().Value <= 0 {
		t.Errorf("what its start used: %+v", u)
	}
	t.Logf("%v; %v; %+v; %v", i.Phases(), e.Versions(t.Context()), i.Paths(), i.Notes())
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, line := range testenv.Left(t.Context(), o.Home, id) {
		t.Errorf("left there: %s", line)
	}
}

func TestAStartCopiesEverythingToTheMachine(t *testing.T) {
	m, o := bare(t)
	t.Setenv("TARE_HOME", o.Home) // sshd does not hand it on, a machine's own profile would
	h := &homed{m.Dial(t), o.Home}
	for _, rootfs := range []string{"image", "host"} {
		i, err := Start(t.Context(), h, rootfs, request(t, "guest"))
		if err != nil {
			t.Fatal(err)
		}
		id := testenv.OnlyOwner(t, o.Home)
		testenv.Run(t, i, "true")
		if phases := i.Phases(); phases[0].Name != environment.PreparePhase || environment.StartTime(phases) >= phases[0].Duration+environment.StartTime(phases) {
			t.Errorf("its phases are %v", phases)
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		waitGone(t, o.Home, id)
	}
}

// homed gives the shell there a TARE_HOME.
type homed struct {
	host.Host
	home string
}

func (h *homed) Run(ctx context.Context, argv ...string) ([]byte, error) {
	return h.Host.Run(ctx, append([]string{"env", "TARE_HOME=" + h.home}, argv...)...)
}

func (h *homed) Open(ctx context.Context, complaints io.Writer, argv ...string) (io.ReadWriteCloser, error) {
	return h.Host.Open(ctx, complaints, append([]string{"env", "TARE_HOME=" + h.home}, argv...)...)
}

func TestALostConnectionIsDetectedOnBothSides(t *testing.T) {
	m, o := place(t)
	i, err := prepared(t, o).Start(t.Context(), request(t, "cut-off"))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	id := testenv.OnlyOwner(t, o.Home)
	p, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Cut(t)
	_, err = p.Wait(t.Context())
	if !errors.Is(err, agent.ErrGone) || !strings.Contains(err.Error(), "the link to tare on root@"+m.Address) {
		t.Errorf("the command ended with: %v", err)
	}
	t.Log(err)
	if err := i.Stop(t.Context()); err != nil {
		t.Errorf("stopping what cannot be reached: %v", err)
	}
	waitGone(t, o.Home, id)
}

// hold starts an instance by options with a command in it that does not want to
// end, and says the owner on the machine.
func hold(text, home string) (string, error) {
	ctx := context.Background()
	o := &Options{}
	if err := json.Unmarshal([]byte(text), o); err != nil {
		return "", err
	}
	img, err := testenv.Get(ctx, nil)
	if err != nil {
		return "", err
	}
	mine, err := cleanup.Open(home)
	if err != nil {
		return "", err
	}
	i, err := newMachine(*o).Start(ctx, environment.Request{Name: "orphan", Owner: mine, Image: img, Console: io.Discard})
	if err != nil {
		return "", err
	}
	if _, err := i.Agent().Start(ctx, agent.Command{Argv: []string{"sh", "-c", "trap '' TERM HUP; setsid sleep 1000 & while :; do sleep 1; done"}}); err != nil {
		return "", err
	}
	alive, err := cleanup.Alive(o.Home)
	return strings.Join(alive, " "), err
}

func TestAKilledTareLeavesNothingOnTheOtherMachine(t *testing.T) {
	_, o := place(t)
	testenv.Image(t)
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	owners, kill := testenv.Again(t, "hold", string(text), t.TempDir())
	kill()
	if len(owners) != 1 {
		t.Fatalf("the owners there were %q", owners)
	}
	waitGone(t, o.Home, owners[0])
}

func TestAMachineWhereTareCannotBeInstalledIsReported(t *testing.T) {
	_, o := place(t)
	mounted := t.TempDir()
	mount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("tmpfs", mounted, "tmpfs", flags, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(mounted, unix.MNT_DETACH) })
	}
	for what, c := range map[string]struct {
		flags uintptr
		want  string
	}{
		"a file system that is only read":           {unix.MS_RDONLY, "ead-only file system"},
		"a file system that nothing is executed on": {unix.MS_NOEXEC, "noexec"},
	} {
		mount(c.flags)
		there := *o
		there.Home = filepath.Join(mounted, "tare")
		state, findings := environment.Check(t.Context(), "machine", &there)
		last := findings[len(findings)-1]
		if state != environment.Missing || !strings.Contains(last.Reason, c.want) || !strings.Contains(last.Reason, there.Home) || !strings.Contains(last.Reason, "home:") {
			t.Errorf("%s: %s, %+v", what, state, last)
		}
		t.Log(last.Reason)
	}
}

func TestTheOptionsAreThoseOfNative(t *testing.T) {
	_, o := place(t)
	o.Network, o.Root, o.Data = "none", "overlay", "tmpfs"
	e := prepared(t, o)
	if n, err := e.NewNetwork(t.Context(), nil, "between"); n != nil || err != nil {
		t.Errorf("instances without a network join one: %v, %v", n, err)
	}
	i, err := e.Start(t.Context(), request(t, "alone"))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	if got := testenv.Run(t, i, "ls /sys/class/net; stat -f -c %T / /data"); got != "lo\noverlayfs\ntmpfs" {
		t.Errorf("it has %q", got)
	}
	if p := i.Paths(); !strings.HasPrefix(p.Network, "none") || !strings.Contains(p.Data, "tmpfs") {
		t.Errorf("its paths are %+v", p)
	}
}

func TestOneInstanceHasTheMachinesAddress(t *testing.T) {
	m, o := place(t)
	e := prepared(t, o)
	n, err := e.NewNetwork(t.Context(), testenv.Owner(t, t.TempDir()), "between")
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, "server")
	r.Network = n
	i, err := e.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	if i.Address() != m.Address || n.Host() == "" || n.Host() == m.Address {
		t.Errorf("it is at %s, and this machine at %s", i.Address(), n.Host())
	}
	if got := testenv.Run(t, i, "grep -c . /proc/net/route"); got == "0" {
		t.Error("the machine has no way to anybody")
	}
	r = request(t, "another")
	r.Network = n
	if _, err := e.Start(t.Context(), r); err == nil || !errors.Is(err, environment.ErrOneAddress) {
		t.Errorf("a second one at the same address: %v", err)
	}
}

func TestInvalidOptionsAreRejectedWithTheReason(t *testing.T) {
	for want, o := range map[string]Options{
		"ssh:":      {},
		"rootfs:":   {SSH: "x", Options: native.Options{RootFS: "both", Root: "folder", Network: "host", Data: "bind"}},
		"network:":  {SSH: "x", Options: native.Options{RootFS: "image", Root: "folder", Network: "user", Data: "bind"}},
		"home:":     {SSH: "x", Options: native.Defaults(), Home: "here"},
		"identity:": {SSH: "x", Options: native.Defaults(), Identity: "/no/such/file"},
		"config:":   {SSH: "x", Options: native.Defaults(), Config: "/no/such/file"},
	} {
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

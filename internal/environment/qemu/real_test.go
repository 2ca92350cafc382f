package qemu

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/cgroup"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// bench is what a test with real guests stands on.
type bench struct {
	owner *cleanup.Owner
	image *image.Image
}

func newBench(t *testing.T) *bench {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	testenv.NeedsKind(t, "qemu", defaults())
	return &bench{testenv.Owner(t, t.TempDir()), testenv.Image(t)}
}

// environment prepares one with software emulation, which works everywhere.
func (b *bench) environment(t *testing.T, change func(*Options)) environment.Environment {
	t.Helper()
	registration, ok := environment.Lookup("qemu")
	if !ok {
		t.Fatal("the kind qemu is not registered")
	}
	options := registration.Options().(*Options)
	options.Accel = "tcg"
	change(options)
	e, err := registration.New(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(t.Context(), b.image, func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	return e
}

func (b *bench) request(name string, console *bytes.Buffer) environment.Request {
	return environment.Request{
		Name: name, Owner: b.owner, Image: b.image, Console: console,
		Limits: environment.Limits{CPUs: 1, Memory: 256 * quantity.MiB, Cores: []int{0}},
	}
}

// nothingLeft says what still stands.
func (b *bench) nothingLeft(t *testing.T) {
	t.Helper()
	for _, line := range testenv.Left(t.Context(), b.owner.Home(), b.owner.ID()) {
		t.Errorf("left behind: %s", line)
	}
}

func TestAGuestHasWhatItWasGivenAndNoMore(t *testing.T) {
	b := newBench(t)
	for _, machine := range []string{"q35", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			e := b.environment(t, func(o *Options) { o.Machine, o.Data = machine, 64*quantity.MiB })
			if e.Label() != "tcg" {
				t.Errorf("label %q", e.Label())
			}
			i, err := e.Start(t.Context(), b.request(machine, &bytes.Buffer{}))
			if err != nil {
				t.Fatal(err)
			}
			defer i.Stop(context.WithoutCancel(t.Context()))
			t.Logf("%v, notes %q, versions %v", i.Phases(), i.Notes(), e.Versions(t.Context()))
			for _, p := range i.Phases() {
				if p.Duration <= 0 {
					t.Errorf("phase %s took %v", p.Name, p.Duration)
				}
			}
			if got := testenv.Run(t, i, "ls /sys/class/net"); got != "lo" {
				t.Errorf("network interfaces: %q", got)
			}
			if notes := i.Notes(); len(notes) > 0 {
				t.Errorf("notes: %q", notes)
			}
			pinned(t, i)
		})
	}
}

func TestAGuestWithAUserNetworkReachesItsHost(t *testing.T) {
	b := newBench(t)
	for _, machine := range []string{"q35", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			e := b.environment(t, func(o *Options) { o.Machine, o.Network, o.Data = machine, "user", 64*quantity.MiB })
			i, err := e.Start(t.Context(), b.request("online", &bytes.Buffer{}))
			if err != nil {
				t.Fatal(err)
			}
			defer i.Stop(context.WithoutCancel(t.Context()))
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				if conn, err := listener.Accept(); err == nil {
					fmt.Fprintln(conn, "a word from the host")
					conn.Close()
				}
			}()
			// The gateway of QEMU's network is the host's own loopback.
			port := listener.Addr().(*net.TCPAddr).Port
			if got := testenv.Run(t, i, fmt.Sprintf("bash -c 'cat </dev/tcp/10.0.2.2/%d'", port)); got != "a word from the host" {
				t.Errorf("heard %q", got)
			}
		})
	}
}

// pinned checks that QEMU is in the group and its virtual CPU on its core.
func pinned(t *testing.T, i environment.Instance) {
	t.Helper()
	group, err := cgroup.At(i.Footprint().Cgroups[0])
	if err != nil {
		t.Fatal(err)
	}
	pids, err := group.PIDs()
	if err != nil || len(pids) != 1 {
		t.Fatalf("processes in the group: %v, %v", pids, err)
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pids[0]))
	found := 0
	for _, file := range threads {
		name, _ := os.ReadFile(file)
		if !strings.HasPrefix(string(name), "CPU ") {
			continue
		}
		found++
		var tid int
		fmt.Sscanf(filepath.Base(filepath.Dir(file)), "%d", &tid)
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &set); err != nil || set.Count() != 1 || !set.IsSet(0) {
			t.Errorf("%s may run on %d cores (%v)", strings.TrimSpace(string(name)), set.Count(), err)
		}
	}
	if found != 1 {
		t.Errorf("%d threads of virtual CPUs", found)
	}
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   []string
	}{
		{"a kernel without an init", func(o *Options) { o.KernelArgs = "rdinit=/nowhere init=/nowhere" },
			[]string{"the guest died before its agent was ready (guest-reset); its kernel panicked: ", "console", "Kernel panic"}},
		{"a guest that hangs", func(o *Options) {
			o.KernelArgs, o.StartTimeout = "rdinit=/nowhere init=/nowhere panic=0", 3*time.Second
		}, []string{"the guest runs, but its agent was not ready within start_timeout, 3s"}},
		{"a processor that QEMU does not know", func(o *Options) { o.Model = "abacus" },
			[]string{"QEMU exited before the guest started (exit status 1)", "abacus"}},
		{"no time at all", func(o *Options) { o.StartTimeout = time.Nanosecond },
			[]string{"start_timeout, 1ns"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := b.environment(t, func(o *Options) { o.Data = 64 * quantity.MiB; c.change(o) })
			var console bytes.Buffer
			i, err := e.Start(t.Context(), b.request("doomed", &console))
			if err == nil {
				i.Stop(context.WithoutCancel(t.Context()))
				t.Fatal("it started")
			}
			t.Log(err)
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message does not say %q", want)
				}
			}
			b.nothingLeft(t)
		})
	}
}

func TestAGuestThatDiesByItselfIsNoticedAndTheReasonKept(t *testing.T) {
	b := newBench(t)
	e := b.environment(t, func(o *Options) { o.Data = 64 * quantity.MiB })
	for _, c := range []struct {
		name, reason string
		happens      func(*vmm.Guest)
	}{
		{"killed", "QEMU: signal: killed", func(g *vmm.Guest) { syscall.Kill(g.Process().PID, syscall.SIGKILL) }},
		// What a virtual CPU does that meets an internal error, asked for by hand.
		// QEMU may be gone before it answers.
		{"frozen", "paused", func(g *vmm.Guest) { _ = g.Driver().(*driver).monitor.Execute(t.Context(), "stop", nil, nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			i, err := e.Start(t.Context(), b.request(c.name, &bytes.Buffer{}))
			if err != nil {
				t.Fatal(err)
			}
			defer i.Stop(context.WithoutCancel(t.Context()))
			c.happens(i.(*vmm.Guest))
			<-i.Agent().Done()
			<-i.(*vmm.Guest).Process().Exited()
			if notes := strings.Join(i.Notes(), "\n"); !strings.Contains(notes, "died unexpectedly ("+c.reason+")") {
				t.Errorf("notes: %q", notes)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			b.nothingLeft(t)
		})
	}
}

func TestAGuestWithNVMeDisksRunsOnThem(t *testing.T) {
	b := newBench(t)
	e := b.environment(t, func(o *Options) { o.DiskDevice = "nvme" })
	var console bytes.Buffer
	i, err := e.Start(t.Context(), b.request("a-1", &console))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(t.Context())
	if got := testenv.Run(t, i, "df --output=source / /data | tail -n 2"); got != "/dev/nvme0n1\n/dev/nvme0n2" && got != "/dev/root\n/dev/nvme0n2" {
		t.Errorf("the file systems are on %q", got)
	}
	if p := i.Paths(); !strings.HasPrefix(p.Data, "ext4 on nvme, raw file") {
		t.Errorf("the path is %q", p.Data)
	}
}

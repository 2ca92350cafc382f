package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/owner"
	"tare/internal/quantity"
)

// bench is what a test with real guests stands on.
type bench struct {
	owner *owner.Owner
	image *image.Image
}

// testImages is the folder of the images that the tests of all environments
// share.
func testImages() string { return filepath.Join(os.TempDir(), "tare-try-images") }

func newBench(t *testing.T) *bench {
	t.Helper()
	if !supported() {
		t.Skip("needs an x86-64 host: this one is " + runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: QEMU runs in a cgroup of its own")
	}
	for _, name := range []string{program, "qemu-img", "mke2fs"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs " + name + ": " + err.Error())
		}
	}
	if _, err := agent.Binary(t.TempDir()); err != nil {
		t.Skip("needs the agent's program: " + err.Error())
	}
	store, err := image.Open(testImages())
	if err != nil {
		t.Fatal(err)
	}
	img, err := store.Get(t.Context(), image.Source{Recipe: &image.Recipe{}}, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	o, err := owner.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{o, img}
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

// nothingLeft says what still stands of an instance.
func (b *bench) nothingLeft(t *testing.T, name string) {
	t.Helper()
	group, err := cgroup.At(b.owner.Cgroup(name))
	if err != nil {
		t.Fatal(err)
	}
	if group.Exists() {
		t.Errorf("cgroup %s still stands", b.owner.Cgroup(name))
	}
	folder := filepath.Join(b.owner.Home(), "work", b.owner.ID(), name)
	if _, err := os.Stat(folder); err == nil {
		t.Errorf("folder %s still stands", folder)
	}
	if pids := processesOf(folder); len(pids) > 0 {
		t.Errorf("processes %v still run", pids)
	}
}

// processesOf finds processes by the folder in their command line.
func processesOf(folder string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(folder+"/")) {
			var pid int
			fmt.Sscanf(file, "/proc/%d/", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

// inside runs a shell command in a guest and returns what it printed.
func inside(t *testing.T, i environment.Instance, command string) string {
	t.Helper()
	var said bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", command}, Stdout: &said, Stderr: &said})
	if err != nil || !exit.OK() {
		t.Fatalf("%s: %+v, %v: %s", command, exit, err, said.String())
	}
	return strings.TrimSpace(said.String())
}

func TestAGuestBootsOnEitherMachineAndLeavesNothing(t *testing.T) {
	b := newBench(t)
	for _, machine := range []string{"q35", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			e := b.environment(t, func(o *Options) { o.Machine, o.Data = machine, 64*quantity.MiB })
			if e.Label() != "tcg" {
				t.Errorf("label %q", e.Label())
			}
			var console bytes.Buffer
			begin := time.Now()
			i, err := e.Start(t.Context(), b.request(machine, &console))
			took := time.Since(begin)
			if err != nil {
				t.Fatal(err)
			}
			defer i.Stop(context.WithoutCancel(t.Context()))
			t.Logf("%v: %v, notes %q, versions %v", took, i.Phases(), i.Notes(), e.Versions(t.Context()))

			sum := time.Duration(0)
			for _, p := range i.Phases() {
				if p.Duration <= 0 {
					t.Errorf("phase %s took %v", p.Name, p.Duration)
				}
				sum += p.Duration
			}
			if sum > took || took-sum > took/10 {
				t.Errorf("the phases add up to %v of %v", sum, took)
			}
			if got := inside(t, i, "nproc"); got != "1" {
				t.Errorf("%s processors inside", got)
			}
			if got := inside(t, i, "ls -A /data | grep -v lost+found; echo new >/data/file; echo new >/etc/tare-was-here; sync; cat /data/file"); got != "new" {
				t.Errorf("/data: %q", got)
			}
			if got := inside(t, i, "env | sort"); !containsAll(got, b.image.Env) {
				t.Errorf("the environment inside is %q, the image's %q", got, b.image.Env)
			}
			if got := inside(t, i, "ls /sys/class/net"); got != "lo" {
				t.Errorf("network interfaces: %q", got)
			}
			if notes := i.Notes(); len(notes) > 0 {
				t.Errorf("notes: %q", notes)
			}
			pinned(t, i)
			if err := i.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			b.nothingLeft(t, machine)
			if err := i.Stop(t.Context()); err != nil {
				t.Errorf("stopping again: %v", err)
			}

			again, err := e.Start(t.Context(), b.request(machine, &console))
			if err != nil {
				t.Fatal(err)
			}
			defer again.Stop(context.WithoutCancel(t.Context()))
			if got := inside(t, again, "cat /data/file /etc/tare-was-here 2>/dev/null; true"); got != "" {
				t.Errorf("the next guest sees the last one's files: %q", got)
			}
			if err := again.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			b.nothingLeft(t, machine)
		})
	}
}

func containsAll(text string, lines []string) bool {
	for _, line := range lines {
		if !strings.Contains("\n"+text+"\n", "\n"+line+"\n") {
			return false
		}
	}
	return true
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
			if got := inside(t, i, fmt.Sprintf("bash -c 'cat </dev/tcp/10.0.2.2/%d'", port)); got != "a word from the host" {
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

func TestGuestsOfOneEnvironmentDoNotShareTheirDisks(t *testing.T) {
	b := newBench(t)
	e := b.environment(t, func(o *Options) { o.Data = 64 * quantity.MiB })
	var all sync.WaitGroup
	guests := make([]environment.Instance, 2)
	for n := range guests {
		all.Go(func() {
			var err error
			if guests[n], err = e.Start(t.Context(), b.request(fmt.Sprint("guest-", n), &bytes.Buffer{})); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	defer func() {
		for n, g := range guests {
			if g != nil {
				if err := g.Stop(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
				b.nothingLeft(t, fmt.Sprint("guest-", n))
			}
		}
	}()
	if t.Failed() {
		return
	}
	for n, g := range guests {
		inside(t, g, fmt.Sprintf("echo %d >/data/mine; echo %d >/etc/mine; sync", n, n))
	}
	for n, g := range guests {
		if got := inside(t, g, "cat /data/mine /etc/mine"); got != fmt.Sprintf("%d\n%d", n, n) {
			t.Errorf("guest %d reads %q", n, got)
		}
	}
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   []string
	}{
		{"a kernel without an init", func(o *Options) { o.KernelArgs = "rdinit=/nowhere init=/nowhere" },
			[]string{"the guest died", "console", "Kernel panic"}},
		{"a guest that hangs", func(o *Options) {
			o.KernelArgs, o.StartTimeout = "rdinit=/nowhere init=/nowhere panic=0", 3*time.Second
		}, []string{"the guest runs, but its agent said nothing within start_timeout, 3s"}},
		{"a processor that QEMU does not know", func(o *Options) { o.Model = "abacus" },
			[]string{"QEMU ended before the guest began (exit status 1)", "abacus"}},
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
			b.nothingLeft(t, "doomed")
		})
	}
}

func TestAnInterruptedStartLeavesNothing(t *testing.T) {
	b := newBench(t)
	e := b.environment(t, func(o *Options) { o.Data = 64 * quantity.MiB; o.KernelArgs = "loglevel=7" })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := b.request("interrupted", nil)
	r.Console = firstWord(cancel) // the kernel runs when it prints
	if i, err := e.Start(ctx, r); err == nil {
		i.Stop(context.WithoutCancel(t.Context()))
		t.Fatal("it started")
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.nothingLeft(t, "interrupted")
}

type firstWord func()

func (f firstWord) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestAGuestThatIsKilledIsNoticedAndStopsCleanly(t *testing.T) {
	b := newBench(t)
	e := b.environment(t, func(o *Options) { o.Data = 64 * quantity.MiB })
	i, err := e.Start(t.Context(), b.request("victim", &bytes.Buffer{}))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.WithoutCancel(t.Context()))
	if err := syscall.Kill(i.(*instance).vmm.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-i.Agent().Done()
	<-i.(*instance).vmm.exited
	if notes := strings.Join(i.Notes(), "\n"); !strings.Contains(notes, "died by itself (QEMU: signal: killed)") {
		t.Errorf("notes: %q", notes)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	b.nothingLeft(t, "victim")
}

func TestAGuestThatStandsStillIsEndedAndTheReasonKept(t *testing.T) {
	b := newBench(t)
	e := b.environment(t, func(o *Options) { o.Data = 64 * quantity.MiB })
	i, err := e.Start(t.Context(), b.request("frozen", &bytes.Buffer{}))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.WithoutCancel(t.Context()))
	// What a virtual CPU does that meets an internal error, asked for by hand.
	// QEMU may be gone before it answers.
	_ = i.(*instance).vmm.monitor.Execute(t.Context(), "stop", nil, nil)
	<-i.Agent().Done()
	<-i.(*instance).vmm.exited
	if notes := strings.Join(i.Notes(), "\n"); !strings.Contains(notes, "died by itself (paused)") {
		t.Errorf("notes: %q", notes)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	b.nothingLeft(t, "frozen")
}

// Package microvmtest has the tests that every kind of package microvm must pass,
// with a fake VMM, and with the real one if it is on the PATH and KVM works. Only
// tests import it.
package microvmtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/microvm"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/testing/exchanges"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// Kind is a kind of environment under test.
type Kind struct {
	Key      string // "firecracker"
	Source   string // the package of its fake, without "fake"
	Program  string // its name on the PATH
	Variable string // names the program instead
	Name     string // its name in messages
	Started  string // part of its log after a guest was started
}

// Bench is the setup of a test with guests.
type Bench struct {
	Program string // the VMM
	Fake    bool
	Owner   *cleanup.Owner
	Image   *image.Image
	kind    Kind
	// anyKVM lets guests run where KVM is slower than hardware, which tare refuses.
	anyKVM bool
}

// Each runs a test with the fake and with the real VMM, if it works here, and
// checks that nothing is left behind.
func (k Kind) Each(t *testing.T, test func(*testing.T, *Bench)) {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, fake := range []bool{true, false} {
		t.Run(map[bool]string{true: "fake", false: "real"}[fake], func(t *testing.T) {
			b := &Bench{Program: cmp.Or(os.Getenv(k.Variable), k.Program), Fake: fake, kind: k}
			if fake {
				needs.Program(t, "qemu-system-x86_64", "go")
				var err error
				if b.Program, err = BuildFake(t.TempDir(), k.Source, k.Program); err != nil {
					t.Fatal(err)
				}
			}
			b.run(t, test)
		})
	}
}

// run runs a test in a home of its own, and checks that nothing is left behind.
func (b *Bench) run(t *testing.T, test func(*testing.T, *Bench)) {
	t.Helper()
	b.needs(t, b.Options(t, `{}`))
	// The path is longer than that of a socket may be.
	b.Owner = testenv.Owner(t, filepath.Join(t.TempDir(), strings.Repeat("a long folder ", 8)))
	b.Image = testenv.Image(t)
	test(t, b)
	for _, line := range testenv.Left(context.Background(), b.Owner.Home(), b.Owner.ID()) {
		t.Errorf("left behind: %s", line)
	}
}

// needs skips the test if the kind does not work here with these options.
func (b *Bench) needs(t *testing.T, options any) {
	t.Helper()
	if !b.anyKVM {
		testenv.NeedsKind(t, b.kind.Key, options)
		return
	}
	exchanges.NeedsKVM(t)
	registration, _ := environment.Lookup(b.kind.Key)
	for _, r := range registration.Requires(options) {
		if f := r.Check(t.Context()); f.State == environment.Missing && r.What != microvm.FastKVM {
			t.Skipf("needs %s: %s", r.What, f.Reason)
		}
	}
}

// Options returns the kind's options, with the bench's program.
func (b *Bench) Options(t *testing.T, options string) any {
	t.Helper()
	registration, ok := environment.Lookup(b.kind.Key)
	if !ok {
		t.Fatalf("the kind %s is not registered", b.kind.Key)
	}
	program, err := json.Marshal(map[string]string{"program": b.Program, "data": "64MiB"})
	if err != nil {
		t.Fatal(err)
	}
	o := registration.Options()
	for _, text := range []string{string(program), options} {
		if err := json.Unmarshal([]byte(text), o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// Environment returns a prepared environment.
func (b *Bench) Environment(t *testing.T, options string) environment.Environment {
	t.Helper()
	o := b.Options(t, options)
	b.needs(t, o)
	registration, _ := environment.Lookup(b.kind.Key)
	e, err := registration.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(t.Context(), b.Image, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// Request returns the request for a small guest.
func (b *Bench) Request(name string) environment.Request {
	return environment.Request{Name: name, Owner: b.Owner, Image: b.Image, Console: &bytes.Buffer{},
		Limits: environment.Limits{CPUs: 1, Memory: 256 * quantity.MiB, Cores: []int{0}}}
}

// Start starts a guest that is stopped at the test's end.
func (b *Bench) Start(t *testing.T, e environment.Environment, name string) environment.Instance {
	t.Helper()
	i, err := e.Start(t.Context(), b.Request(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Stop(context.Background()) })
	t.Logf("%s: %v, %+v, %q", name, i.Phases(), i.Paths(), i.Notes())
	return i
}

// Stop stops a guest.
func Stop(t *testing.T, i environment.Instance) {
	t.Helper()
	if err := i.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// Boots tests guests with a shared root disk, and with a copy.
func (k Kind) Boots(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		for _, root := range []string{"overlay", "copy"} {
			e := b.Environment(t, `{"root": "`+root+`", "disk_bandwidth": "100MiB", "disk_ops": 5000}`)
			i := b.Start(t, e, root)
			if output := testenv.Run(t, i, "stat -f -c %T /; ls /sys/class/net; ls -A /data | wc -l"); !strings.HasSuffix(output, "\nlo\n0") || strings.HasPrefix(output, "overlay") != (root == "overlay") {
				t.Errorf("root: %s: %q", root, output)
			}
			testenv.Run(t, i, "echo x >/etc/new && echo x >/data/new && rm /etc/passwd")
			if version := e.Versions(t.Context())[k.Key]; strings.Contains(version, "(double)") != b.Fake || version == "" {
				t.Errorf("version %q", version)
			}
			if notes := strings.Join(i.Notes(), "\n"); strings.Contains(notes, "fake") != b.Fake || (e.Label() == "tcg") != b.Fake {
				t.Errorf("label %q, notes %s", e.Label(), notes)
			}
			Stop(t, i)
		}
	})
}

// Throttles tests guests with limits of io, booted and restored.
func (k Kind) Throttles(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		for _, start := range []string{"boot", "snapshot"} {
			e := b.Environment(t, `{"start": "`+start+`"}`)
			r := b.Request(start)
			r.Limits.IO = environment.IO{Read: 2 * quantity.MiB, Write: 2 * quantity.MiB, ReadOps: 5000, WriteOps: 5000}
			i, err := e.Start(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			limits, err := environment.CheckLimits(t.Context(), i, r.Limits)
			own := slices.DeleteFunc(limits, func(s environment.EffectiveLimit) bool { return s.Where != k.Name+"'s configuration" })
			if err != nil || len(own) != 4 {
				t.Errorf("start: %s: %v, %v", start, own, err)
			}
			began := time.Now()
			// The bucket is full at first, so that 2 of the 6 MiB are not throttled.
			testenv.Run(t, i, "dd if=/dev/zero of=/data/slow bs=64k count=96 conv=fsync 2>/dev/null")
			if took := time.Since(began); took < time.Second {
				t.Errorf("start: %s: 6 MiB at 2 MiB a second took only %v", start, took)
			}
			Stop(t, i)
			r = b.Request("uneven")
			r.Limits.IO = environment.IO{Read: 2 * quantity.MiB}
			if i, err := e.Start(t.Context(), r); err == nil || !strings.Contains(err.Error(), "limits: io: "+k.Name) {
				t.Errorf("a limit of reads alone: %v", err)
				if err == nil {
					Stop(t, i)
				}
			}
		}
	})
}

// Restores tests guests that are restored from a snapshot.
func (k Kind) Restores(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		e := b.Environment(t, `{"start": "snapshot"}`)
		first := b.Start(t, e, "first")
		const id = "dmesg | head -100 | cksum" // the kernel's boot log has times in microseconds
		boot := testenv.Run(t, first, id+"; echo x >/data/mine; echo x >/etc/mine; sync")
		second := b.Start(t, e, "second") // while the first runs
		if got := testenv.Run(t, second, id+"; ls -A /data; ls /etc/mine 2>/dev/null; true"); got != boot {
			t.Errorf("the second is not the first's twin, or no fresh one: %q, %q", got, boot)
		}
		now, want := testenv.Run(t, second, "date +%s"), time.Now()
		const tolerance = 10 * time.Second // for the machine to be slow
		if got, err := time.ParseDuration(now + "s"); err != nil || want.Sub(time.Unix(int64(got.Seconds()), 0)).Abs() > tolerance {
			t.Errorf("its clock shows %s at %d", now, want.Unix())
		}
		for _, i := range []environment.Instance{first, second} {
			if environment.StartTime(i.Phases()) <= 0 {
				t.Errorf("%v", i.Phases())
			}
			Stop(t, i)
		}
		if n, err := e.NewNetwork(t.Context(), nil, "between"); n != nil || err != nil {
			t.Errorf("restored guests join networks: %v, %v", n, err)
		}
	})
}

// Reaches tests guests with a network card.
func (k Kind) Reaches(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		for network, lines := range map[string]string{"tap": "2", "nat": "3"} {
			t.Run(network, func(t *testing.T) {
				i := b.Start(t, b.Environment(t, `{"network": "`+network+`"}`), network)
				if got := testenv.Run(t, i, "cat /proc/net/route | wc -l"); i.Address() == "" || got != lines {
					t.Errorf("address %q, %s lines of routes", i.Address(), got)
				}
				Stop(t, i)
			})
		}
	})
}

// Fails tests the messages of starts that fail.
func (k Kind) Fails(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		for _, c := range []struct {
			name, options string
			message       []string
		}{
			{"it dies", `{"kernel_args": "rdinit=/absent init=/absent loglevel=7"}`,
				[]string{"the guest died before its agent was ready (it reset itself", "the last lines of its console", "Kernel panic", k.Name + "'s log", k.Started}},
			{"it never answers", `{"kernel_args": "tare.await=1", "start_timeout": 8000000000}`,
				[]string{"the guest runs, but its agent was not ready within start_timeout, 8s", k.Name + "'s log", k.Started}},
		} {
			t.Run(c.name, func(t *testing.T) {
				e := b.Environment(t, c.options)
				began := time.Now()
				i, err := e.Start(t.Context(), b.Request("failing"))
				if err == nil {
					Stop(t, i)
					t.Fatal("it started")
				}
				t.Logf("after %v: %v", time.Since(began), err)
				for _, want := range c.message {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the message lacks %q", want)
					}
				}
			})
		}
	})
}

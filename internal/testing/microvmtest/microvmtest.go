// Package microvmtest has the tests that every kind of package microvm must pass, with
// the recorded answers of its VMM (package exchanges), and with the real one if it is on
// the PATH and KVM works. Only tests import it.
package microvmtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
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
	Key      string // "firecracker", also its program's name on the PATH
	Variable string // names the program instead
	Name     string // its name in messages
	VMM      exchanges.VMM
}

// Bench is the setup of a test with guests.
type Bench struct {
	Program string // the VMM, or its replay
	Real    bool
	Owner   *cleanup.Owner
	Image   *image.Image
	Context context.Context
	kind    Kind
}

// Each runs a test with the VMM's recorded answers, and with the real VMM, if it works
// here. What is asked has to be what is recorded, and nothing may be left behind.
func (k Kind) Each(t *testing.T, test func(*testing.T, *Bench)) {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	t.Run("recorded", func(t *testing.T) { k.run(t, k.replay(t), false, test) })
	t.Run("real", func(t *testing.T) {
		program := k.program()
		testenv.NeedsKind(t, k.Key, k.options(t, program, `{}`))
		k.run(t, program, true, test)
	})
}

// program is the real VMM's.
func (k Kind) program() string { return cmp.Or(os.Getenv(k.Variable), k.Key) }

// run runs a test in a home of its own.
func (k Kind) run(t *testing.T, program string, real bool, test func(*testing.T, *Bench)) {
	t.Helper()
	seen := exchanges.Observer{Quit: k.VMM.Quit}
	b := &Bench{Program: program, Real: real, Context: seen.Context(t.Context()), kind: k}
	// The path is longer than that of a socket may be.
	b.Owner = testenv.Owner(t, filepath.Join(t.TempDir(), strings.Repeat("a long folder ", 8)))
	b.Image = testenv.Image(t)
	test(t, b)
	for _, line := range testenv.Left(context.Background(), b.Owner.Home(), b.Owner.ID()) {
		t.Errorf("left behind: %s", line)
	}
	version := ""
	if real {
		text, err := microvm.Version(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}
		version = regexp.MustCompile(`\d+\.\d+\S*`).FindString(text)
	}
	seen.Check(t, k.VMM.Recorded, version)
}

// replay returns a program that starts this one as the VMM's replay.
func (k Kind) replay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	program, err := agent.WriteBinary(root)
	if err != nil {
		t.Fatal(err)
	}
	null := filepath.Join(root, "dev", "null")
	if err := os.Mkdir(filepath.Dir(null), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(null, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := filepath.Abs(k.VMM.Recorded)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, k.Key)
	script := fmt.Sprintf("#!/bin/sh\n%s='%s' %s='%s' exec '%s' \"$@\"\n", exchanges.Replayed, recorded, exchanges.Agent, program, self)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (k Kind) options(t *testing.T, program, options string) any {
	t.Helper()
	registration, ok := environment.Lookup(k.Key)
	if !ok {
		t.Fatalf("the kind %s is not registered", k.Key)
	}
	const timeout = 10 * time.Minute // where KVM itself is emulated
	first, err := json.Marshal(map[string]any{"program": program, "data": "64MiB", "start_timeout": timeout})
	if err != nil {
		t.Fatal(err)
	}
	o := registration.Options()
	for _, text := range []string{string(first), options} {
		if err := json.Unmarshal([]byte(text), o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// Environment returns a prepared environment.
func (b *Bench) Environment(t *testing.T, options string) environment.Environment {
	t.Helper()
	registration, _ := environment.Lookup(b.kind.Key)
	o := b.kind.options(t, b.Program, options)
	if b.Real {
		testenv.NeedsKind(t, b.kind.Key, o)
	}
	e, err := registration.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(t.Context(), b.Image, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// Request returns the request for a small guest. The name is that of its recording.
func (b *Bench) Request(name string) environment.Request {
	return environment.Request{Name: name, Owner: b.Owner, Image: b.Image, Console: &bytes.Buffer{},
		Limits: environment.Limits{CPUs: 1, Memory: 256 * quantity.MiB, Cores: []int{0}}}
}

// Start starts a guest that is stopped at the test's end.
func (b *Bench) Start(t *testing.T, e environment.Environment, r environment.Request) environment.Instance {
	t.Helper()
	i, err := e.Start(b.Context, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Stop(context.Background()) })
	t.Logf("%s: %v, %+v, %q", r.Name, i.Phases(), i.Paths(), i.Notes())
	return i
}

// Refused starts a guest that does not come to its agent, and checks what is said of it.
func (b *Bench) Refused(t *testing.T, options string, r environment.Request, says ...string) {
	t.Helper()
	b.RefusedBy(t, b.Environment(t, options), r, says...)
}

// RefusedBy does so in an environment.
func (b *Bench) RefusedBy(t *testing.T, e environment.Environment, r environment.Request, says ...string) {
	t.Helper()
	began := time.Now()
	i, err := e.Start(b.Context, r)
	if err == nil {
		b.Stop(t, i)
		t.Fatalf("%s started", r.Name)
	}
	t.Logf("after %v: %v", time.Since(began), err)
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the message lacks %q", r.Name, want)
		}
	}
}

// Stop stops a guest.
func (b *Bench) Stop(t *testing.T, i environment.Instance) {
	t.Helper()
	if err := i.Stop(context.WithoutCancel(b.Context)); err != nil {
		t.Error(err)
	}
}

// Run runs a shell command in a real guest and returns its output. A replay has none: it
// is "" there.
func (b *Bench) Run(t *testing.T, i environment.Instance, line string) string {
	t.Helper()
	if !b.Real {
		return ""
	}
	return testenv.Run(t, i, line)
}

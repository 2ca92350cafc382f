package conformance

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/usage"
)

// needsFreezer skips where the provider does not freeze any instance.
func (s *scene) needsFreezer(t *testing.T) {
	t.Helper()
	f := s.shared.Details().Freezer
	if f == nil {
		t.Skip("needs instances that can be frozen: those of this kind wait idle")
	}
	if err := f.Freeze(t.Context()); errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("needs instances that can be frozen: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := f.Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// counters are readings of an instance's CPU time, taken from outside.
func counters(t *testing.T, i environment.Instance) (next func() usage.Reading) {
	t.Helper()
	latest := make(chan usage.Reading, 1)
	m := environment.Meter(i, usage.Options{Every: 50 * time.Millisecond, Each: func(r usage.Reading) {
		select {
		case <-latest:
		default:
		}
		latest <- r
	}})
	t.Cleanup(func() { m.Stop() })
	return func() usage.Reading {
		select {
		case r := <-latest:
			return r
		case <-time.After(30 * time.Second):
			t.Fatal("the CPU time of the instance is not read")
			panic("unreachable")
		}
	}
}

func aFrozenInstanceDoesNothingAndIsStopped(t *testing.T, s *scene) {
	s.needsFreezer(t)
	i := s.start(t, "frozen")
	f := i.Details().Freezer
	// Prints lines too, so that something is under way in the agent at the freeze.
	const busy = "while :; do i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; echo still here; done"
	var output bytes.Buffer
	p, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", busy}, Stdout: &output})
	if err != nil {
		t.Fatal(err)
	}
	next := counters(t, i)
	for from := next().CPU.Value; next().CPU.Value < from+0.2; { // it works
	}
	for range 2 {
		if err := f.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	next() // this one and the next may have been begun before the freeze
	next()
	first := next()
	last := first
	for range 8 {
		last = next()
	}
	if used, passed := last.CPU.Value-first.CPU.Value, last.Seconds-first.Seconds; last.CPU.Missing != "" || used > s.frozenShare()*passed+lateTick {
		t.Errorf("a frozen instance used %.4f s of CPU time in %.3f s (%+v)", used, passed, last.CPU)
	} else {
		t.Logf("%.6f s of CPU time in %.3f s", used, passed)
	}
	for range 2 {
		if err := f.Thaw(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(t, i, "echo alive"); got != "alive" {
		t.Errorf("after the thaw: %q", got)
	}
	for at := last.CPU.Value + 0.2; next().CPU.Value < at; { // it works on
	}
	for range 30 {
		if err := errors.Join(f.Freeze(t.Context()), f.Thaw(t.Context())); err != nil {
			t.Fatal(err)
		}
		run(t, i, "true")
	}
	if err := p.Signal(t.Context(), agent.Signal(9)); err != nil {
		t.Error(err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("the command ended with %+v, %v", exit, err)
	}
	if output.Len() == 0 {
		t.Error("nothing was printed")
	}
	run(t, i, "setsid sleep 1000 >/dev/null 2>&1 </dev/null & setsid sleep 1000 & true")
	if err := f.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.end(t, i)
}

// lateTick is what the kernel may charge after the freeze for what ran before it: on a busy
// machine a tick of 10 ms was seen. What is not frozen uses all the time that passes.
const lateTick = 0.011

// frozenShare is the share of a core that a frozen instance may use: that of a VMM
// whose guest is paused, or of a sandbox whose own threads go on when runsc pauses it.
func (s *scene) frozenShare() float64 {
	switch {
	case s.kind == "qemu", s.kind == "firecracker", s.kind == "cloud-hypervisor":
		return 0.01
	case s.kind == "gvisor", s.name == "oci runsc":
		return 0.03
	}
	return 0
}

func whatAKilledTareLeavesFrozenIsSwept(t *testing.T, s *scene) {
	s.needsFreezer(t)
	s.killedTare(t, "freeze")
}

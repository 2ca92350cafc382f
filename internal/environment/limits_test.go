package environment

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/base/quantity"
)

// inMemory is an instance of which no more is known than where /data lies.
type inMemory struct{ Instance }

func (inMemory) Paths() Paths     { return Paths{Data: "tmpfs", DataOn: Memory} }
func (inMemory) Details() Details { return Details{} }

func TestAnIOLimitOnDataInMemoryIsRejected(t *testing.T) {
	l := Limits{IO: IO{Write: quantity.MiB}}
	if _, err := l.Group(Memory); !errors.Is(err, ErrMemoryIO) {
		t.Errorf("a group with it: %v", err)
	}
	if _, err := CheckLimits(t.Context(), inMemory{}, l); !errors.Is(err, ErrMemoryIO) {
		t.Errorf("an instance with it: %v", err)
	}
	if _, err := (Limits{PIDs: 100}).Group(Memory); err != nil {
		t.Errorf("without a limit of io: %v", err)
	}
}

func TestAFailedStartHintsAtALowProcessLimit(t *testing.T) {
	for pids, want := range map[int]bool{0: false, 1: true, 39: true, 40: false, 500: false} {
		hint := Limits{PIDs: pids}.ProcessLimitHint()
		if (hint != "") != want || want && !strings.Contains(hint, "limits: pids: ") {
			t.Errorf("pids: %d says %q", pids, hint)
		}
	}
}

func TestALimitOfCPUsIsThatOfTheHostUnlessTheRuntimeSetsItInTheGuest(t *testing.T) {
	wish := EffectiveLimit{Limit: "cpus", Asked: "1 CPUs"}
	of := func(where string, holds bool) []EffectiveLimit {
		s := wish
		s.Where, s.Holds = where, holds
		return []EffectiveLimit{s}
	}
	for name, c := range map[string]struct {
		limitedInside, inside, outside, in bool // in force
	}{
		"a guest whose VMM is limited":       {false, false, true, true},
		"a guest that limits itself":         {false, true, false, false},
		"Kata's guest, which limits":         {true, true, false, true},
		"Kata's guest without a limit":       {true, false, false, false},
		"a VMM that is limited all the same": {true, false, true, true},
	} {
		failed := decide(wish, false, c.limitedInside, of("cpu.max inside", c.inside), of("cpu.max", c.outside))
		if (len(failed) == 0) != c.in {
			t.Errorf("%s: %v", name, failed)
		}
	}
}

// The cores of a guest have numbers of their own, also where its runtime sets other limits inside.
func TestTheCoresAreThoseOfTheHost(t *testing.T) {
	of := func(holds bool) []EffectiveLimit { return []EffectiveLimit{{Limit: "cores", Asked: "0", Holds: holds}} }
	for _, limitedInside := range []bool{false, true} {
		for _, held := range []bool{false, true} {
			if failed := decide(EffectiveLimit{Limit: "cores", Asked: "0"}, false, limitedInside, of(!held), of(held)); (len(failed) == 0) != held {
				t.Errorf("limits inside %v, cores of the host %v: %v", limitedInside, held, failed)
			}
		}
	}
}

func TestLimitsThatKataContainersLeavesOutAreRefused(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		want   string
	}{
		{Limits{CPUs: 1, Memory: 64 << 20, Cores: []int{0}}, ""},
		{Limits{PIDs: 100}, "limits: pids: "},
		{Limits{IO: IO{Write: 1 << 20}}, "limits: io: "},
	} {
		err := c.limits.PassedByKata()
		if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.limits, err, c.want)
		}
	}
}

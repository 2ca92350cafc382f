package cost

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// spent is a trial of so many operations that used the same of everything.
func spent(operations, each float64) Spent {
	used := usage.Unknown("not given")
	half := usage.Known(each / 2)
	used.CPUUser, used.CPUSystem = half, half
	used.Host = &usage.HostUsage{Energy: usage.Known(each)}
	used.MemorySeconds, used.DiskWritten, used.Switches = usage.Known(each), usage.Known(each), usage.Known(each)
	return Spent{Usage: &used, Operations: operations, Counted: "requests",
		Evidence: &evidence.Evidence{Counts: map[string]usage.Figure{evidence.Syscalls: usage.Known(each)}}}
}

// energyless is a trial on a machine that does not count its energy.
func energyless() Spent {
	s := spent(1, 1)
	s.Usage.Host = &usage.HostUsage{Energy: usage.Absent("not given")}
	return s
}

func TestACostIsWhatWasUsedForAThousandOperations(t *testing.T) {
	for _, name := range []string{CPU, "memory_per_kop", "written_per_kop", "switches_per_kop", "syscalls_per_kop", "energy_per_kop"} {
		c, known := Lookup(name)
		if !known {
			t.Fatalf("there is no cost %s", name)
		}
		if got := c.Of(spent(4000, 8), nil); got != usage.Known(2) {
			t.Errorf("%s: %+v, want 2", name, got)
		}
	}
}

func TestAMissingFigureHasNoCost(t *testing.T) {
	of := func(name string) Cost { c, _ := Lookup(name); return c }
	for want, got := range map[string]usage.Figure{
		"not given":                                      of("energy_per_kop").Of(energyless(), nil),
		"no requests were counted":                       of(CPU).Of(spent(0, 8), nil),
		"system calls were not counted":                  of("syscalls_per_kop").Of(Spent{Usage: spent(1, 1).Usage, Operations: 1}, nil),
		"the machine as a whole was not sampled":         of("energy_per_kop").Of(Spent{Usage: &usage.Usage{}, Operations: 1}, nil),
		"the resource use of the environment is unknown": of(CPU).Of(Spent{Operations: 1}, nil),
		"the study has no prices":                        of("money_per_kop").Of(spent(1, 1), nil),
		"energy_kwh has a price but no value: not given": of("money_per_kop").Of(energyless(), &Price{Currency: "EUR", CPUHour: 1, EnergyKWh: 1}),
	} {
		if got.Missing != want {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

func TestMoneyIsTheSumOfAllPricedResources(t *testing.T) {
	c, _ := Lookup("money_per_kop")
	s := spent(1000, 0)
	s.Usage.CPUUser = usage.Known(1800)                       // half an hour
	s.Usage.MemorySeconds = usage.Known(2 * 3600 * (1 << 30)) // two GiB for an hour
	s.Usage.DiskWritten = usage.Known(3 << 30)
	for want, price := range map[float64]*Price{
		.5:  {CPUHour: 1},
		20:  {MemoryGiBHour: 10},
		300: {WrittenGiB: 100},
		// Whatever has no price may be unknown, here the energy.
		320.5: {CPUHour: 1, MemoryGiBHour: 10, WrittenGiB: 100},
	} {
		if got := c.Of(s, price); math.Abs(got.Value-want) > 1e-9 || got.Missing != "" {
			t.Errorf("%+v: %+v, want %v", price, got, want)
		}
	}
}

// Half the work with the same use is dearer, and it does not matter in how many
// trials the work was done.
func TestACostIsARate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		operations, used := rapid.Float64Range(1, 1e9).Draw(t, "operations"), rapid.Float64Range(1e-3, 1e12).Draw(t, "used")
		k := rapid.Float64Range(1, 1000).Draw(t, "k")
		price := &Price{Currency: "EUR", CPUHour: .03, MemoryGiBHour: .004, WrittenGiB: .0001}
		for _, c := range Asked(true, false, price) {
			one, more, less := c.Of(spent(operations, used), price), c.Of(spent(k*operations, k*used), price), c.Of(spent(operations/k, used), price)
			if math.Abs(more.Value/one.Value-1) > 1e-9 {
				t.Errorf("%s: %v operations cost %v each thousand, and %v times as many %v", c.Name, operations, one, k, more)
			}
			if math.Abs(less.Value/one.Value/k-1) > 1e-9 {
				t.Errorf("%s: a %vth of the work costs %v, and all of it %v", c.Name, k, less, one)
			}
		}
	})
}

func TestAStudyRequestsOnlyAvailableCosts(t *testing.T) {
	names := func(costs []Cost) (text string) {
		for _, c := range costs {
			text += c.Name + " " + c.Unit + "\n"
			if !strings.HasSuffix(c.Unit, PerUnit) || c.About == "" || c.Title == "" || !Named(c.Name) {
				t.Errorf("%+v", c)
			}
		}
		return text
	}
	usual := names(Asked(false, false, nil))
	if strings.Contains(usual, "syscalls") || strings.Contains(usual, "money") || !strings.HasPrefix(usual, CPU+" s/kop\n") {
		t.Error(usual)
	}
	all := names(Asked(true, false, &Price{Currency: "CHF"}))
	if !strings.Contains(all, "syscalls_per_kop 1/kop\n") || !strings.Contains(all, "money_per_kop CHF/kop\n") {
		t.Error(all)
	}
	if Named("requests") || !Earlier("cpu_per_op") || slices.ContainsFunc(Asked(true, false, &Price{}), func(c Cost) bool { return Earlier(c.Name) }) {
		t.Error("the earlier name is not told from the others")
	}
}

func TestUseAsAWholeNeedsNoOperations(t *testing.T) {
	used := usage.Unknown("not given")
	used.CPUUser, used.CPUSystem, used.MemoryPeak, used.DiskRead = usage.Known(3), usage.Known(1), usage.Known(5<<20), usage.Known(0)
	for name, want := range map[string]float64{"cpu_percent": 160, "memory_peak": 5 << 20, "bytes_read": 0} {
		c, _ := Lookup(name)
		if got := c.Of(Spent{Usage: &used, Seconds: 2.5}, nil); got != usage.Known(want) {
			t.Errorf("%s: %+v, want %v", name, got, want)
		}
	}
	busy, _ := Lookup("cpu_percent")
	if got := busy.Of(Spent{Usage: &used}, nil); got.Missing != "the time of the samples is unknown" {
		t.Errorf("%+v", got)
	}
}

package usage

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/linux/cgroup"
)

// recorded is a machine with cgroup v2, as it was before; after moves it on.
func recorded(t *testing.T) (on machine, after func()) {
	t.Helper()
	root := t.TempDir()
	lay := func(when string) {
		if err := copyOver(filepath.Join("testdata", "v2", when), root); err != nil {
			t.Fatal(err)
		}
	}
	lay("before")
	proc, sys := filepath.Join(root, "proc"), filepath.Join(root, "sys")
	for link, to := range map[string]string{"self": "net:[1]", "4711": "net:[2]"} {
		if err := os.MkdirAll(filepath.Join(proc, link, "ns"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(proc, link, "ns", "net")); err != nil {
			t.Fatal(err)
		}
	}
	// 253:0 lies on the disk 259:0, and 7:3 on a file: names that not every file
	// system could hold in testdata.
	for _, file := range []string{"253:0/slaves/nvme0n1", "7:3/loop/backing_file"} {
		if err := os.MkdirAll(filepath.Join(sys, "dev/block", file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	clock := time.Unix(0, 0)
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	return machine{cgroup.V2(filepath.Join(sys, "fs/cgroup"), proc), proc, sys, now, nil}, func() { lay("after") }
}

func copyOver(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(from, path)
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, below), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, below), data, 0o644)
	})
}

const never = time.Hour // between looks: only the first and the last

func watch(on machine, f Footprint) *Sampler {
	return start(on, Options{Every: never}, Target{Footprint: f}).Samplers[0]
}

func TestUsageOfARecordedV2Machine(t *testing.T) {
	on, after := recorded(t)
	s := watch(on, Footprint{
		Cgroups:    []string{"/tare/o/vm", "/tare/o/vm/below", "/tare/o/vm"},
		Processes:  []Process{{4700, "shim"}},
		NetworkPID: 4711,
	})
	after()
	u := s.Stop()
	want := map[string][2]float64{
		"user":    {u.CPUUser.Value, 2.5 + 0.06}, // the group, and the shim's own and its children's
		"system":  {u.CPUSystem.Value, 1 + 0.24}, // without redis, which is in the group
		"peak":    {u.MemoryPeak.Value, 71e6 + 10100*1024},
		"mean":    {u.MemoryMean.Value, (41e6+71e6)/2 + 9600*1024},
		"read":    {u.DiskRead.Value, 1 << 20}, // of 259:0 alone: the others lie on it
		"written": {u.DiskWritten.Value, 2<<20 + 8192},
		"in":      {u.NetReceived.Value, 50000}, // of eth0 alone: the same bytes pass tap0_kata
		"out":     {u.NetSent.Value, 9000},
	}
	for what, v := range want {
		if math.Abs(v[0]-v[1]) > 1e-6*v[1] {
			t.Errorf("%s is %v, want %v", what, v[0], v[1])
		}
	}
	if len(u.Notes) > 0 {
		t.Errorf("notes: %v", u.Notes)
	}
	if again := s.Stop(); again.CPUUser != u.CPUUser {
		t.Error("a second Stop returns something else")
	}
}

func TestTheHostsEndOfAnInterfaceCountsTheOtherWayRound(t *testing.T) {
	on, after := recorded(t)
	s := watch(on, Footprint{Cgroups: []string{"/tare/o/vm"}, Devices: []string{"tap0"}})
	after()
	if u := s.Stop(); u.NetReceived != Known(500) || u.NetSent != Known(1000) {
		t.Errorf("received %v, sent %v", u.NetReceived, u.NetSent)
	}
}

func TestAFigureThatCannotBeReadIsMissingWithItsReason(t *testing.T) {
	for what, c := range map[string]struct {
		footprint Footprint
		of        func(Usage) Figure
		want      string
	}{
		"no network":     {Footprint{Cgroups: []string{"/tare/o/vm"}}, func(u Usage) Figure { return u.NetSent }, "no network that counts its bytes"},
		"unknown device": {Footprint{Devices: []string{"tap9"}}, func(u Usage) Figure { return u.NetReceived }, "no network interface tap9"},
		"shared network": {Footprint{NetworkPID: os.Getpid()}, func(u Usage) Figure { return u.NetReceived }, "reading the network namespace"},
		"nothing at all": {Footprint{}, func(u Usage) Figure { return u.CPU() }, "neither a cgroup nor a process"},
		"no such group":  {Footprint{Cgroups: []string{"/gone"}}, func(u Usage) Figure { return u.MemoryPeak }, "cgroup /gone"},
		"dead process":   {Footprint{Processes: []Process{{99, "proxy"}}}, func(u Usage) Figure { return u.CPUUser }, "process 99 (proxy) had exited"},
	} {
		on, _ := recorded(t)
		u := watch(on, c.footprint).Stop()
		if got := c.of(u); !strings.Contains(got.Missing, c.want) {
			t.Errorf("%s: %+v, want the reason %q", what, got, c.want)
		}
		if _, err := json.Marshal(u); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestANetworkThatIsTheHostsIsNotCounted(t *testing.T) {
	s := Start(Footprint{NetworkPID: os.Getpid()}, Options{Every: never})
	if u := s.Stop(); !strings.Contains(u.NetSent.Missing, "shares the host's network") {
		t.Errorf("sent %+v", u.NetSent)
	}
}

func TestMemoryBetweenTwoReadingsIsInterpolated(t *testing.T) {
	var c curve
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	c.add(at(0), Known(10), true)
	c.add(at(1), Known(30), true)
	c.add(at(4), Known(30), true)
	if peak, mean, area := c.figures(); peak != Known(30) || mean != Known((20+3*30)/4.) || area != Known(20+3*30) {
		t.Errorf("peak %v, mean %v, area %v", peak, mean, area)
	}
}

func TestGroupsInsideOthersAreCountedOnce(t *testing.T) {
	got := outermost([]string{"/a/b", "/a", "/ab", "/a", "/c/d"})
	if want := []string{"/a", "/ab", "/c/d"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestPressureIsTheShareOfTheTimeBetween(t *testing.T) {
	on, after := recorded(t)
	a := readHost(on.proc, time.Unix(0, 0))
	after()
	p := Between(a, readHost(on.proc, time.Unix(2, 0)))
	if p.CPU == nil || *p.CPU != 0.25 || p.IO == nil || *p.IO != 0 || p.Steal == nil || *p.Steal != 0.25 {
		t.Errorf("pressure %+v", p)
	}
	if p.Memory != nil {
		t.Errorf("memory pressure %v, which this kernel does not report", *p.Memory)
	}
}

func TestTheCanaryTakesTime(t *testing.T) {
	if d := Canary(); d <= 0 {
		t.Errorf("the canary took %v", d)
	}
}

// Kata Containers moves a VMM out of the group in which it started; the shim stays there, and
// the group does not count memory.
func TestTheCPUTimeOfAStartHasThatOfTheGroupInWhichItBegan(t *testing.T) {
	on, _ := recorded(t)
	files(t, filepath.Join(on.sys, "fs/cgroup/early"), map[string]string{"cpu.stat": "usage_usec 9000000\nuser_usec 5000000\nsystem_usec 4000000\n", "cgroup.procs": "4700\n"})
	footprint := Footprint{Cgroups: []string{"/tare/o/vm"}, Processes: []Process{{4700, "shim"}}}
	without, group := ofStart(on, footprint), ofStart(on, Footprint{Cgroups: footprint.Cgroups})
	footprint.Early = "/early"
	u := ofStart(on, footprint)
	if user, system := u.CPUUser.Value-group.CPUUser.Value, u.CPUSystem.Value-group.CPUSystem.Value; math.Abs(user-5)+math.Abs(system-4) > 1e-6 {
		t.Errorf("the group adds %v s of user and %v s of system time", user, system)
	}
	if diff := cmp.Diff(without.Parts, u.Parts, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("the time is divided otherwise, - without the group:\n%s", diff)
	}
	if u.MemoryPeak != without.MemoryPeak || u.MemoryPeak.Missing != "" {
		t.Errorf("memory is %v, and was %v", u.MemoryPeak, without.MemoryPeak)
	}
}

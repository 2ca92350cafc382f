package usage

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// files lays files down in a directory.
func files(t testing.TB, root string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// stat is a line of /proc/PID/stat: user and system time in ticks, its own and
// its children's.
func stat(pid, parent int, comm string, kernel bool, user, system, childUser, childSystem int) string {
	flags := 4194560
	if kernel {
		flags |= kernelThread
	}
	return fmt.Sprintf("%d (%s) S %d 0 0 0 -1 %d 0 0 0 0 %d %d %d %d 20 0 1 0 %d 0 0\n", pid, comm, parent, flags, user, system, childUser, childSystem, pid)
}

func TestTheMachinesTimeIsDividedAmongItsUsers(t *testing.T) {
	on, after := recorded(t)
	files(t, on.proc, map[string]string{
		"2/stat":  stat(2, 0, "kthreadd", true, 0, 0, 0, 0),
		"12/stat": stat(12, 2, "ksoftirqd/0", true, 0, 10, 0, 0),
		"13/stat": stat(13, 2, "kworker/0:1-events", true, 0, 5, 0, 0),
		"90/stat": stat(90, 1, "make", false, 10, 0, 0, 0),
		"91/stat": stat(91, 90, "cc", false, 20, 0, 0, 0),
		"stat":    "cpu  1000 0 1000 1000 0 10 20 50 0 0\ncpu0 1000 0 1000 1000 0 10 20 50 0 0\n",
	})
	s := watch(on, Footprint{Cgroups: []string{"/tare/o/vm"}})
	after()
	files(t, on.proc, map[string]string{
		"12/stat": stat(12, 2, "ksoftirqd/0", true, 0, 30, 0, 0),
		"13/stat": stat(13, 2, "kworker/0:1-events", true, 0, 15, 0, 0),
		// 91 worked on for 0.3 s and ended, and another child lived for 0.1 s.
		"90/stat": stat(90, 1, "make", false, 20, 0, 60, 0),
		"stat":    "cpu  1400 0 1200 1000 0 20 40 75 0 0\ncpu0 1400 0 1200 1000 0 20 40 75 0 0\n",
	})
	if err := os.RemoveAll(filepath.Join(on.proc, "91")); err != nil {
		t.Fatal(err)
	}
	h := s.Stop().Host
	// The recorded shim and logger are others as well: nobody listed them.
	others := .1 + .4 + (.15 - .10) + (.40 - .20) + (.06 - .05) + (.09 - .05)
	for what, v := range map[string]struct {
		got  Figure
		want float64
	}{
		"busy": {h.CPU, 4 + 2 + .1 + .2}, "user": {h.User, 4}, "irq": {h.IRQ, .1}, "softirq": {h.SoftIRQ, .2}, "steal": {h.Steal, .25},
		"watched": {h.Watched, 3.5}, "kernel's threads": {h.KernelThreads, .3}, "others": {h.Others, others},
		"in no thread": {h.Unattributed, 6.3 - 3.5 - .3 - others},
	} {
		if v.got.Missing != "" || math.Abs(v.got.Value-v.want) > 1e-9 {
			t.Errorf("%s: %+v, want %g", what, v.got, v.want)
		}
	}
	if len(h.Kernel) != 2 || h.Kernel[0].Name != "ksoftirqd" || h.Kernel[1].Name != "kworker" {
		t.Errorf("the kernel's threads are %+v", h.Kernel)
	}
	if h.Error.Value <= 0 || h.Energy.Missing == "" || h.Cores != 1 {
		t.Errorf("error %+v, energy %+v, %d cores", h.Error, h.Energy, h.Cores)
	}
}

func TestWithoutVisibleKernelThreadsTheirTimeIsMissing(t *testing.T) {
	on, _ := recorded(t)
	h := watch(on, Footprint{Cgroups: []string{"/tare/o/vm"}}).Stop().Host
	if h.KernelThreads.Missing == "" || h.Unattributed.Missing == "" {
		t.Errorf("%+v, %+v", h.KernelThreads, h.Unattributed)
	}
}

func TestTotalsOfOneMachineAreNotCountedTwice(t *testing.T) {
	a := &HostUsage{Boot: "x", CPU: Known(4), Watched: Known(1), Others: Known(2), Cores: 2}
	b := &HostUsage{Boot: "x", CPU: Known(4), Watched: Known(1.5), Others: Known(1.5), Cores: 2}
	if sum := a.plus(b); sum.CPU != Known(4) || sum.Watched != Known(2.5) || sum.Others != Known(.5) || sum.Cores != 2 {
		t.Errorf("%+v", sum)
	}
	b.Boot = "y"
	if sum := a.plus(b); sum.CPU != Known(8) || sum.Others != Known(3.5) || sum.Cores != 4 {
		t.Errorf("of two machines: %+v", sum)
	}
	if a.plus(a) != a || a.plus(nil) != a || (*HostUsage)(nil).plus(a) != a {
		t.Error("the same totals are added to themselves")
	}
}

// TestEnergyIsCountedAcrossAWrap: two packages, and the whole
// platform, which must not be added to them.
func TestEnergyIsCountedAcrossAWrap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sys := t.TempDir()
		const whole = 1000
		used, at := [2]int{}, [2]int{}
		lay := func() {
			texts := map[string]string{"class/powercap/intel-rapl:2/name": "psys\n", "class/powercap/intel-rapl:2/energy_uj": "5\n"}
			for n := range at {
				zone := fmt.Sprintf("class/powercap/intel-rapl:%d/", n)
				texts[zone+"name"], texts[zone+"max_energy_range_uj"] = fmt.Sprintf("package-%d\n", n), fmt.Sprintln(whole)
				texts[zone+"energy_uj"] = fmt.Sprintln(at[n])
			}
			files(t, sys, texts)
		}
		lay()
		e := openEnergy(sys)
		for read := range rapid.IntRange(0, 5).Draw(rt, "looks") {
			for n := range at {
				more := rapid.IntRange(0, whole-1).Draw(rt, "energy")
				used[n], at[n] = used[n]+more, (at[n]+more)%whole
			}
			lay()
			e.poll(time.Unix(int64(read)*3600, 0))
		}
		if got, want := e.total(), float64(used[0]+used[1])/1e6; got.Missing != "" || math.Abs(got.Value-want) > 1e-12 {
			rt.Fatalf("%+v, want %g J", got, want)
		}
	})
}

func TestEnergyThatCannotBeReadIsMissing(t *testing.T) {
	if f := openEnergy(t.TempDir()).total(); !strings.Contains(f.Missing, "no readable energy counters") {
		t.Errorf("%+v", f)
	}
	sys := t.TempDir()
	files(t, sys, map[string]string{"class/powercap/intel-rapl:0/name": "package-0\n", "class/powercap/intel-rapl:0/energy_uj": "none\n"})
	if f := openEnergy(sys).total(); !strings.Contains(f.Missing, "reading the energy counters") {
		t.Errorf("%+v", f)
	}
}

func TestTheAccountingOfInterruptsIsReadFromTheKernelsConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"CONFIG_IRQ_TIME_ACCOUNTING=y\n": "apart", "# CONFIG_IRQ_TIME_ACCOUNTING is not set\n": "inside", "": "",
	} {
		if got := irqTimeIn(strings.NewReader(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	root := t.TempDir()
	files(t, root, map[string]string{"proc/sys/kernel/osrelease": "6.1.0\n", "boot/config-6.1.0": "CONFIG_IRQ_TIME_ACCOUNTING=y\n"})
	if got := irqTimeOf(root+"/proc", root+"/boot"); got != "apart" {
		t.Errorf("%q", got)
	}
}

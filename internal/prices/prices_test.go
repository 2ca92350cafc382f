package prices

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// measured is a run in which a call takes 100 ns natively, and in other environments what they
// add, in time and in CPU time. Each block is faster or slower as a whole, and a start of the
// program takes a millisecond of CPU time natively, and 20 elsewhere.
func measured(blocks int, more map[string][2]float64) *rundir.Run {
	r := &rundir.Run{Plan: &study.Plan{Baseline: "native"}}
	r.Manifest.Run, r.Manifest.Machine = "prices-1", rundir.Machine{CPU: "A CPU", Kernel: "6.1", Cores: 2}
	w := study.Workload{Name: Workload, Pack: workload.Pack{Name: Workload}}
	for _, kind := range []string{nothing, "getpid"} {
		w.Levels = append(w.Levels, study.Level{Name: "kind=" + kind, Parameters: map[string]string{parameter: kind}})
	}
	r.Plan.Workloads = []study.Workload{w}
	names := []string{"native"}
	for _, name := range []string{"docker", "gvisor"} {
		if _, there := more[name]; there {
			names = append(names, name)
		}
	}
	const rounds, each = 3, 1000
	for _, name := range names {
		r.Plan.Environments = append(r.Plan.Environments, study.Environment{Name: name, Kind: name})
		start := .02
		if name == "native" {
			start = .001
		}
		for b := 1; b <= blocks; b++ {
			for _, l := range w.Levels {
				t := rundir.Trial{Block: b, Environment: name, Workload: Workload, Level: l.Name, Status: rundir.OK, Metrics: map[string]float64{}}
				calls, cpu := float64(rounds*each), 100+more[name][1]
				if l.Parameters[parameter] == nothing {
					calls, cpu = rounds*4, 0
				}
				for n := 1; n <= rounds; n++ {
					t.Rounds = append(t.Rounds, rundir.Round{Number: n, Metrics: map[string]float64{nanoseconds: 100 + more[name][0] + float64(10*b+n)}})
				}
				t.Metrics["calls"] = calls
				t.Metrics[cost.CPU] = (start*rounds + cpu*1e-9*calls) / calls * 1000
				r.Trials = append(r.Trials, t)
			}
		}
	}
	return r
}

func TestAPriceIsTheDifferenceWithinRoundsWithoutTheStartOfTheProgram(t *testing.T) {
	l, err := Of(measured(6, map[string][2]float64{"docker": {40, 30}, "gvisor": {2000, 2500}}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]float64{"docker": {40, 30}, "gvisor": {2000, 2500}} {
		p := l.find(name, "getpid")
		if p == nil || p.Blocks != 6 {
			t.Fatalf("%s: %+v", name, p)
		}
		for i, a := range []*Amount{p.MoreTime, p.MoreCPU} {
			if a == nil || math.Abs(a.Estimate-want[i]) > 1e-6 || a.Low == nil || math.Abs(*a.Low-want[i]) > 1e-6 || math.Abs(*a.High-want[i]) > 1e-6 {
				t.Errorf("%s: %+v, not %g", name, a, want[i])
			}
		}
	}
	if p := l.find("native", "getpid"); p.MoreTime != nil || math.Abs(*p.CPU-100) > 1e-6 || math.Abs(p.Time-137) > 1e-6 {
		t.Errorf("native: %+v", p)
	}
	if l.find("native", nothing) != nil {
		t.Error("the start of the program has a price")
	}
}

func TestAnExchangeHasTheStartOfWhoAsksInItsPriceWhereThatIsOutside(t *testing.T) {
	for place, start := range map[string]float64{
		// A millisecond of a start natively, and 20 in docker, are in the CPU time of a thousand calls.
		workload.OnHost: 19_000, workload.Apart: 0,
	} {
		r := measured(6, map[string][2]float64{"docker": {40, 30}})
		pack := workload.Pack{Name: Packets, Roles: map[string]workload.Role{"driver": {Place: place}}, Driver: &workload.Step{Role: "driver"}}
		r.Plan.Workloads = append(r.Plan.Workloads, study.Workload{Name: "exchanges", Pack: pack, Levels: []study.Level{{Name: "kind=outside-1", Parameters: map[string]string{parameter: "outside-1"}}}})
		for _, t := range r.Trials {
			if t.Level == "kind=getpid" {
				t.Workload, t.Level = "exchanges", "kind=outside-1"
				r.Trials = append(r.Trials, t)
			}
		}
		l, err := Of(r)
		if err != nil {
			t.Fatal(err)
		}
		if p := l.find("docker", "outside-1"); p == nil || math.Abs(p.MoreCPU.Estimate-(30+start)) > 1e-6 || math.Abs(p.MoreTime.Estimate-40) > 1e-6 {
			t.Errorf("%s: %+v", place, p)
		}
	}
}

func TestFewBlocksHaveNoInterval(t *testing.T) {
	l, err := Of(measured(stats.LeastBlocks-1, map[string][2]float64{"docker": {40, 30}}))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	l.Text(&text, 80)
	if a := l.find("docker", "getpid").MoreTime; a.Low != nil || !strings.Contains(text.String(), "~+40.0 ns") {
		t.Errorf("%+v\n%s", a, text.String())
	}
}

func TestAnIntervalWithOneEndIsNone(t *testing.T) {
	l, err := Of(measured(6, map[string][2]float64{"docker": {40, 30}}))
	if err != nil {
		t.Fatal(err)
	}
	l.find("docker", "getpid").MoreTime.High = nil // a file that somebody wrote
	var text strings.Builder
	l.Text(&text, 80)
	if err := l.Details(&text, "docker", 80); err != nil || !strings.Contains(text.String(), "~+40.0 ns") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestWithoutTheKindThatDoesNothingThereIsNoCPUTime(t *testing.T) {
	r := measured(6, map[string][2]float64{"docker": {40, 30}})
	for i := range r.Trials {
		if r.Trials[i].Level == "kind="+nothing {
			r.Trials[i].Status, r.Trials[i].Metrics = rundir.Failed, nil
		}
	}
	l, err := Of(r)
	if err != nil {
		t.Fatal(err)
	}
	if p := l.find("docker", "getpid"); p.CPU != nil || p.MoreCPU != nil || p.MoreTime == nil {
		t.Errorf("%+v", p)
	}
}

func TestARunOfAnotherStudyHasNoPrices(t *testing.T) {
	r := measured(6, map[string][2]float64{"docker": {40, 30}})
	r.Plan.Baseline = "docker"
	for r, want := range map[*rundir.Run]string{
		{Plan: &study.Plan{Study: "quick"}, Manifest: rundir.Manifest{Run: "quick-1"}}: "quick-1: quick gives no price list: it needs a workload \"calls\"",
		r: "its baseline docker is of the kind docker, and must be native",
	} {
		if _, err := Of(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAListThatLostAnEnvironmentReplacesNone(t *testing.T) {
	both := measured(6, map[string][2]float64{"docker": {40, 30}, "gvisor": {400, 300}})
	before, err := Of(both)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		planned []string
		lost    string
	}{
		"gvisor failed":   {[]string{"native", "docker", "gvisor"}, "gvisor"},
		"gvisor left out": {[]string{"native", "docker"}, ""},
	} {
		plan := &study.Plan{}
		for _, e := range c.planned {
			plan.Environments = append(plan.Environments, study.Environment{Name: e})
		}
		list, err := Of(measured(6, map[string][2]float64{"docker": {40, 30}}))
		if err != nil {
			t.Fatal(err)
		}
		if lost := strings.Join(list.Lost(before, plan), " "); lost != c.lost {
			t.Errorf("%s: lost %q, want %q", name, lost, c.lost)
		}
	}
}

func TestAListIsReadOnItsOwnMachineOnly(t *testing.T) {
	l, err := Of(measured(6, map[string][2]float64{"docker": {40, 30}}))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "prices.json")
	if _, err := Load(path, l.Machine); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := Load(path, l.Machine)
	if err != nil || fmt.Sprint(read.find("docker", "getpid").MoreTime.Estimate) != fmt.Sprint(l.find("docker", "getpid").MoreTime.Estimate) {
		t.Errorf("%+v, %v", read, err)
	}
	for name, change := range map[string]func(*rundir.Machine){
		"CPU":         func(m *rundir.Machine) { m.CPU = "Another" },
		"kernel":      func(m *rundir.Machine) { m.Kernel = "6.2" },
		"cores":       func(m *rundir.Machine) { m.Cores = 4 },
		"cgroups":     func(m *rundir.Machine) { m.Cgroups = "v2" },
		"virtualised": func(m *rundir.Machine) { m.Virtualised = "yes" },
	} {
		here := l.Machine
		change(&here)
		if _, err := Load(path, here); err == nil || !strings.Contains(err.Error(), "another machine ("+name+" ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	here := l.Machine
	here.Memory, here.Distribution = 1, "Another"
	if _, err := Load(path, here); err != nil {
		t.Errorf("memory and distribution change no price: %v", err)
	}
}

func TestAListIsATable(t *testing.T) {
	l, err := Of(measured(6, map[string][2]float64{"docker": {0.4, 30}, "gvisor": {2000, 2.5e6}}))
	if err != nil {
		t.Fatal(err)
	}
	low := -20.
	l.find("docker", "getpid").MoreTime.Low = &low
	var text strings.Builder
	l.Text(&text, 80)
	if err := l.Details(&text, "gvisor", 80); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "list.txt", []byte(text.String()))
	if err := l.Details(&text, "podman", 80); err == nil || err.Error() != `the price list has no environment "podman" (it has docker, gvisor)` {
		t.Error(err)
	}
}

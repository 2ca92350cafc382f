package usage

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/linux/cgroup"
)

func TestEveryQuantityOfARecordedMachineIsReadOrMissingWithAReason(t *testing.T) {
	on, after := recorded(t)
	vm := filepath.Join(on.sys, "fs/cgroup/tare/o/vm")
	lay := func(factor string) {
		pressure := "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + factor + "00000\nfull avg10=0 avg60=0 avg300=0 total=9\n"
		files(t, vm, map[string]string{"cpu.pressure": pressure, "io.pressure": pressure, "memory.pressure": pressure, "pids.current": factor + "\n",
			"../../../../../../proc/4711/task/4711/status": "Name:\tredis\nvoluntary_ctxt_switches:\t" + factor + "0\nnonvoluntary_ctxt_switches:\t" + factor + "\n"})
	}
	lay("3")
	s := watch(on, Footprint{Cgroups: []string{"/tare/o/vm"}})
	after()
	lay("7")
	u := s.Stop()
	for what, v := range map[string][2]Figure{
		"throttled": {u.CPUThrottled, Known(0)}, "reads": {u.DiskReads, Known(10)}, "writes": {u.DiskWrites, Known(36)},
		"cache": {u.CachePeak, Known(29e6)}, "stall cpu": {u.StallCPU, Known(.4)}, "stall io": {u.StallIO, Known(.4)}, "stall memory": {u.StallMemory, Known(.4)},
		"threads": {u.ThreadsPeak, Known(7)}, "processes": {u.ProcessesPeak, Known(2)}, "switches": {u.Switches, Known(44)}, "minor faults": {u.MinorFaults, Known(0)},
	} {
		if math.Abs(v[0].Value-v[1].Value) > 1e-6 || v[0].Missing != "" {
			t.Errorf("%s is %+v, want %+v", what, v[0], v[1])
		}
	}
	if u.MemorySeconds.Value <= 0 || u.PacketsIn.Missing == "" {
		t.Errorf("memory over time %+v, packets %+v", u.MemorySeconds, u.PacketsIn)
	}
	if n := s.Series().Len(); n != 2 {
		t.Errorf("%d readings", n)
	}
	last := s.Series().At(1)
	for _, q := range Quantities {
		if f := q.Of(&last); f.Missing == "" && math.IsNaN(f.Value) {
			t.Errorf("%s is no number and has no reason", q.Name)
		}
	}
}

func TestACounterOfTheReadingsNeverFalls(t *testing.T) {
	on, after := recorded(t)
	var seen []Reading
	s := start(on, Options{Every: never}, Target{Footprint{Cgroups: []string{"/tare/o/vm"}}, func(r Reading) { seen = append(seen, r) }}).Samplers[0]
	after()
	s.sampling.pass(usual)
	// The kernel corrects its division: less in user mode than it said before.
	files(t, on.sys, map[string]string{"fs/cgroup/tare/o/vm/cpu.stat": "usage_usec 4800000\nuser_usec 2000000\nsystem_usec 2800000\n"})
	u := s.Stop()
	if len(seen) != 3 || seen[2].CPUUser.Value < seen[1].CPUUser.Value {
		t.Errorf("user time is %v and then %v", seen[1].CPUUser, seen[2].CPUUser)
	}
	if u.CPUUser.Value >= seen[2].CPUUser.Value || math.Abs(u.CPU().Value-3.6) > 1e-9 {
		t.Errorf("the usage says %v of %v", u.CPUUser, u.CPU())
	}
	for n, r := range seen {
		if sum := r.CPUUser.Value + r.CPUSystem.Value; sum > r.CPU.Value+1e-9 {
			t.Errorf("reading %d: user and system time are %v of %v", n, sum, r.CPU.Value)
		}
	}
}

func TestCPUTimeIsInEachReadingAndItsDivisionInFullOnes(t *testing.T) {
	on, after := recorded(t)
	var seen []Reading
	s := start(on, Options{Every: never}, Target{Footprint{Cgroups: []string{"/tare/o/vm"}}, func(r Reading) { seen = append(seen, r) }}).Samplers[0]
	s.fullEvery = 10
	after()
	s.sampling.pass(usual)
	u := s.Stop()
	if r := seen[1]; r.CPU.Value <= 0 || r.CPUUser != Known(0) {
		t.Errorf("the live readings haveKernel %+v in user mode of %+v", r.CPUUser, r.CPU)
	}
	between, last := s.Series().At(1), s.Series().At(2)
	if between.CPU.Missing != "" || between.CPUUser.Missing != notRead {
		t.Errorf("between two divisions there is %+v in user mode of %+v", between.CPUUser, between.CPU)
	}
	if last.CPU != u.CPU() || math.Abs(last.CPUUser.Value+last.CPUSystem.Value-last.CPU.Value) > 1e-9 {
		t.Errorf("the series ends with %+v and %+v of %+v, and the usage says %+v", last.CPUUser, last.CPUSystem, last.CPU, u.CPU())
	}
}

func TestSeriesSurviveTheTransferToAnotherMachine(t *testing.T) {
	s := &Series{Began: time.Unix(5, 7).UTC()}
	a, b := Reading{Seconds: .5, CPUUser: Known(1), Switches: Absent("nobody tells")}, Reading{Seconds: 1, CPUUser: Known(2), Switches: Known(3)}
	s.Add(&a)
	s.Add(&b)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Series
	if err := json.Unmarshal(text, &back); err != nil || back.Len() != 2 || back.At(0) != a || back.At(1) != b || !back.Began.Equal(s.Began) {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestUsageIsDividedByNameAndThread(t *testing.T) {
	on, after := recorded(t)
	tasks := func(main, helper int) map[string]string {
		return map[string]string{"4711/task/4711/stat": stat(4711, 1, "redis-server", false, main, 0, 0, 0), "4711/task/4712/stat": stat(4712, 1, "bio_close", false, helper, 0, 0, 0)}
	}
	files(t, on.proc, tasks(80, 0))
	s := watch(on, Footprint{Cgroups: []string{"/tare/o/vm"}, Roles: map[string]string{"redis-server": "server"}, Processes: []Process{{4700, "shim"}}})
	after()
	files(t, on.proc, tasks(230, 100))
	parts := s.Stop().Parts
	find := func(role, name, thread string) Part {
		i := slices.IndexFunc(parts, func(p Part) bool { return p.Role == role && p.Name == name && p.Thread == thread })
		if i < 0 {
			t.Fatalf("no %s %s %q among %+v", role, name, thread, parts)
		}
		return parts[i]
	}
	if p := find("server", "redis-server", "bio_close"); math.Abs(p.CPU-1) > 1e-9 {
		t.Errorf("%+v", p)
	}
	if p := find("server", "redis-server", ""); math.Abs(p.CPU-2.4) > 1e-9 || p.Processes != 1 {
		t.Errorf("%+v", p)
	}
	// The group counted 3.5 s, and 3.4 were seen; and the shim waited for children
	// that had used 0.05 s.
	if p := find("workload", "", ""); math.Abs(p.CPU-.15) > 1e-9 {
		t.Errorf("%+v", p)
	}
	if p := find("shim", "containerd-shim (v2)", ""); p.Memory != 9100<<10 {
		t.Errorf("%+v", p)
	}
	sum := 0.
	for _, p := range parts {
		sum += p.Share
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares come to %g", sum)
	}
	if merged := mergeParts(parts, parts); math.Abs(merged[0].CPU-2*parts[0].CPU) > 1e-9 || len(merged) != len(parts) {
		t.Errorf("merged %+v", merged)
	}
}

func TestWithoutTaskstatsTheSwitchesOfThreadsAreRead(t *testing.T) {
	root := t.TempDir()
	lay := func(a, b string) {
		files(t, root, map[string]string{"7/task/7/status": "voluntary_ctxt_switches:\t" + a + "\n", "7/task/8/status": "voluntary_ctxt_switches:\t" + b + "\nnonvoluntary_ctxt_switches:\t1\n"})
	}
	book, eyes := threadSwitches{}, &procReader{proc: root}
	lay("5", "10")
	if n, ok := book.update(eyes, 7); !ok || n != 16 {
		t.Errorf("%g, %t", n, ok)
	}
	if err := os.RemoveAll(filepath.Join(root, "7/task/8")); err != nil {
		t.Fatal(err)
	}
	if n, _ := book.update(eyes, 7); n != 16 {
		t.Errorf("after the end of a thread %g", n)
	}
}

func TestFiguresThatAnOlderVersionDidNotRecordAreMissing(t *testing.T) {
	var u Usage
	if err := json.Unmarshal([]byte(`{"cpu_user_s":1,"cpu_system_s":0}`), &u); err != nil || u.CPUSystem != Known(0) || u.Switches.Missing == "" {
		t.Errorf("%+v, %v", u, err)
	}
	text, err := json.Marshal(u)
	if err != nil || strings.Contains(string(text), "switches") || !strings.Contains(string(text), `"cpu_system_s":0`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestThrottlingAndStallsAreCounted runs on the real machine.
func TestThrottlingAndStallsAreCounted(t *testing.T) {
	group(t) // for its reasons to skip
	g, err := cgroup.Create("/tare-test-usage-quota", cgroup.Limits{CPUs: .2, Memory: 64 * quantity.MiB})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { g.Remove() })
	cmd := exec.Command("sh", "-c", "trap stop=yes TERM; echo ready; while [ -z \"$stop\" ]; do :; done; sleep 0.01; sleep 0.01")
	u := begin(t, "wait")
	if err := g.Add(u.pid); err != nil {
		t.Fatal(err)
	}
	s := Start(Footprint{Cgroups: []string{g.Path()}}, Options{Every: 20 * time.Millisecond})
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	// Under emulation the shell's start alone can use what is waited for below.
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	// As much as is asked for below: a count of rounds would take an emulated machine minutes.
	counter := g.Counter()
	defer counter.Close()
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if used, err := counter.CPU(); err != nil {
			t.Fatal(err)
		} else if used.Total > 200*time.Millisecond && used.Throttled > 200*time.Millisecond {
			break
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	usage := s.Stop()
	between(t, "time held back", usage.CPUThrottled, .05, 100)
	between(t, "threads", usage.ThreadsPeak, 2, 100)
	between(t, "page faults", usage.MinorFaults, 10, 1e6)
	if usage.StallCPU.Missing == "" {
		between(t, "time that something waited", usage.StallCPU, .01, 100)
	}
	if usage.Switches.Missing == "" {
		between(t, "context switches", usage.Switches, 2, 1e6)
	}
	if !slices.ContainsFunc(usage.Parts, func(p Part) bool { return p.Name == "sh" && p.CPU > .05 }) {
		t.Errorf("the shell that ended is not among %+v", usage.Parts)
	}
	if usage.Sampler.Passes < 4 || usage.Sampler.CPU <= 0 || usage.Sampler.PassMax < usage.Sampler.PassMean {
		t.Errorf("the overhead of the sampler is %+v", usage.Sampler)
	}
	if usage.Host == nil || usage.Host.Boot != Boot() || usage.Host.CPU.Value <= 0 {
		t.Errorf("the machine's totals are %+v", usage.Host)
	}
	u.in.Close()
	u.wait()
}

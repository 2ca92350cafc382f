package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tare/internal/agent"
	"tare/internal/cost"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/quantity"
	"tare/internal/rundir"
	"tare/internal/sample"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// The fixture is a run of the quick study as a small noisy machine would give
// it: an environment that is not usable, an emulated guest, trials that fail,
// levels, and figures that the kernel does not give.

type fakeMetric struct {
	workload.Metric
	native float64
	noise  float64
	effect map[string]float64 // ratio to native
}

type fakeWorkload struct {
	name, title, stresses, driver string
	levels                        []string
	fresh                         string
	metrics                       []fakeMetric
	cpu                           float64 // seconds
	cpuEffect                     map[string]float64
	memory, disk, net             float64
}

func lower(name, unit string, native, noise float64, primary bool, docker, gvisor, vm float64) fakeMetric {
	return fakeMetric{workload.Metric{Name: name, Unit: unit, Better: "lower", Primary: primary}, native, noise, map[string]float64{"native": 1, "docker": docker, "gvisor": gvisor, "vm": vm}}
}

func higher(name, unit string, native, noise float64, primary bool, docker, gvisor, vm float64) fakeMetric {
	m := lower(name, unit, native, noise, primary, docker, gvisor, vm)
	m.Better = "higher"
	return m
}

var fakeWorkloads = []fakeWorkload{
	{name: "startup", title: "Start of an instance", stresses: "start", fresh: "trial", cpu: .03, memory: 12e6,
		metrics: []fakeMetric{lower("ready", "s", .031, .05, true, 14.2, 17.5, 52)}},
	{name: "sysbench-cpu", title: "Prime numbers with sysbench", stresses: "cpu", cpu: 3, memory: 9e6, driver: "sysbench cpu --cpu-max-prime=10000 --time=3 --threads=1 run",
		metrics: []fakeMetric{higher("events", "events/s", 1130, .006, true, 1.002, .991, .48),
			lower("latency_p95", "ms", .92, .03, false, 1, 1.02, 2.1)}},
	{name: "sysbench-memory", title: "Memory writes with sysbench", stresses: "memory", cpu: 3, memory: 9e6, driver: "sysbench memory --memory-block-size=1M --memory-total-size=8G run",
		metrics: []fakeMetric{higher("throughput", "MiB/s", 9400, .012, true, 1.06, .985, .55)}},
	{name: "syscalls", title: "A loop of getppid", stresses: "syscalls", cpu: 2, memory: 3e6, driver: "tare-agent loop syscalls --seconds 2",
		metrics: []fakeMetric{higher("calls", "1/s", 7.3e6, .012, true, .93, .051, .30)}},
	{name: "fio-randread", title: "Random reads of 4 KiB with fio", stresses: "disk", cpu: 1.2, memory: 25e6, disk: 4e8, driver: "fio --name=r --rw=randread --bs=4k --direct=1 --size=256M --runtime=4 --output-format=json",
		metrics: []fakeMetric{higher("iops", "1/s", 24800, .14, true, .985, .62, .41),
			lower("latency_p99", "us", 310, .2, false, 1.02, 1.7, 2.6)}},
	{name: "fio-randwrite", title: "Random writes of 4 KiB with fio", stresses: "disk", cpu: 1.4, memory: 25e6, disk: 3e8, driver: "fio --name=w --rw=randwrite --bs=4k --direct=1 --size=256M --runtime=4 --output-format=json",
		metrics: []fakeMetric{higher("iops", "1/s", 18200, .16, true, .96, .55, .37),
			lower("latency_p99", "us", 420, .25, false, 1.05, 1.9, 2.9)}},
	{name: "redis", title: "Redis under redis-benchmark", stresses: "network", cpu: 2.5, memory: 14e6, net: 6e7, driver: "redis-benchmark -h 127.0.0.1 -t get,set -n 100000 -c ${clients} --csv",
		levels: []string{"clients=1", "clients=10", "clients=50", "clients=200"},
		metrics: []fakeMetric{higher("get", "requests/s", 21000, .03, true, .93, .42, .24),
			higher("set", "requests/s", 20400, .03, true, .925, .41, .235),
			lower("get_p99", "ms", .41, .08, false, 1.09, 2.4, 4.8)}},
	{name: "nginx", title: "nginx under wrk", stresses: "network", cpu: 4.5, memory: 18e6, net: 2e8, driver: "wrk -t1 -c50 -d4s --latency http://127.0.0.1:8080/",
		metrics: []fakeMetric{higher("requests", "requests/s", 14200, .025, true, .925, .31, .19),
			lower("latency_p99", "ms", 5.1, .07, false, 1.1, 3.6, 6.2),
			lower("errors", "", 0, 0, false, 1, 1, 1)}},
}

const fixtureBlocks = 12

func fixture() Input {
	rng := rand.New(rand.NewPCG(7, 11))
	began := time.Date(2026, 11, 21, 1, 45, 0, 0, time.UTC)
	plan := fixturePlan()
	in := Input{Plan: plan, Manifest: fixtureManifest(began), Folder: "quick-20261121-014500"}
	clock := began
	for block := 1; block <= fixtureBlocks; block++ {
		drift := math.Exp(.06 * math.Sin(float64(block)/2))
		order := rng.Perm(4)
		position := 0
		for _, e := range order {
			env := []string{"native", "docker", "gvisor", "vm"}[e]
			for _, wi := range rng.Perm(len(fakeWorkloads)) {
				w := fakeWorkloads[wi]
				for li, level := range plan.Workloads[wi].Levels {
					position++
					t := fakeTrial(rng, w, env, level.Name, li, block, drift)
					t.Charge(plan.Workloads[wi].Pack, nil)
					t.Position = position
					t.Started = clock
					clock = clock.Add(time.Duration(t.HostSeconds*1e9) + 300*time.Millisecond)
					t.Ended = clock
					in.Trials = append(in.Trials, t)
				}
			}
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest.Environments)
	return in
}

func fakeTrial(rng *rand.Rand, w fakeWorkload, env, level string, li, block int, drift float64) rundir.Trial {
	t := rundir.Trial{Block: block, Environment: env, Workload: w.name, Level: level, Status: rundir.OK,
		Instance: fmt.Sprintf("%s-%02d", env, block), Metrics: map[string]float64{}, Missing: map[string]string{}}
	t.HostSeconds = w.cpu * 1.02
	t.GuestSeconds = t.HostSeconds * (1 + 1e-4*rng.NormFloat64())
	t.OwnSeconds = .012
	scaleUp := []float64{1, 4.2, 6.1, 5.6}[li]
	for _, m := range w.metrics {
		x := m.native * m.effect[env] * drift * math.Exp(m.noise*rng.NormFloat64())
		if rng.Float64() < .03 {
			x *= math.Exp(5 * m.noise * math.Abs(rng.NormFloat64()))
		}
		switch {
		case m.Better == "higher" && w.levels != nil:
			x *= scaleUp
		case m.Better == "lower" && w.levels != nil:
			x *= []float64{1, 2.2, 7.4, 31}[li]
		}
		t.Metrics[m.Name] = x
	}
	overhead := map[string]float64{"native": 1, "docker": 1.03, "gvisor": 1.6, "vm": 2.4}[env]
	cpu := w.cpu * overhead * math.Exp(.015*rng.NormFloat64())
	t.Usage = &sample.Usage{
		CPUUser: sample.Known(cpu * .7), CPUSystem: sample.Known(cpu * .3),
		MemoryPeak: sample.Known(w.memory*overhead + map[string]float64{"native": 0, "docker": 9e6, "gvisor": 58e6, "vm": 310e6}[env]),
		MemoryMean: sample.Known(w.memory*.8*overhead + map[string]float64{"native": 0, "docker": 8e6, "gvisor": 51e6, "vm": 296e6}[env]),
		DiskRead:   sample.Known(w.disk), DiskWritten: sample.Known(w.disk * .1),
		NetReceived: sample.Known(w.net), NetSent: sample.Known(w.net * 3),
	}
	if env == "native" {
		t.Usage.NetReceived = sample.Absent("the instance has no network of its own")
		t.Usage.NetSent = t.Usage.NetReceived
	}
	if env == "gvisor" {
		t.Usage.DiskRead = sample.Absent("cgroup v1 counts no bytes before a throttle rule exists")
	}
	t.Usage.MemorySeconds = sample.Known(t.Usage.MemoryMean.Value * t.HostSeconds)
	t.Usage.Switches = sample.Known(math.Round(2e4 * scaleUp * overhead))
	t.Usage.Host = &sample.HostUsage{Energy: sample.Absent("the machine has no energy counters")}
	if env == "vm" {
		t.Usage.Switches = sample.Absent("the guest's own are not seen from outside")
	}
	if w.name != "startup" {
		t.Metrics["operations"] = math.Round(1e5 * scaleUp)
	}
	fakeTrouble(&t, block, li)
	folder := fmt.Sprintf("raw/block-%03d/%s.%s", block, env, w.name)
	if level != "" {
		folder += "." + level
	}
	for _, name := range []string{"driver.stdout", "driver.stderr"} {
		if w.driver != "" {
			t.Raw = append(t.Raw, rundir.Raw{Name: name, Path: folder + "/" + name, SHA256: fmt.Sprintf("%064x", rng.Uint64()), Bytes: 900})
		}
	}
	if w.name == "startup" && t.Status == rundir.OK {
		t.Phases = fakePhases(env, t.Metrics["ready"])
		t.Paths = fakePaths(env)
	}
	psi := 20 + 30*rng.Float64()
	t.Pressure = &rundir.Pressure{CPU: &psi}
	return t
}

// fakeTrouble makes a few trials fail, or lack a figure, or carry a warning.
func fakeTrouble(t *rundir.Trial, block, level int) {
	fail := func(status rundir.Status, reason string) {
		t.Status, t.Reason, t.Metrics, t.Usage = status, reason, nil, nil
	}
	switch {
	case t.Environment == "vm" && t.Workload == "nginx" && (block == 3 || block == 9):
		fail(rundir.Failed, "wrk exited with status 1: unable to connect to 127.0.0.1:8080 Connection refused")
	case t.Environment == "gvisor" && t.Workload == "fio-randwrite" && block == 6:
		fail(rundir.Failed, "no space left on /data: 256 MiB wanted, 214 MiB free; give the environment more room")
	case t.Environment == "vm" && t.Workload == "redis" && level == 3:
		fail(rundir.Skipped, "known limit: 200 connections need more file descriptors than this guest allows")
	case t.Environment == "gvisor" && t.Workload == "nginx":
		delete(t.Metrics, "latency_p99")
		t.Missing["latency_p99"] = "wrk printed no latency distribution"
	case t.Environment == "vm" && t.Workload == "sysbench-cpu" && block%4 == 0:
		t.Warnings = []string{"the guest's clock ran 0.8% faster than the host's"}
	}
}

func fakePaths(env string) *environment.Paths {
	const disk = "ext4 on nvme0n1p2"
	return map[string]*environment.Paths{
		"native": {Network: "the host's network stack", Root: "folder, the image's programs mounted from the image", Data: "bind mount of a folder", RootOn: disk, DataOn: disk},
		"docker": {Network: "veth pair, the engine's bridge", Root: "overlay2", Data: "bind mount of a folder", RootOn: "xfs on nvme1n1", DataOn: disk},
		"gvisor": {Network: "gVisor's network stack, veth pair, the engine's bridge", Root: "gVisor's overlay above overlay2", Data: "gVisor's gofer, bind mount of a folder", RootOn: "xfs on nvme1n1", DataOn: disk},
		"vm":     {Network: "none: a loopback of its own", Root: "ext4 on virtio-blk, qcow2 file, cache writeback, threads", Data: "ext4 on virtio-blk, raw file, cache writeback, threads", RootOn: disk, DataOn: disk},
	}[env]
}

func fakePhases(env string, total float64) []environment.Phase {
	shares := map[string][]float64{
		"native": {.45, 0, .55}, "docker": {.92, 0, .08}, "gvisor": {.81, .11, .08}, "vm": {.12, .79, .09},
	}[env]
	var phases []environment.Phase
	for i, name := range []string{"engine", "kernel", "agent"} {
		if shares[i] > 0 {
			phases = append(phases, environment.Phase{Name: name, Duration: time.Duration(total * shares[i] * 1e9)})
		}
	}
	return phases
}

func fixturePlan() *study.Plan {
	limits := environment.Limits{CPUs: 2, Memory: 512 * quantity.MiB, Cores: []int{0, 1}}
	p := &study.Plan{Format: 1, Study: "quick: what isolation costs", Name: "quick", Origin: "built-in:quick", Baseline: "native",
		Image: image.Source{}, Limits: limits, Pin: map[string][]int{"server": {0}, "driver": {1}}, Seed: 1732153500,
		Design: study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: fixtureBlocks}, Margin: .02, Confidence: .95, Family: "metric", Drop: "decided", Budget: 8 * time.Minute}}
	for _, e := range [][3]string{
		{"native", "native", `{"rootfs":"image"}`}, {"docker", "docker", `{"runtime":"runc","network":"bridge","log":"json-file"}`},
		{"gvisor", "gvisor", `{"platform":"systrap"}`}, {"vm", "qemu", `{"machine":"q35","accel":"auto"}`}, {"podman", "podman", `{"runtime":"crun"}`}} {
		p.Environments = append(p.Environments, study.Environment{Name: e[0], Kind: e[1], Options: json.RawMessage(e[2]), Limits: limits})
	}
	for _, w := range fakeWorkloads {
		pack := workload.Pack{Name: w.name, Title: w.title, Stresses: w.stresses, Startup: w.name == "startup"}
		if w.driver != "" {
			pack.Driver = &workload.Step{Run: w.driver, Role: "driver"}
		}
		if w.name == "redis" {
			pack.Servers = []workload.Server{{Step: workload.Step{Argv: []string{"redis-server", "--save", "", "--bind", "127.0.0.1"}, Role: "server"}, Ready: agent.Probe{TCP: "127.0.0.1:6379"}}}
			pack.Parameters = map[string]workload.Parameter{"clients": {Default: "50"}}
		}
		for _, m := range w.metrics {
			pack.Metrics = append(pack.Metrics, m.Metric)
		}
		if w.name != "startup" {
			pack.Operations = "operations"
			pack.Metrics = append(pack.Metrics, workload.Metric{Name: "operations", Unit: "op", Better: "higher"})
			for _, c := range cost.Asked(false, nil) {
				pack.Metrics = append(pack.Metrics, workload.Metric{Name: c.Name, Unit: c.Unit, Better: "lower", About: c.About})
			}
		}
		sw := study.Workload{Name: w.name, Pack: pack, Fresh: "block"}
		if w.fresh != "" {
			sw.Fresh = w.fresh
		}
		for _, l := range w.levels {
			sw.Levels = append(sw.Levels, study.Level{Name: l, Parameters: map[string]string{"clients": l[len("clients="):]}})
		}
		if sw.Levels == nil {
			sw.Levels = []study.Level{{}}
		}
		p.Workloads = append(p.Workloads, sw)
	}
	return p
}

func fixtureManifest(began time.Time) rundir.Manifest {
	return rundir.Manifest{Format: 1, Run: "quick-20261121-014500", Tare: "0.1.0", Command: []string{"tare", "run", "quick", "--budget", "8m"}, Created: began,
		Machine: rundir.Machine{Kernel: "6.1.0-28-amd64", Distribution: "Debian GNU/Linux 12 (bookworm)", CPU: "Intel(R) Xeon(R) Processor @ 2.60GHz", Cores: 2, Memory: 24 * quantity.GiB, Cgroups: "hybrid", Virtualised: "kvm"},
		Noise: []environment.Finding{
			{State: environment.Caveat, What: "a quiet machine", Reason: "PSI cpu was 38 over the last minute: something waited for a CPU in 38% of the time", Fix: "stop what else runs here, or give more blocks"},
			{State: environment.Caveat, What: "a fixed clock frequency", Reason: "no cpufreq here: the hypervisor decides"},
			{State: environment.Usable, What: "swap is off"},
		},
		Image: rundir.ImageFacts{Name: "quick", Digest: "sha256:4f0cbb2c9f4ed8d1a6a0f3f1f9e3f8f7dd3b1f6a50c0f2f4d7f1c5a9e0b3d2c1"},
		Environments: map[string]rundir.EnvironmentFacts{
			"native": {State: environment.Usable, Versions: map[string]string{"kernel": "6.1.0-28-amd64"}},
			"docker": {State: environment.Usable, Versions: map[string]string{"dockerd": "20.10.24", "containerd": "1.6.20", "runc": "1.1.5"}},
			"gvisor": {State: environment.Usable, Versions: map[string]string{"runsc": "v0.0.0-20260905035102-160fafc42237"}, Notes: []string{"the memory limit is kept by the sandbox, not by the kernel inside it"}},
			"vm": {State: environment.Caveat, Label: "tcg", Versions: map[string]string{"qemu": "7.2.9", "guest kernel": "6.1.0-28-cloud-amd64"},
				Findings: []environment.Finding{{State: environment.Caveat, What: "hardware virtualisation", Reason: "/dev/kvm answers, but a counted loop ran 2.1 million instructions a second: the guest is interpreted", Fix: "run on a machine with VT-x or AMD-V, or with nested virtualisation"}}},
			"podman": {State: environment.Missing, Findings: []environment.Finding{
				{State: environment.Usable, What: "the podman program"},
				{State: environment.Missing, What: "an OCI runtime that starts here", Reason: "crun 1.8.1 refuses the hybrid cgroup hierarchy: \"cgroups in hybrid mode not supported\"", Fix: "apt-get install runc"}}},
		},
		Sessions: []rundir.Session{{Started: began, Ended: began.Add(9 * time.Minute), Stopped: "every verdict is in or the last block is done"}},
	}
}

package reporttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/usage"
)

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
	t.Usage = &usage.Usage{
		CPUUser: usage.Known(cpu * .7), CPUSystem: usage.Known(cpu * .3),
		MemoryPeak: usage.Known(w.memory*overhead + map[string]float64{"native": 0, "docker": 9e6, "gvisor": 58e6, "vm": 310e6}[env]),
		MemoryMean: usage.Known(w.memory*.8*overhead + map[string]float64{"native": 0, "docker": 8e6, "gvisor": 51e6, "vm": 296e6}[env]),
		DiskRead:   usage.Known(w.disk), DiskWritten: usage.Known(w.disk * .1),
		NetReceived: usage.Known(w.net), NetSent: usage.Known(w.net * 3),
	}
	if env == "native" {
		t.Usage.NetReceived = usage.Absent("the instance has no network of its own")
		t.Usage.NetSent = t.Usage.NetReceived
	}
	if env == "gvisor" {
		t.Usage.DiskRead = usage.Absent("cgroup v1 counts no bytes before a throttle rule exists")
	}
	t.Usage.MemorySeconds = usage.Known(t.Usage.MemoryMean.Value * t.HostSeconds)
	t.Usage.Switches = usage.Known(math.Round(2e4 * scaleUp * overhead))
	t.Usage.Host = &usage.HostUsage{Energy: usage.Absent("the machine has no energy counters")}
	if env == "vm" {
		t.Usage.Switches = usage.Absent("the guest's own are not seen from outside")
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
		t.Paths = Paths(env)
	}
	psi := .2 + .3*rng.Float64()
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

// Paths are the network and disks of an environment of the fixture.
func Paths(env string) *environment.Paths {
	const disk = "ext4 on nvme0n1p2"
	return map[string]*environment.Paths{
		"native": {Network: "the host's network stack", Root: "directory, the image's programs mounted from the image", Data: "bind mount of a directory", RootOn: disk, DataOn: disk},
		"docker": {Network: "veth pair, the engine's bridge", Root: "overlay2", Data: "bind mount of a directory", RootOn: "xfs on nvme1n1", DataOn: disk},
		"gvisor": {Network: "gVisor's network stack, veth pair, the engine's bridge", Root: "gVisor's overlay above overlay2", Data: "gVisor's gofer, bind mount of a directory", RootOn: "xfs on nvme1n1", DataOn: disk},
		"vm":     {Network: "none: only a loopback device", Root: "ext4 on virtio-blk, qcow2 file, cache writeback, threads", Data: "ext4 on virtio-blk, raw file, cache writeback, threads", RootOn: disk, DataOn: disk},
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

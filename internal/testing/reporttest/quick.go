package reporttest

import (
	"math"
	"math/rand/v2"
	"time"

	"tare/internal/report/model"
	"tare/internal/verdict"
	"tare/internal/workload"
)

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

// QuickBlocks is how many blocks the run of Quick has.
const QuickBlocks = 12

// Quick is the input of a report on a run of the study quick.
func Quick() model.Input {
	rng := rand.New(rand.NewPCG(7, 11))
	began := time.Date(2026, 11, 21, 1, 45, 0, 0, time.UTC)
	plan := quickPlan()
	in := model.Input{Plan: plan, Manifest: quickManifest(began), Directory: "quick-20261121-014500"}
	clock := began
	for block := 1; block <= QuickBlocks; block++ {
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
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	return in
}

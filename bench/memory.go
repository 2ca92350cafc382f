package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/base/failing"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/workload"
)

// measureMemory reads the agent's memory in an instance, where it is process 1, and
// tare's own over a small run.
func measureMemory(ctx context.Context, s *session) []row {
	i := s.started(ctx, "docker", s.image, "memory")
	text, err := i.Agent().ReadFile(ctx, "/proc/1/status", 0)
	failing.If(errors.Join(err, i.Stop(ctx)))
	var kib float64
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "VmRSS:") {
			_, _ = fmt.Sscanf(strings.TrimPrefix(line, "VmRSS:"), "%f", &kib)
		}
	}
	used := s.command(ctx, "run", "quick", "--only", "docker,redis,nginx,startup", "--blocks", "2", "--quiet", "--out", filepath.Join(s.home, "memory-run"))
	defer os.RemoveAll(filepath.Join(s.home, "memory-run"))
	return []row{
		{"resident memory of the idle agent", "≤ 20 MB", fmt.Sprintf("%.1f MB", kib/1e3*1.024), verdict(kib*1024 <= 20e6)},
		{"peak resident memory of tare during a run", "≤ 100 MB", fmt.Sprintf("%.1f MB", peakMiB(used)*1.048576), verdict(peakMiB(used)*1.048576 <= 100)},
	}
}

// measureJournal measures the time to compute a verdict table from ten thousand
// trials, and to write the page of the run.
func measureJournal(ctx context.Context, s *session) []row {
	directory := filepath.Join(s.home, "journal-run")
	failing.If(os.RemoveAll(directory))
	defer os.RemoveAll(directory)
	trials := writeJournal(directory)
	began := time.Now()
	used := s.command(ctx, "report", directory, "--format", "text")
	took := time.Since(began)
	mb := peakMiB(used) * 1.048576
	rows := []row{{fmt.Sprintf("verdict table from a journal of %d trials", trials), "1 s, 200 MB",
		fmt.Sprintf("%.2f s, %.0f MB", took.Seconds(), mb), verdict(took <= time.Second && mb <= 200)}}
	began = time.Now()
	used = s.command(ctx, "report", directory, "--format", "html")
	took, mb = time.Since(began), peakMiB(used)*1.048576
	page := failing.Must(os.Stat(filepath.Join(directory, "report.html")))
	return append(rows, row{fmt.Sprintf("HTML report of %d trials", trials), "2 s, 300 MB",
		fmt.Sprintf("%.2f s, %.0f MB; a page of %.1f MB", took.Seconds(), mb, float64(page.Size())/1e6), verdict(took <= 2*time.Second && mb <= 300)})
}

// writeJournal writes a run of 50 blocks, four environments and fifty cells, with
// all fields of a trial of a real run.
func writeJournal(directory string) (count int) {
	plan := &study.Plan{Format: 1, Study: "ten thousand trials", Name: "many", Baseline: "native", Seed: 1,
		Design: study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: 60}, Margin: .02, Confidence: .95, Family: "metric", Drop: "never"}}
	facts := map[string]rundir.EnvironmentFacts{}
	for _, name := range []string{"native", "docker", "gvisor", "vm"} {
		plan.Environments = append(plan.Environments, study.Environment{Name: name, Kind: "native", Options: []byte("{}")})
		facts[name] = rundir.EnvironmentFacts{State: environment.Usable}
	}
	for n := range 50 {
		plan.Workloads = append(plan.Workloads, study.Workload{Name: fmt.Sprintf("w%d", n), Fresh: "block", Levels: []study.Level{{}},
			Pack: workload.Pack{Name: "w", Title: "w", Metrics: []workload.Metric{
				{Name: "rate", Unit: "op/s", Better: "higher", Primary: true}, {Name: "latency", Unit: "ms", Better: "lower"}, {Name: "cpu_per_kop", Unit: "s/kop", Better: "lower"}}}})
	}
	w := failing.Must(rundir.Create(directory, plan, rundir.Manifest{Run: "many", Environments: facts}))
	failing.If(w.Close())
	// Written without the sync for each line, which is not part of the measurement.
	file := failing.Must(os.Create(filepath.Join(directory, "journal.jsonl")))
	defer file.Close()
	lines := json.NewEncoder(file)
	x := uint64(1)
	noise := func() float64 {
		x = x*6364136223846793005 + 1442695040888963407
		return 1 + float64(x>>40)/float64(1<<24)/10
	}
	for block := 1; block <= 50; block++ {
		for e, environment := range plan.Environments {
			for n, work := range plan.Workloads {
				at := time.Unix(int64(count), 0).UTC()
				t := rundir.Trial{Block: block, Position: e*len(plan.Workloads) + n + 1, Environment: environment.Name, Workload: work.Name, Status: rundir.OK,
					Instance: fmt.Sprintf("b%d-%s", block, environment.Name), Started: at, Ended: at.Add(time.Second), HostSeconds: 1, GuestSeconds: 1, Usage: madeUpUsage(),
					Metrics: map[string]float64{"rate": 1e4 * noise(), "latency": 3 * noise(), "cpu_per_kop": 1e-2 * noise()}}
				for _, name := range []string{"driver.stdout", "driver.stderr"} {
					t.Raw = append(t.Raw, rundir.Raw{Name: name, Path: fmt.Sprintf("raw/block-%03d/%s.%s/%s", block, environment.Name, work.Name, name), SHA256: fmt.Sprintf("%064x", count), Bytes: 900})
				}
				failing.If(lines.Encode(t))
				count++
			}
		}
	}
	return count
}

func madeUpUsage() *usage.Usage {
	return &usage.Usage{CPUUser: usage.Known(1.25), CPUSystem: usage.Known(.5), MemoryPeak: usage.Known(1e8), MemoryMean: usage.Known(9e7),
		DiskRead: usage.Known(0), DiskWritten: usage.Known(4096), NetReceived: usage.Absent("loopback only"), NetSent: usage.Absent("loopback only")}
}

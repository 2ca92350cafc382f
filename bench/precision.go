package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"tare/internal/base/failing"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/subject"
	verdicts "tare/internal/verdict"
)

// precisionStudy has each environment twice: what a block says of two that are the
// same is noise. %s is the order.
const precisionStudy = `study: deviation of a block
baseline: native
limits: {cpus: 2, memory: 768MiB, pin: {server: [0], driver: [1]}}
environments: {native: {}, native-again: {kind: native}, docker: {}, docker-again: {kind: docker}}
workloads:
  - use: redis
  - use: nginx
  - use: syscalls
  - use: sysbench-cpu
  - {use: fio, as: fio-randwrite, rw: randwrite, size: 32M}
  - use: mysql-oltp
design: {blocks: %d, fresh: block, %s}
`

// The designs that are compared: the first one is the reference.
var precisionDesigns = []string{"order: interleaved", "order: alternating"}

const (
	precisionSessions = 4 // of each design, in turn
	precisionBlocks   = 2 // in a session: few, so that all designs see the same hours
)

// measurePrecision compares the standard deviation of a block's log ratio in one
// order with that in another, at equal machine time: with the time that a block of
// this workload takes, the deviation falls as its square root.
func measurePrecision(ctx context.Context, s *session) (rows []row) {
	directory := failing.Must(os.MkdirTemp(s.home, "precision-"))
	defer os.RemoveAll(directory)
	ratios := make([]map[subject.Figure][]float64, len(precisionDesigns))
	took := make([]map[string]time.Duration, len(precisionDesigns))
	var keys []subject.Figure
	for n := range precisionSessions * len(precisionDesigns) {
		design := (n + n/len(precisionDesigns)) % len(precisionDesigns)
		out := filepath.Join(directory, fmt.Sprint(n))
		study := out + ".yaml"
		failing.If(os.WriteFile(study, fmt.Appendf(nil, precisionStudy, precisionBlocks, precisionDesigns[design]), 0o644))
		s.command(ctx, "run", study, "--quiet", "--out", out)
		r := failing.Must(rundir.Open(out))
		if ratios[design] == nil {
			ratios[design], took[design] = map[subject.Figure][]float64{}, map[string]time.Duration{}
		}
		for _, w := range r.Plan.Workloads {
			took[design][w.Name] += rundir.Elapsed(slices.DeleteFunc(slices.Clone(r.Trials), func(t rundir.Trial) bool { return t.Workload != w.Name }))
			for _, m := range w.Pack.Metrics {
				if !m.Primary {
					continue
				}
				of := subject.Place{Workload: w.Name}.Of(m.Name)
				logs := verdicts.LogsOf(r.Plan, r.Trials, of)
				for _, environment := range []string{"native", "docker"} {
					k := of.In(environment)
					if !slices.Contains(keys, k) {
						keys = append(keys, k)
					}
					for block, one := range logs[environment] {
						if other, there := logs[environment+"-again"][block]; there {
							ratios[design][k] = append(ratios[design][k], stats.SumOf([]stats.Term{{Weight: 1, Logs: other}, {Weight: -1, Logs: one}}).Log)
						}
					}
				}
			}
		}
	}
	var all []float64
	for _, k := range keys {
		var sd, seconds [2]float64
		for design := range precisionDesigns {
			n := float64(len(ratios[design][k]))
			sd[design], seconds[design] = stat.StdDev(ratios[design][k], nil), took[design][k.Workload].Seconds()/n
		}
		gain := sd[1] / sd[0] * math.Sqrt(seconds[1]/seconds[0])
		all = append(all, gain)
		rows = append(rows, row{fmt.Sprintf("standard deviation of a block at equal machine time, `%s` over `%s`: %s, %s in %s", precisionDesigns[1], precisionDesigns[0], k.Workload, k.Metric, k.Environment),
			"≤ 1/2", fmt.Sprintf("%.2f (%.1f%% in %.1f s over %.1f%% in %.1f s)", gain, 100*sd[1], seconds[1], 100*sd[0], seconds[0]), verdict(gain <= .5)})
	}
	slices.Sort(all)
	return append(rows, row{"the same, median of all", "≤ 1/3", fmt.Sprintf("%.2f", stats.Median(all)), verdict(stats.Median(all) <= 1./3)})
}

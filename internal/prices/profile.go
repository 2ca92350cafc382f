package prices

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/usage/cost"
	"tare/internal/usage/evidence"
	"tare/internal/verdict"
)

// wholeRun is the operation of a job.
const wholeRun = "run"

// Counted is the name of the environment whose trials are counted.
const Counted = "counted"

// Profile is what one operation of a workload asks of the kernel in the baseline.
type Profile struct {
	Format    int            `json:"format"` // 1
	Machine   rundir.Machine `json:"machine"`
	Run       string         `json:"run"`
	Workload  string         `json:"workload"`
	Level     string         `json:"level,omitempty"`
	Operation string         `json:"operation"` // the metric that counts them; run: of the driver
	Baseline  string         `json:"baseline"`
	Items     []Item         `json:"items"` // the most frequent first
	// CPU time of one operation in the baseline, not counted, and of it the time in user
	// mode, in nanoseconds.
	CPU  Amount `json:"cpu_ns"`
	User Amount `json:"user_ns"`
	// Rate of operations per second, not counted.
	Rate Amount `json:"rate"`
	// Load is that of an open loop.
	Load *Offered `json:"load,omitempty"`
	// Counting is the share of CPU time that counting adds.
	Counting *Amount  `json:"counting"`
	Notes    []string `json:"notes,omitempty"`
	// Measured is the CPU time that an operation takes more in other environments of the
	// run, in nanoseconds, and the share of the baseline's rate.
	Measured []Measured `json:"measured,omitempty"`

	blocks [][]Item // of each counted block
}

// Measured is one environment besides the baseline.
type Measured struct {
	Environment string    `json:"environment"`
	Kind        string    `json:"kind"`
	Options     string    `json:"options,omitempty"` // that differ from the kind's defaults
	MoreCPU     Amount    `json:"more_cpu_ns"`
	Rate        Amount    `json:"rate"`                // of operations per second, over that of the baseline
	Latencies   []Latency `json:"latencies,omitempty"` // at the load of the profile
	// Incomparable says why it is no measure of the prediction: "direct I/O in the sandbox".
	Incomparable string `json:"incomparable,omitempty"`
}

// ProfileOf is the profile of a workload of a run, at its first level. The contrasts of the
// run say which environments are not comparable with the baseline.
func ProfileOf(r *rundir.Run, w study.Workload, contrasts []verdict.Contrast) (p Profile, err error) {
	p = Profile{Format: 1, Machine: r.Manifest.Machine, Run: r.Manifest.Run, Workload: w.Name, Level: w.Levels[0].Name, Operation: cmp.Or(w.Pack.Operations, wholeRun), Baseline: r.Plan.Baseline}
	of := func(environment string) map[int]done {
		return doneIn(r.Trials, w, environment)
	}
	base, counted := of(p.Baseline), of(Counted)
	if len(counted) == 0 { // tare explain traces the baseline
		counted = doneIn(r.Traced, w, p.Baseline)
	}
	if len(base) == 0 {
		return p, fmt.Errorf("%s has no trial of %s with CPU time and a number of operations", p.Run, p.Baseline)
	}
	var users, overheads, cpus, rates []float64
	for _, n := range slices.Sorted(maps.Keys(base)) {
		b := base[n]
		cpus, rates, users = append(cpus, b.cpu), append(rates, b.rate), append(users, b.user)
		if c, there := counted[n]; there {
			overheads = append(overheads, c.cpu/b.cpu-1)
		}
	}
	p.CPU, p.Rate, p.User, p.Counting = *amount(cpus), *amount(rates), *amount(users), amount(overheads)
	for _, n := range slices.Sorted(maps.Keys(counted)) {
		e := counted[n].evidence
		if f := e.Counts[evidence.Syscalls]; f.Missing != "" {
			return p, fmt.Errorf("the counting of %s in block %d has no system calls: %s", w.Name, n, f.Missing)
		}
		for _, note := range e.Notes {
			if !slices.Contains(p.Notes, note) {
				p.Notes = append(p.Notes, note)
			}
		}
		p.blocks = append(p.blocks, itemsOf(e, counted[n].operations, pathOf(w.Pack)))
	}
	if len(p.blocks) == 0 {
		return p, fmt.Errorf("%s has no counted trial of %s that succeeded", p.Run, w.Name)
	}
	p.Items, p.Load = middle(p.blocks), loadOf(r, w)
	for _, e := range r.Plan.Environments {
		if e.Name != p.Baseline && e.Name != Counted {
			if m, known := beside(e, of(e.Name), base); known {
				for _, c := range contrasts {
					if c.Workload == w.Name && c.Environment == e.Name && c.Reason.Code == verdict.Incomparable {
						m.Incomparable = c.Reason.Cause
					}
				}
				if p.Load != nil {
					m.Latencies = latenciesIn(r.Trials, w, e.Name)
				}
				p.Measured = append(p.Measured, m)
			}
		}
	}
	return p, nil
}

// done is what a trial did.
type done struct {
	operations, rate float64
	cpu, user        float64 // nanoseconds of one operation
	evidence         *evidence.Evidence
}

func doneIn(trials []rundir.Trial, w study.Workload, environment string) map[int]done {
	all := map[int]done{}
	for _, t := range trials {
		if t.Environment != environment || t.Workload != w.Name || t.Level != w.Levels[0].Name || t.Status != rundir.OK || !(t.HostSeconds > 0) {
			continue
		}
		if d, known := doneBy(t, w.Pack.Operations); known {
			all[t.Block] = d
		}
	}
	return all
}

// doneBy a trial; operations is the metric that counts them, "" where each run of the driver is one.
func doneBy(t rundir.Trial, operations string) (d done, known bool) {
	d = done{operations: t.Metrics[operations], cpu: t.Metrics[cost.CPU] * 1e6, evidence: t.Evidence}
	var all usage.Figure // CPU time of the trial
	if t.Usage != nil {
		all = t.Usage.CPU()
	}
	if operations == "" && all.Missing == "" {
		d.operations = float64(max(1, len(t.Rounds)))
		d.cpu = all.Value / d.operations * 1e9
	}
	if !(d.operations > 0) || !(d.cpu > 0) {
		return d, false
	}
	d.rate = d.operations / t.HostSeconds
	if u := t.Usage; u != nil && u.CPUUser.Missing == "" && all.Value > 0 {
		d.user = d.cpu * u.CPUUser.Value / all.Value
	}
	return d, true
}

func beside(e study.Environment, of, base map[int]done) (m Measured, known bool) {
	var cpus, rates []float64
	for n, d := range of {
		if b, there := base[n]; there {
			cpus, rates = append(cpus, d.cpu-b.cpu), append(rates, d.rate/b.rate)
		}
	}
	if len(cpus) == 0 {
		return m, false
	}
	return Measured{Environment: e.Name, Kind: e.Kind, Options: optionsOf(e), MoreCPU: *amount(cpus), Rate: *amount(rates)}, true
}

// middle has the medians of the blocks.
func middle(blocks [][]Item) (items []Item) {
	var names []string
	for _, item := range slices.Concat(blocks...) {
		if !slices.Contains(names, item.Name) {
			names = append(names, item.Name)
		}
	}
	for _, name := range names {
		var counts, bytes []float64
		kinds, item := map[string][]float64{}, Item{Name: name}
		for n, block := range blocks {
			at := slices.IndexFunc(block, func(i Item) bool { return i.Name == name })
			if at < 0 {
				counts = append(counts, 0)
				continue
			}
			counts, item.Mostly = append(counts, block[at].Count), block[at].Mostly
			if b := block[at].Bytes; b != nil {
				bytes = append(bytes, *b)
			}
			for kind, v := range block[at].Kinds {
				for len(kinds[kind]) < n {
					kinds[kind] = append(kinds[kind], 0)
				}
				kinds[kind] = append(kinds[kind], v)
			}
		}
		item.Count, item.Kinds = stats.Median(counts), map[string]float64{}
		if len(bytes) > 0 {
			b := stats.Median(bytes)
			item.Bytes = &b
		}
		for kind, values := range kinds {
			for len(values) < len(blocks) {
				values = append(values, 0)
			}
			item.Kinds[kind] = stats.Median(values)
		}
		if item.Count > 0 {
			items = append(items, item)
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Count, a.Count) })
	return items
}

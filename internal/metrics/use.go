package metrics

import (
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/usage"
)

// cell is one environment with one workload, at all levels, on one node: resource use is
// summed by cell, and each node makes one trial at a time.
type cell struct {
	node string
	subject.Cell
}

func cellOn(node string, at subject.Cell) cell {
	at.Level = ""
	return cell{node, at}
}

// use is the resource use of a cell: of the trials that ended, and of the current
// one. A meter counts from 0 in every trial, and a Prometheus counter must not
// decrease.
type use struct {
	ended   []total // by quantity
	shown   []float64
	watched float64  // seconds, in trials that ended
	meters  []*meter // of the instances of the current trial
}

// meter is the last reading of one instance.
type meter struct {
	last        usage.Reading
	seen, ended bool
}

// total is a sum; known is false as long as nothing was added.
type total struct {
	value float64
	known bool
}

func (t *total) add(value float64) { t.value, t.known = t.value+value, true }

func (r *Run) use(c cell) *use {
	if r.uses[c] == nil {
		r.uses[c] = &use{ended: make([]total, len(usage.Quantities)), shown: make([]float64, len(usage.Quantities))}
	}
	return r.uses[c]
}

// Watch adds an instance to the current trial on a node and returns the function that
// receives its readings. The function only stores the reading, since there may be
// many instances and a hundred readings per second; sums are computed by Collect.
func (r *Run) Watch(node string, at subject.Cell) func(usage.Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, m := r.use(cellOn(node, at)), &meter{}
	u.meters = append(u.meters, m)
	return func(seen usage.Reading) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !m.ended {
			m.last, m.seen = seen, true
		}
	}
}

// show sets the series of a cell: the usage of finished trials plus that of the
// current one.
func (r *Run) show(c cell, u *use) {
	if watched := u.watched + u.sinceBegun(); watched > 0 {
		r.values.set(Watched, watched, c.node, c.Environment, c.Workload)
	}
	for i, q := range usage.Quantities {
		now := u.now(q)
		if q.Kind == usage.Counter {
			if all := u.ended[i]; now.known || all.known {
				u.shown[i] = max(u.shown[i], all.value+now.value)
				r.values.set(Uses[i], u.shown[i], c.node, c.Environment, c.Workload)
			}
		} else {
			r.values.known(Uses[i], now.value, now.known, c.node, c.Environment, c.Workload)
		}
	}
}

// sinceBegun is for how long the current trial has been sampled.
func (u *use) sinceBegun() (seconds float64) {
	for _, m := range u.meters {
		seconds = max(seconds, m.last.Seconds)
	}
	return seconds
}

// now sums a quantity over the instances of the current trial.
func (u *use) now(q usage.Quantity) (sum total) {
	for _, m := range u.meters {
		if !m.seen {
			continue
		}
		if f := q.Of(&m.last); f.Missing == "" {
			sum.add(f.Value)
		}
	}
	return sum
}

// settle ends the current trial: its usage is added to that of the earlier ones,
// and its gauges are dropped. If the trial's usage and the readings differ, the
// larger value counts: the usage includes the time after the last reading, and
// readings from another host may be lost.
func (r *Run) settle(t rundir.Trial) {
	c := cellOn(t.Node, t.Cell())
	u := r.use(c)
	for i, q := range usage.Quantities {
		sum := u.now(q)
		if t.Usage != nil {
			if f := q.Total(t.Usage); f.Missing == "" && f.Value >= sum.value {
				sum = total{f.Value, true}
			}
		}
		if sum.known && q.Kind == usage.Counter {
			u.ended[i].add(sum.value)
		}
	}
	seconds := u.sinceBegun()
	if t.Usage != nil {
		seconds = max(seconds, t.HostSeconds)
		r.absent(c, t.Usage)
		r.around(c, t.Usage)
	}
	u.watched += seconds
	for _, m := range u.meters {
		m.ended = true
	}
	u.meters = nil
	r.show(c, u)
}

// absent sets the quantities that the last trial has no value of, with the reason.
func (r *Run) absent(c cell, u *usage.Usage) {
	r.values.drop(Absent, c.node, c.Environment, c.Workload)
	for _, q := range usage.Quantities {
		if f := q.Total(u); f.Missing != "" {
			r.values.set(Absent, 1, c.node, c.Environment, c.Workload, q.Name, f.Missing)
		}
	}
}

// around sets the metrics whose values are known when a trial ends: CPU time by
// process, the totals of the machine, and the cost of the sampler.
func (r *Run) around(c cell, u *usage.Usage) {
	v := &r.values
	for _, p := range u.Parts {
		v.add(PartCPU, p.CPU, c.node, c.Environment, c.Workload, p.Role, p.Name)
	}
	if h := u.Host; h != nil {
		for charged, f := range map[string]usage.Figure{
			"watched": h.Watched, "tare": h.Tare, "others": h.Others, "kernel_threads": h.KernelThreads, "unattributed": h.Unattributed,
		} {
			// Unattributed time is a difference, and can be negative by the
			// granularity of the kernel's ticks.
			if f.Missing == "" {
				v.add(HostCPU, max(f.Value, 0), c.node, c.Environment, charged)
			}
		}
		if h.Energy.Missing == "" {
			v.add(Energy, h.Energy.Value, c.node, c.Environment)
		}
	}
	if e := u.Sampler; e != nil {
		v.add(SamplerCPU, e.CPU, c.node, c.Environment)
		v.add(SamplerPasses, float64(e.Passes), c.node, c.Environment)
		v.add(SamplerTime, e.PassMean*float64(e.Passes), c.node, c.Environment)
		v.set(SamplerMax, e.PassMax, c.node, c.Environment)
		v.add(SamplerLate, float64(e.Late), c.node, c.Environment)
	}
}

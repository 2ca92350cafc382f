package trial

import (
	"context"
	"strings"

	"tare/internal/agent"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/usage"
)

// meters count what the measured instances use while the drivers run: by a timer in a
// trial of one sample, and at the edges of samples that alternate with others.
type meters struct {
	instances []*instances.Instance
	copies    []int // number of the copy that each belongs to; 0 where there is one
	kernels   []kernelCounters
	remote    bool // an instance is on another machine
	watched   []environment.Instance
	each      func(int) func(usage.Reading)
	options   usage.Options
	running   []usage.Meter
	sampling  *usage.Sampling // of the instances on this machine; nil before it is begun
	counted   *metered        // after stop
}

// metered is what the meters counted.
type metered struct {
	usage  usage.Usage
	series []rundir.InstanceSeries
}

// kernelCounters are the files of an instance's kernel before the drivers run.
type kernelCounters struct {
	boot   string // identifies the kernel
	before map[string]string
}

// stolenElsewhere is the time stolen from an instance on another machine.
var stolenElsewhere = usage.Absent("only the counters of this machine are read, and an instance is on another")

// newMeters finds what of a participant is metered, and reads the counters of the kernels
// inside.
func newMeters(ctx context.Context, p *participant) *meters {
	m, all := &meters{}, p.group.Copies
	for n, roles := range all {
		for _, i := range instances.Metered(roles.Instances()) {
			m.instances = append(m.instances, i)
			m.copies = append(m.copies, map[bool]int{true: n + 1}[len(all) > 1])
		}
	}
	here := usage.Boot()
	for _, i := range m.instances {
		k := kernelCounters{boot: bootID(ctx, i.Agent())}
		if k.boot != here {
			k.before = readFiles(ctx, i.Agent(), usage.InsideFiles)
		}
		m.kernels, m.watched = append(m.kernels, k), append(m.watched, i.Instance)
		m.remote = m.remote || i.Footprint().Elsewhere != nil
	}
	m.each = func(int) func(usage.Reading) {
		if p.run.Watch == nil {
			return nil
		}
		return p.run.Watch(p.slot.Node, p.slot.Cell())
	}
	if m.options = (usage.Options{Every: p.run.plan.Sampling.Every()}); p.alternates() {
		m.options = usage.Options{Every: usage.Never, AtEdges: true, Cores: p.spec.request.Cores}
		m.start()
	}
	return m
}

func (m *meters) start() { m.running, m.sampling = environment.Meters(m.watched, m.options, m.each) }

func (m *meters) begin() {
	if m.options.AtEdges {
		m.sampling.Begin()
	} else {
		m.start()
	}
}

// end ends a sample, and where a timer reads the meters.
func (m *meters) end(ctx context.Context) usage.Edge {
	if !m.options.AtEdges {
		return usage.Edge{CPU: m.stop(ctx).usage.CPU()}
	}
	took := m.sampling.End()
	if m.remote {
		took.Steal = stolenElsewhere
		took.CPU = usage.Absent("an instance is on another machine, which is read only before the first sample and after the last one")
	}
	return took
}

// stop ends the meters. A later call returns the same.
func (m *meters) stop(ctx context.Context) metered {
	if m.counted != nil {
		return *m.counted
	}
	if m.sampling != nil {
		m.sampling.Close()
	}
	usages := lists.Map(m.running, usage.Meter.Stop)
	m.counted = &metered{}
	for n, meter := range m.running {
		usages[n].Inside = m.kernels[n].since(ctx, m.instances[n].Agent(), usages[n].Host)
		m.counted.series = append(m.counted.series, rundir.InstanceSeries{Instance: m.instances[n].Name, Copy: m.copies[n], Series: meter.Series()})
	}
	m.counted.usage = usage.Sum(usages...)
	return *m.counted
}

// since is what the kernel inside counted since the drivers started.
func (k kernelCounters) since(ctx context.Context, a *agent.Client, host *usage.HostUsage) *usage.Inside {
	switch {
	case k.before == nil || host != nil && host.Boot == k.boot:
		return usage.NotInside("the instance has the kernel that is seen from outside")
	case ctx.Err() != nil:
		return usage.NotInside("the trial was interrupted")
	}
	after := readFiles(ctx, a, usage.InsideFiles)
	if len(k.before) == 0 || len(after) == 0 {
		return usage.NotInside("the kernel inside exposes none of its counters")
	}
	return usage.InsideOf(k.before, after)
}

// bootID tells the kernels of instances from each other, and from that of this
// machine.
func bootID(ctx context.Context, a *agent.Client) string {
	text, err := a.ReadFile(ctx, usage.BootFile, 100)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// readFiles reads files of an instance; those that cannot be read are left out.
func readFiles(ctx context.Context, a *agent.Client, files []string) map[string]string {
	texts := map[string]string{}
	for _, file := range files {
		if text, err := a.ReadFile(ctx, file, 64<<10); err == nil {
			texts[file] = string(text)
		}
	}
	return texts
}

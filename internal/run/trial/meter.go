package trial

import (
	"context"
	"slices"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/usage"
)

// meters count what the measured instances use while the drivers run.
type meters struct {
	instances []*instances.Instance
	copies    []int // number of the copy that each belongs to; 0 where there is one
	kernels   []kernelCounters
	running   []usage.Meter
	edges     *usage.Edges // of samples that alternate; nil where a timer reads
	remote    bool         // an instance is on another machine
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

// startMeters starts the meters of all instances of the copies that are not on
// the host. callback is called once for each.
func startMeters(ctx context.Context, copies []instances.Roles, every time.Duration, callback func() func(usage.Reading)) *meters {
	m, watched := newMeters(ctx, copies)
	m.running = environment.Meters(watched, every, func(int) func(usage.Reading) { return callback() })
	return m
}

// openEdges is startMeters for several samples that alternate with those of
// other environments.
func openEdges(ctx context.Context, copies []instances.Roles, cores []int, callback func() func(usage.Reading)) *meters {
	m, watched := newMeters(ctx, copies)
	m.running, m.edges = environment.EdgeMeters(watched, cores, func(int) func(usage.Reading) { return callback() })
	m.remote = slices.ContainsFunc(watched, onAnother)
	return m
}

// onAnother reports whether an instance is on another machine.
func onAnother(i environment.Instance) bool { _, is := i.(environment.Metered); return is }

// stolenElsewhere is the time stolen from an instance on another machine.
var stolenElsewhere = usage.Absent("only the counters of this machine are read, and an instance is on another")

// endSample ends a sample whose beginning the edges have read.
func (m *meters) endSample() usage.Edge {
	took := m.edges.End()
	if m.remote {
		took.Steal = stolenElsewhere
		took.CPU = usage.Absent("an instance is on another machine, which is read only before the first sample and after the last one")
	}
	return took
}

// newMeters finds what is metered, and reads the counters of the kernels inside.
func newMeters(ctx context.Context, copies []instances.Roles) (m *meters, watched []environment.Instance) {
	m = &meters{}
	for n, roles := range copies {
		number := 0
		if len(copies) > 1 {
			number = n + 1
		}
		for _, i := range roles.Instances() {
			if i.Tested() {
				m.instances, m.copies = append(m.instances, i), append(m.copies, number)
			}
		}
	}
	here := usage.Boot()
	for _, i := range m.instances {
		k := kernelCounters{boot: bootID(ctx, i.Agent())}
		if k.boot != here {
			k.before = readFiles(ctx, i.Agent(), usage.InsideFiles)
		}
		m.kernels = append(m.kernels, k)
		watched = append(watched, i.Instance)
	}
	return m, watched
}

// stop ends the meters.
func (m *meters) stop(ctx context.Context) metered {
	if m.edges != nil {
		m.edges.Close()
	}
	usages := lists.Map(m.running, usage.Meter.Stop)
	for n, k := range m.kernels {
		usages[n].Inside = k.since(ctx, m.instances[n].Agent(), usages[n].Host)
	}
	all := metered{usage: usage.Sum(usages...)}
	for n, meter := range m.running {
		all.series = append(all.series, rundir.InstanceSeries{Instance: m.instances[n].Name, Copy: m.copies[n], Series: meter.Series()})
	}
	return all
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

package trial

import (
	"context"
	"strings"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/sample"
)

// metering watches what the measured instances use while the drivers run.
type metering struct {
	of      *measurement
	members []*member
	copies  []int // which copy each belongs to; 0 where there is one
	insides []insight
	meters  []sample.Meter
}

// insight is what an instance's own kernel said before the drivers ran.
type insight struct {
	kernel string // its name for itself since it started
	before map[string]string
}

// meter begins to watch.
func (m *measurement) meter(ctx context.Context) *metering {
	w := &metering{of: m}
	for n, c := range m.held.copies {
		for _, member := range c.members() {
			if member.onHost {
				continue
			}
			if w.members = append(w.members, member); len(m.held.copies) > 1 {
				w.copies = append(w.copies, n+1)
			} else {
				w.copies = append(w.copies, 0)
			}
		}
	}
	outside := sample.Boot()
	var instances []environment.Instance
	for _, member := range w.members {
		in := insight{kernel: kernelInside(ctx, member.Agent())}
		if in.kernel != outside {
			in.before = read(ctx, member.Agent(), sample.InsideFiles)
		}
		w.insides = append(w.insides, in)
		instances = append(instances, member.Instance)
	}
	w.meters = environment.Meters(instances, m.runner.Plan.Sampling.Every(), func(int) func(sample.Reading) { return m.heard() })
	return w
}

// stop ends the watching and puts what was seen into the trial.
func (w *metering) stop(ctx context.Context) sample.Usage {
	var usages []sample.Usage
	for _, m := range w.meters {
		usages = append(usages, m.Stop())
	}
	for n, in := range w.insides {
		usages[n].Inside = in.compare(ctx, w.members[n].Agent(), usages[n].Host)
	}
	usage, t := sample.Sum(usages...), w.of.trial
	t.Usage = &usage
	if keep := w.of.runner.KeepSamples; keep != nil {
		var all []rundir.Watched
		for n, m := range w.meters {
			all = append(all, rundir.Watched{Instance: w.members[n].name, Copy: w.copies[n], Series: m.Series()})
		}
		samples, err := keep(*t, all)
		if t.Samples = samples; err != nil {
			w.of.warn(err.Error())
		}
	}
	return usage
}

// compare says what the kernel inside counted since before.
func (in insight) compare(ctx context.Context, a *agent.Client, host *sample.HostUsage) *sample.Inside {
	switch {
	case in.before == nil || host != nil && host.Boot == in.kernel:
		return sample.NotInside("the instance has the kernel that is seen from outside")
	case ctx.Err() != nil:
		return sample.NotInside("the trial was cut off")
	}
	after := read(ctx, a, sample.InsideFiles)
	if len(in.before) == 0 || len(after) == 0 {
		return sample.NotInside("the kernel inside shows nothing of what it counts")
	}
	return sample.InsideOf(in.before, after)
}

// kernelInside tells the kernels of instances from each other, and from that of
// this machine.
func kernelInside(ctx context.Context, a *agent.Client) string {
	text, err := a.ReadFile(ctx, sample.BootFile, 100)
	if err != nil {
		return "none that names itself"
	}
	return strings.TrimSpace(string(text))
}

// read reads files of an instance; what cannot be read is left out.
func read(ctx context.Context, a *agent.Client, files []string) map[string]string {
	texts := map[string]string{}
	for _, file := range files {
		if text, err := a.ReadFile(ctx, file, 64<<10); err == nil {
			texts[file] = string(text)
		}
	}
	return texts
}

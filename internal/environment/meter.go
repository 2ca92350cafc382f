package environment

import "tare/internal/usage"

// Meter starts to sample the usage of an instance.
func Meter(i Instance, o usage.Options) usage.Meter {
	meters, _ := Meters([]Instance{i}, o, func(int) func(usage.Reading) { return o.Each })
	return meters[0]
}

// Meters starts to sample several instances; each returns the callback for the readings
// of one of them. Instances of this machine share one sampling: Stop of the first meter
// stops it for all. Instances on another machine are not read at the edges of samples,
// but once before the first and once after the last; their meters say so.
func Meters(instances []Instance, o usage.Options, each func(n int) func(usage.Reading)) ([]usage.Meter, *usage.Sampling) {
	meters := make([]usage.Meter, len(instances))
	var here []int
	var targets []usage.Target
	for n, i := range instances {
		if f := i.Footprint(); f.Elsewhere != nil {
			meters[n] = f.Elsewhere.Meter(usage.Options{Every: o.Every, Each: each(n)})
		} else {
			here, targets = append(here, n), append(targets, usage.Target{Footprint: f, Each: each(n)})
		}
	}
	if len(targets) == 0 && !o.AtEdges {
		return meters, nil // nobody would stop a sampling of none
	}
	sampling := usage.StartAll(o, targets...)
	for k, s := range sampling.Samplers {
		meters[here[k]] = s
	}
	return meters, sampling
}

// UsageOfStart is the usage of an instance since it was made.
func UsageOfStart(i Instance) usage.Usage {
	f := i.Footprint()
	if f.Elsewhere != nil {
		return f.Elsewhere.UsageOfStart()
	}
	return usage.OfStart(f)
}

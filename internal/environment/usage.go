package environment

import "tare/internal/sample"

// StartMetered is an instance on another machine that reports the usage of its start.
type StartMetered interface {
	UsageOfStart() sample.Usage
}

// UsageOfStart is the usage of an instance since it was made.
func UsageOfStart(i Instance) sample.Usage {
	if m, elsewhere := i.(StartMetered); elsewhere {
		return m.UsageOfStart()
	}
	return sample.OfStart(i.Footprint())
}

package environment

import "tare/internal/sample"

// StartMetered is an instance that says itself what its start has used, as that
// cannot be read from here by its footprint.
type StartMetered interface {
	UsageOfStart() sample.Usage
}

// UsageOfStart is what an instance has used since it was made.
func UsageOfStart(i Instance) sample.Usage {
	if m, elsewhere := i.(StartMetered); elsewhere {
		return m.UsageOfStart()
	}
	return sample.OfStart(i.Footprint())
}

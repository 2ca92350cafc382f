package environment

import "tare/internal/usage"

// StartMetered is an instance on another machine that reports the usage of its start.
type StartMetered interface {
	UsageOfStart() usage.Usage
}

// UsageOfStart is the usage of an instance since it was made.
func UsageOfStart(i Instance) usage.Usage {
	if m, elsewhere := i.(StartMetered); elsewhere {
		return m.UsageOfStart()
	}
	return usage.OfStart(i.Footprint())
}

package usage

// OfStart returns what an instance has used since its creation, from the counters
// of its groups and processes. It excludes the daemons of an engine. The network
// is missing, since the counters of an interface do not start with the instance.
func OfStart(f Footprint) Usage {
	usage := start(here(), Never, true, Target{Footprint: f})[0].Stop()
	absent := Absent("not counted during the start")
	usage.NetReceived, usage.NetSent, usage.PacketsIn, usage.PacketsOut = absent, absent, absent, absent
	// Both describe the time between two readings, which is none here.
	usage.Host, usage.Sampler = nil, nil
	return usage
}

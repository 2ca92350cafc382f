package sample

// OfStart is what an instance has used since it was made: what its groups and
// processes counted from nothing. The daemons of an engine are not in it, and
// the network is missing: an interface's counts are no part of the start.
func OfStart(f Footprint) Usage {
	usage := start(here(), Never, true, Target{Footprint: f})[0].Stop()
	why := Absent("not counted during the start")
	usage.NetReceived, usage.NetSent, usage.PacketsIn, usage.PacketsOut = why, why, why, why
	// Both are about the time between two looks, and here there is none.
	usage.Host, usage.Sampler = nil, nil
	return usage
}

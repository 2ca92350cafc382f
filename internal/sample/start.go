package sample

import "tare/internal/cgroup"

// OfStart is what an instance has used since it was made: what its groups and
// processes counted from nothing. The daemons of an engine are not in it, and
// the network is missing: an interface's counts are no part of the start.
func OfStart(f Footprint) Usage {
	s := start(here(), f, 0)
	s.mu.Lock()
	for i := range s.cpu {
		s.cpu[i] = cgroup.CPU{}
	}
	s.based, s.ioBased = amounts{}, cgroup.IO{}
	s.mu.Unlock()
	usage := s.Stop()
	usage.NetReceived = Absent("not counted during the start")
	usage.NetSent = usage.NetReceived
	return usage
}

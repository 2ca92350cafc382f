package sample

// Stalled is for how long, since the machine's start, something waited for cpu,
// io or memory.
func (h Host) Stalled(resource string) (seconds float64, known bool) {
	seconds, known = h.stall[resource]
	return seconds, known
}

// Stolen is the processor time that the hypervisor gave to others, over all
// cores, since the machine's start.
func (h Host) Stolen() (seconds float64, known bool) {
	if h.steal == nil {
		return 0, false
	}
	return *h.steal, true
}

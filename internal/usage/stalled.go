package usage

// Stalled returns for how long something has waited for cpu, io or memory since
// boot.
func (h Host) Stalled(resource string) (seconds float64, known bool) {
	seconds, known = h.stall[resource]
	return seconds, known
}

// Stolen returns the CPU time that the hypervisor has given to other guests since
// boot, over all cores.
func (h Host) Stolen() (seconds float64, known bool) {
	if h.steal == nil {
		return 0, false
	}
	return *h.steal, true
}

// Package parity says whether two environments differ in anything but the
// isolation layer: a fingerprint of each, taken from inside and from outside,
// and rules, which are data with a reason each, that tell what is inherent in
// the layer, what the study chose, and what is a confound.
//
// It must not know how a fingerprint is taken (internal/parity/fingerprint does), nor
// how a trial is made.
package parity

// Fingerprint is what was found out about one environment while one workload's
// servers were up in it.
type Fingerprint struct {
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	// Seconds that the taking took, by the host's clock.
	Seconds float64 `json:"seconds"`
	// Facts by their keys, from the general to the particular, parted by dots
	// outside of paths: kernel.release, sysctl.net.core.somaxconn,
	// path[/data].filesystem, program[server/nginx].sha256.
	Facts map[string]Fact `json:"facts"`
}

// Fact is one thing that was found out, or why it could not be.
type Fact struct {
	Value   string `json:"value,omitempty"`
	Missing string `json:"missing,omitempty"`
	// Seen is where it was seen from: inside (by the agent), outside (by the
	// provider and the host), or plan.
	Seen string `json:"seen"`
}

// Package parity checks whether two environments differ in anything but the
// isolation layer. It compares fingerprints, which are read inside and outside the
// instance, and classifies each difference by rules (rules.yaml) as inherent in
// the layer, chosen by the study, or a confound.
//
// It must not know how a fingerprint is taken (internal/parity/fingerprint does),
// nor how a trial is run.
package parity

// Fingerprint has the facts about one environment, read while one workload's
// servers ran in it.
type Fingerprint struct {
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	// Node that the trial ran on; "" in a run without nodes.
	Node string `json:"node,omitempty"`
	// Seconds that it took, by the host's clock.
	Seconds float64 `json:"seconds"`
	// Facts by key: kernel.release, sysctl[net.core.somaxconn],
	// path[/data].filesystem, program[server/nginx].sha256.
	Facts map[string]Fact `json:"facts"`
}

// Fact is a value, or the reason why it is missing.
type Fact struct {
	Value   string `json:"value,omitempty"`
	Missing string `json:"missing,omitempty"`
	// Seen is where it was read: inside (by the agent), outside (by the provider and
	// the host), or plan.
	Seen string `json:"seen"`
}

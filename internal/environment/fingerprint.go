package environment

// Fingerprinter is an instance with facts that are visible neither inside nor to the
// host's kernel, such as an engine's log driver. The keys are those of package parity.
type Fingerprinter interface {
	Facts() map[string]string
}

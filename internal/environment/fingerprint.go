package environment

// Fingerprinter is an instance that knows of itself what can be seen neither
// from inside nor by the host's kernel, such as an engine's log driver or how a
// VMM opens a disk. The keys are those of package parity.
type Fingerprinter interface {
	Facts() map[string]string
}

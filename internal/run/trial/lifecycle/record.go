package lifecycle

import (
	"slices"
	"sync"

	"tare/internal/agent"
	"tare/internal/base/lists"
	"tare/internal/rundir"
)

// Record collects the outputs and warnings of a workload. It is safe for
// concurrent use.
type Record struct {
	open func(name string) *rundir.RawFile

	mu       sync.Mutex
	raw      []rundir.Raw
	warnings []string
	// host, instance and slack are seconds: what the two clocks advanced while commands
	// ran, and how far that may be off.
	host, instance, slack float64
}

// NewRecord stores outputs in the files that open returns; nil discards them.
func NewRecord(open func(name string) *rundir.RawFile) *Record {
	if open == nil {
		open = rundir.Discard
	}
	return &Record{open: open}
}

func (r *Record) output(name string) *rundir.RawFile { return r.open(name) }

// keep closes an output. Where it could not be stored, a warning says so.
func (r *Record) keep(f *rundir.RawFile) {
	raw, ok, err := f.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.warnings = append(r.warnings, err.Error())
	case ok:
		r.raw = append(r.raw, raw)
	}
}

// Warn adds warnings.
func (r *Record) Warn(lines ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = append(r.warnings, lines...)
}

// clocked adds how far both clocks went between two readings.
func (r *Record) clocked(before, after agent.ClockReading) {
	ratio, uncertain := agent.ClockDrift(before, after)
	host := after.Sent.Sub(before.Sent).Seconds()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.host, r.instance, r.slack = r.host+host, r.instance+ratio*host, r.slack+uncertain*host
}

// Clock is how fast the clocks of the drivers' instances ran, as a share of the host's, and
// how far that may be off; 0 where no driver ran.
func (r *Record) Clock() (rate, uncertain float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.host <= 0 {
		return 0, 0
	}
	return r.instance / r.host, r.slack / r.host
}

// Outputs are the files that were stored so far, in the order of their ends.
func (r *Record) Outputs() []rundir.Raw {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.raw)
}

// WarnOnce adds warnings that are new.
func (r *Record) WarnOnce(lines ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = lists.Add(r.warnings, lines...)
}

// Add adds the outputs of another record, and its warnings that are new.
func (r *Record) Add(other *Record) {
	outputs := other.Outputs()
	r.WarnOnce(other.Warnings()...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw = append(r.raw, outputs...)
}

// Warnings so far, in their order.
func (r *Record) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.warnings)
}

// Package rundir keeps a run: a folder with the resolved plan, facts about the
// machine, every trial as one line of an append-only journal, what the tools
// printed byte for byte, and checksums. The journal is the single source of
// truth: analysis and reports are pure functions of the folder.
//
// It must not know how a trial is made nor what is concluded from it.
package rundir

import (
	"time"

	"tare/internal/environment"
	"tare/internal/evidence"
	"tare/internal/sample"
)

// Trial is one line of the journal: one workload at one level in one
// environment, once. A failed or skipped trial is a line with a reason.
type Trial struct {
	Block       int    `json:"block"`    // from 1
	Position    int    `json:"position"` // in the block's order, from 1
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"`

	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`

	// Source is where an imported trial comes from; tare made all others itself.
	Source *Source `json:"source,omitempty"`

	Instance string `json:"instance,omitempty"` // which start it ran in
	// Instances are all starts that took part, where there were several.
	Instances []string  `json:"instances,omitempty"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	// HostSeconds and GuestSeconds time the driver by the two clocks.
	HostSeconds  float64 `json:"host_s,omitempty"`
	GuestSeconds float64 `json:"guest_s,omitempty"`
	// OwnSeconds is what tare itself spent on the trial, outside the
	// environment's start and the workload.
	OwnSeconds float64 `json:"own_s,omitempty"`

	// Phases of the start, on the first trial of each instance.
	Phases []environment.Phase `json:"phases,omitempty"`
	// Paths of a packet and a block, on the first trial of each instance.
	Paths   *environment.Paths `json:"paths,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Missing says why a metric has no value in this trial.
	Missing map[string]string `json:"missing,omitempty"`
	// Copies are the figures of each copy of the workload, where several ran at
	// once; Metrics then has what they come to together.
	Copies []Copy `json:"copies,omitempty"`
	// Series are figures over the time of the driver, by their names.
	Series map[string][]Point `json:"series,omitempty"`
	Usage  *sample.Usage      `json:"usage,omitempty"`
	// Samples are what the instances used over the time of the driver.
	Samples  *Samples  `json:"samples,omitempty"`
	Pressure *Pressure `json:"pressure,omitempty"`
	// Traced says that the kernel was watched closely meanwhile, which slows what
	// is measured: the trial's metrics make no verdict.
	Traced bool `json:"traced,omitempty"`
	// Evidence is what the kernel counted: of a traced trial all, of another one
	// the system calls, where the study asks for them.
	Evidence *evidence.Evidence `json:"evidence,omitempty"`
	Warnings []string           `json:"warnings,omitempty"`
	Raw      []Raw              `json:"raw,omitempty"`
}

// Copy is one of several copies of a workload that ran at once.
type Copy struct {
	Metrics map[string]float64 `json:"metrics"`
	Missing map[string]string  `json:"missing,omitempty"`
}

// Point is one figure of a series.
type Point struct {
	Second float64 `json:"s"` // since the first figure of the driver
	Value  float64 `json:"v"`
}

// Status of a trial.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped" // known beforehand: a known limit, an environment that does not work here
)

// Raw is a file with what a tool printed, byte for byte.
type Raw struct {
	Name   string `json:"name"` // driver.stdout, server.stderr, console
	Path   string `json:"path"` // below the run folder
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Pressure is how busy the machine was: shown, never used to drop a trial.
type Pressure struct {
	CPU          *float64 `json:"psi_cpu,omitempty"` // share of the trial in which something waited for a CPU
	IO           *float64 `json:"psi_io,omitempty"`
	Memory       *float64 `json:"psi_memory,omitempty"`
	StealSeconds *float64 `json:"steal_s,omitempty"`
	// CanarySeconds is the calibrated loop before the block.
	CanarySeconds *float64 `json:"canary_s,omitempty"`
}

// Package workload reads workload packs: one YAML file each, that says what
// image it needs, how its server starts and when it answers, how it is driven,
// and which metrics are taken from what the driver printed. The packs that tare
// brings are embedded; a user's own is a file.
//
// It must not know environments: a pack runs wherever an agent is.
package workload

import (
	"time"

	"tare/internal/agent"
	"tare/internal/image"
)

// Pack is a workload as its file describes it.
type Pack struct {
	Name     string       `yaml:"workload" json:"workload"`
	Title    string       `yaml:"title" json:"title"`
	Stresses string       `yaml:"stresses" json:"stresses"` // cpu, memory, syscalls, disk, network, start
	Image    image.Recipe `yaml:"image" json:"image"`
	// Parameters that commands refer to as ${name}.
	Parameters map[string]Parameter `yaml:"parameters" json:"parameters,omitempty"`
	// Begin runs once in each instance, before the workload's first trial there,
	// and End once before the instance stops; both unmeasured.
	Begin []Step `yaml:"begin" json:"begin,omitempty"`
	End   []Step `yaml:"end" json:"end,omitempty"`
	// Setup runs before every trial, unmeasured: it makes fresh data.
	Setup []Step `yaml:"setup" json:"setup,omitempty"`
	// Server, when there is one, starts after Setup and ends after the trial.
	Server *Server `yaml:"server" json:"server,omitempty"`
	// Warmup drives the server before the measurement; its output is kept but
	// not parsed.
	Warmup *Step `yaml:"warmup" json:"warmup,omitempty"`
	// Driver is what is measured. nil only for kind: startup.
	Driver *Step `yaml:"driver" json:"driver,omitempty"`
	// Teardown runs after every trial, unmeasured, whether it succeeded or not.
	Teardown []Step `yaml:"teardown" json:"teardown,omitempty"`
	// Cold adds the start of the instance to the measured wall time, so every
	// trial must have a fresh one.
	Cold bool `yaml:"cold" json:"cold,omitempty"`
	// Parser reads the driver's standard output. It may be missing where every
	// metric is one that tare measures itself (see Measured).
	Parser  Parser   `yaml:"parser" json:"parser"`
	Metrics []Metric `yaml:"metrics" json:"metrics"`
	// Operations names the metric that counts operations of one trial; with it
	// the CPU time of the whole environment becomes CPU time per operation.
	Operations string `yaml:"operations" json:"operations,omitempty"`
	// Fresh is trial, block or run: how often the pack wants a fresh instance.
	// "" leaves it to the study.
	Fresh string `yaml:"fresh" json:"fresh,omitempty"`
	// Startup marks the one built-in whose measurement is the start itself.
	Startup bool `yaml:"startup" json:"startup,omitempty"`
	// Limits known beforehand, by environment kind: the trial is not run there
	// and the report shows the cause, never a failure of the environment.
	KnownLimits map[string]string `yaml:"known_limits" json:"known_limits,omitempty"`
	// Cautions, by environment kind, stand as a warning beside every trial
	// there: something in that environment makes the figure mean less than it
	// seems to.
	Cautions map[string]string `yaml:"cautions" json:"cautions,omitempty"`
}

// Parameter is a knob of a pack with its unit and range.
type Parameter struct {
	Default string   `yaml:"default" json:"default"`
	Unit    string   `yaml:"unit" json:"unit,omitempty"`
	About   string   `yaml:"about" json:"about,omitempty"`
	Min     *float64 `yaml:"min" json:"min,omitempty"`
	Max     *float64 `yaml:"max" json:"max,omitempty"`
	Values  []string `yaml:"values" json:"values,omitempty"` // allowed words
}

// Step is one command.
type Step struct {
	// Run is a command line for /bin/sh -c, or Argv the words themselves.
	Run  string   `yaml:"run" json:"run,omitempty"`
	Argv []string `yaml:"argv" json:"argv,omitempty"`
	Env  []string `yaml:"env" json:"env,omitempty"`
	Dir  string   `yaml:"dir" json:"dir,omitempty"`
	User string   `yaml:"user" json:"user,omitempty"`
	// Role names the entry of the study's pin that this command is pinned by.
	Role    string        `yaml:"role" json:"role,omitempty"`
	Timeout time.Duration `yaml:"timeout" json:"timeout,omitempty"`
	// AnyStatus accepts every exit status; an end by a signal is still a failure.
	AnyStatus bool `yaml:"any_status" json:"any_status,omitempty"`
}

// Server is a step that goes on until the trial ends.
type Server struct {
	Step  `yaml:",inline"`
	Ready agent.Probe `yaml:"ready" json:"ready"`
	// Stop is the signal that ends it; "" is SIGTERM.
	Stop string `yaml:"stop" json:"stop,omitempty"`
}

// Parser says how figures come out of what the driver printed: exactly one
// field is set.
type Parser struct {
	Name  string   `yaml:"name" json:"name,omitempty"`   // a built-in parser
	Regex []string `yaml:"regex" json:"regex,omitempty"` // each must match; named groups are fields
	JSON  bool     `yaml:"json" json:"json,omitempty"`   // fields are paths: jobs.0.read.iops
	CSV   bool     `yaml:"csv" json:"csv,omitempty"`     // first row names the columns
}

// Metric is one named figure of a pack.
type Metric struct {
	Name    string `yaml:"name" json:"name"`
	Unit    string `yaml:"unit" json:"unit"`
	Better  string `yaml:"better" json:"better"` // lower or higher
	Primary bool   `yaml:"primary" json:"primary,omitempty"`
	// Field of the parser's output; "" is the metric's own name.
	Field string `yaml:"field" json:"field,omitempty"`
	About string `yaml:"about" json:"about,omitempty"`
}

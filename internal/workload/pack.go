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
	// Roles are the parts that the pack's steps play (server, database, node,
	// driver), with the place of each unless a study puts it elsewhere. A role
	// that steps name and this does not list runs together with the others.
	Roles map[string]Role `yaml:"roles" json:"roles,omitempty"`
	// Begin runs once in each instance, before the workload's first trial there,
	// and End once before the instance stops; both unmeasured.
	Begin []Step `yaml:"begin" json:"begin,omitempty"`
	End   []Step `yaml:"end" json:"end,omitempty"`
	// Setup runs before every trial, unmeasured: it makes fresh data.
	Setup []Step `yaml:"setup" json:"setup,omitempty"`
	// Servers start after Setup, one after another, each when the one before it
	// answers, and end after the trial in the opposite order. One whose role has
	// several instances runs in each of them.
	Servers []Server `yaml:"servers" json:"servers,omitempty"`
	// Warmup drives the server before the measurement; its output is kept but
	// not parsed.
	Warmup *Step `yaml:"warmup" json:"warmup,omitempty"`
	// Driver is what is measured. nil only for kind: startup.
	Driver *Step `yaml:"driver" json:"driver,omitempty"`
	// Teardown runs after every trial, unmeasured, whether it succeeded or not.
	Teardown []Step `yaml:"teardown" json:"teardown,omitempty"`
	// Cold adds the start of the instance to the measured wall time and to the
	// time until the servers answer, so every trial must have a fresh one.
	Cold bool `yaml:"cold" json:"cold,omitempty"`
	// EmptyCache empties the host's page cache before each start of an instance,
	// so that the first reads come from the disk.
	EmptyCache bool `yaml:"empty_cache" json:"empty_cache,omitempty"`
	// Parser reads the driver's standard output. It may be missing where every
	// metric is one that tare measures itself (see Measured).
	Parser  Parser   `yaml:"parser" json:"parser"`
	Metrics []Metric `yaml:"metrics" json:"metrics"`
	// Operations names the metric that counts operations of one trial; with it
	// what the whole environment used becomes the cost of a thousand of them.
	Operations string `yaml:"operations" json:"operations,omitempty"`
	// Touches are the folders and files that the workload works on: pages, data
	// directories, logs. Configuration are the files that tell servers and drivers
	// how to work. Both are for those who ask whether two environments differ: the
	// workload itself runs without them. A path that is none once the parameters
	// are in place, as where a log is off, is left out by With.
	Touches       []RolePath `yaml:"touches" json:"touches,omitempty"`
	Configuration []RolePath `yaml:"configuration" json:"configuration,omitempty"`
	// Fresh is trial, block or run: how often the pack wants a fresh instance.
	// "" leaves it to the study.
	Fresh string `yaml:"fresh" json:"fresh,omitempty"`
	// Startup marks a pack whose measurement is the start itself.
	Startup bool `yaml:"startup" json:"startup,omitempty"`
	// Rest is for how many seconds the started instances are watched at rest, a
	// number or ${parameter}: what they hold and use when nothing runs in them.
	// Only with Startup; "" does not look.
	Rest string `yaml:"rest" json:"rest,omitempty"`
	// Limits known beforehand, by environment kind: the trial is not run there
	// and the report shows the cause, never a failure of the environment.
	KnownLimits map[string]string `yaml:"known_limits" json:"known_limits,omitempty"`
	// Cautions, by environment kind, stand as a warning beside every trial
	// there: something in that environment makes the figure mean less than it
	// seems to.
	Cautions map[string]string `yaml:"cautions" json:"cautions,omitempty"`
}

// Role says where the steps of a role run.
type Role struct {
	// Place is together (with all others that are), apart (in an instance of its
	// own) or host (on the machine itself, in the image's root file system,
	// outside of every environment); "" is together.
	Place string `yaml:"place" json:"place,omitempty"`
	// Hosts are machines of the study, where it names them: the one that the role
	// is on (host), or those of its instances, one each (apart).
	Hosts []string `yaml:"-" json:"hosts,omitempty"`
	// Count is how many instances play the role, a number or ${parameter}; more
	// than one only apart. Servers and setup steps of the role run in each.
	Count string `yaml:"count" json:"count,omitempty"`
	About string `yaml:"about" json:"about,omitempty"`
}

// RolePath is a path in the instances that play a role; "" is where everything
// runs together.
type RolePath struct {
	Path string `yaml:"path" json:"path"`
	Role string `yaml:"role" json:"role,omitempty"`
}

// The places of a role.
const (
	Together = "together"
	Apart    = "apart"
	OnHost   = "host"
)

// Places lists them.
var Places = []string{Together, Apart, OnHost}

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
	// Role says where the command runs, and which entry of the study's pin it is
	// pinned by; "" runs where everything is together, on all cores.
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
	// Across is how the figures of several copies of the workload that ran at
	// once become one: sum, mean, max, or a percentile (p50, p95, p99); "" is sum
	// for what is counted or is a rate and better when higher, and else mean.
	Across string `yaml:"across" json:"across,omitempty"`
	About  string `yaml:"about" json:"about,omitempty"`
}

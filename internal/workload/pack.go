// Package workload reads workload packs. A pack is a YAML file with the image, the
// servers and their readiness probes, the load driver, and the metrics that are
// parsed from the driver's output. Built-in packs are embedded; others are files.
//
// It must not know environments: a pack runs wherever an agent runs.
package workload

import (
	"slices"
	"time"

	"tare/internal/agent"
	"tare/internal/image/recipe"
	"tare/internal/usage/cost"
)

// Pack is a workload pack.
type Pack struct {
	Name     string        `yaml:"workload" json:"workload"`
	Title    string        `yaml:"title" json:"title"`
	Stresses string        `yaml:"stresses" json:"stresses"` // cpu, memory, syscalls, disk, network, start
	Image    recipe.Recipe `yaml:"image" json:"image"`
	// Parameters that commands refer to as ${name}.
	Parameters map[string]Parameter `yaml:"parameters" json:"parameters,omitempty"`
	// Roles are the roles of the pack's steps (server, database, node, driver), with
	// the place of each, which a study may change. A role that is not listed runs
	// together with the others.
	Roles map[string]Role `yaml:"roles" json:"roles,omitempty"`
	// Begin runs once per instance, before the workload's first trial in it, and End
	// once before the instance stops. Neither is measured.
	Begin []Step `yaml:"begin" json:"begin,omitempty"`
	End   []Step `yaml:"end" json:"end,omitempty"`
	// Setup runs before every trial, to create new data. It is not measured.
	Setup []Step `yaml:"setup" json:"setup,omitempty"`
	// Servers start after Setup, in order, each when the previous one is ready, and
	// stop after the trial in reverse order. A server runs in every instance of its
	// role.
	Servers []Server `yaml:"servers" json:"servers,omitempty"`
	// Warmup loads the server before the measurement; its output is stored but not
	// parsed.
	Warmup *Step `yaml:"warmup" json:"warmup,omitempty"`
	// Driver is the load driver, which is measured. It is nil only with Startup.
	Driver *Step `yaml:"driver" json:"driver,omitempty"`
	// Length says how the length of a sample is set; nil where the driver does a
	// fixed amount of work.
	Length *Length `yaml:"length" json:"length,omitempty"`
	// OpenLoop says how a rate of requests is set; nil where the driver keeps none.
	OpenLoop *OpenLoop `yaml:"open_loop" json:"open_loop,omitempty"`
	// ClosedLoop is a driver that sends a request when the one before is answered.
	ClosedLoop bool `yaml:"closed_loop" json:"closed_loop,omitempty"`
	// Teardown runs after every trial, failed or not. It is not measured.
	Teardown []Step `yaml:"teardown" json:"teardown,omitempty"`
	// Cold adds the instance's start to the measured wall time and to the time until
	// the servers are ready, so that every trial needs a new instance.
	Cold bool `yaml:"cold" json:"cold,omitempty"`
	// EmptyCache drops the host's page cache before each start of an instance, so
	// that first reads go to the disk.
	EmptyCache bool `yaml:"empty_cache" json:"empty_cache,omitempty"`
	// SetupTime is about how long data and servers take to be ready in a container, for
	// estimates before anything was measured; 0 is not said.
	SetupTime time.Duration `yaml:"setup_time" json:"setup_time,omitempty"`
	// Parser parses the driver's standard output. It may be missing if tare measures
	// all metrics itself (see Measured).
	Parser  Parser   `yaml:"parser" json:"parser"`
	Metrics []Metric `yaml:"metrics" json:"metrics"`
	// Operations names the metric that counts the operations of a trial. With it
	// tare reports the environment's resource use per thousand operations.
	Operations string `yaml:"operations" json:"operations,omitempty"`
	// Touches are directories and files that the workload reads and writes: pages,
	// data, logs. Configuration are the configuration files of servers and drivers.
	// Both are used only to compare environments. With removes entries that are not
	// paths after the substitution, as when a log is off.
	Touches       []RolePath `yaml:"touches" json:"touches,omitempty"`
	Configuration []RolePath `yaml:"configuration" json:"configuration,omitempty"`
	// Fresh is trial, block or run: how often the pack needs a new instance. "" is
	// the study's choice.
	Fresh string `yaml:"fresh" json:"fresh,omitempty"`
	// Startup marks a pack that measures the start itself.
	Startup bool `yaml:"startup" json:"startup,omitempty"`
	// Rest is for how many seconds the memory and CPU time of idle instances are
	// measured after the start, a number or ${parameter}. Only with Startup; "" is
	// not at all.
	Rest string `yaml:"rest" json:"rest,omitempty"`
	// KnownLimits are, by environment kind, reasons why the workload cannot run
	// there. Its trials are skipped, and the report shows the reason.
	KnownLimits map[string]string `yaml:"known_limits" json:"known_limits,omitempty"`
	// Cautions are, by environment kind, warnings that every trial there gets, since
	// something limits the meaning of its values.
	Cautions map[string]string `yaml:"cautions" json:"cautions,omitempty"`
}

// Role configures where the steps of a role run.
type Role struct {
	// Place is together (in one instance with the other roles), apart (in a separate
	// instance) or host (on the host, in the image's root file system, outside of
	// the environment); "" is together. A service of an application can be in an
	// instance of the baseline's.
	Place string `yaml:"place" json:"place,omitempty"`
	// Hosts are hosts of the study: the one on which the role runs (host), or one
	// per instance of the role (apart).
	Hosts []string `yaml:"-" json:"hosts,omitempty"`
	// Image is recipe: on the host, the role runs in an image of the pack's recipe, also
	// if the study names another image, which has no load driver. A service of an
	// application has a reference.
	Image string `yaml:"image" json:"image,omitempty"`
	// Count is the number of instances of the role, a number or ${parameter}; more
	// than one needs apart. Servers and setup steps of the role run in each.
	Count string `yaml:"count" json:"count,omitempty"`
	// Cores is how many cores the role can use, a number or ${parameter}; "" is as many
	// as there are.
	Cores string `yaml:"cores" json:"cores,omitempty"`
	About string `yaml:"about" json:"about,omitempty"`
}

// RolePath is a path in the instances of a role; "" is that of all roles that run
// together.
type RolePath struct {
	Path string `yaml:"path" json:"path"`
	Role string `yaml:"role" json:"role,omitempty"`
}

// The values of Role.Place.
const (
	Together = "together"
	Apart    = "apart"
	OnHost   = "host"
	// InBaseline is apart, and in the baseline's environment whichever is measured. It
	// is not for packs.
	InBaseline = "baseline"
)

// OwnImage is the value of Role.Image.
const OwnImage = "recipe"

// Places lists the values of Role.Place.
var Places = []string{Together, Apart, OnHost}

// Parameter is a parameter of a pack, with its unit and range.
type Parameter struct {
	Default string   `yaml:"default" json:"default"`
	Unit    string   `yaml:"unit" json:"unit,omitempty"`
	About   string   `yaml:"about" json:"about,omitempty"`
	Min     *float64 `yaml:"min" json:"min,omitempty"`
	Max     *float64 `yaml:"max" json:"max,omitempty"`
	Values  []string `yaml:"values" json:"values,omitempty"` // allowed values
	// Form is PageForm, or "" for a number, a size or a plain word.
	Form string `yaml:"form" json:"form,omitempty"`
}

// PageForm is the Parameter.Form of the path of a page, which can have a query. Shell
// commands need it in quotes.
const PageForm = "page"

// Step is one command: Run, Argv or Entrypoint.
type Step struct {
	// Run is a command line for /bin/sh -c.
	Run  string   `yaml:"run" json:"run,omitempty"`
	Argv []string `yaml:"argv" json:"argv,omitzero"`
	// Entrypoint starts what the image says: its entrypoint with the arguments, as its
	// user, in its working directory.
	Entrypoint bool `yaml:"entrypoint" json:"entrypoint,omitempty"`
	// Program takes the place of the image's entrypoint and arguments, and Argv that of its
	// arguments, where they are not nil. Only with Entrypoint, and no key of a pack.
	Program []string `yaml:"-" json:"program,omitzero"`
	Env     []string `yaml:"env" json:"env,omitempty"`
	Dir     string   `yaml:"dir" json:"dir,omitempty"`
	// Stdin is a file of the instance that is the command's standard input; "" is an
	// empty one.
	Stdin string `yaml:"stdin" json:"stdin,omitempty"`
	User  string `yaml:"user" json:"user,omitempty"`
	// Role selects the instance, and the entry of the study's pin that has the
	// command's cores. A step without a role runs together, on all cores.
	Role    string        `yaml:"role" json:"role,omitempty"`
	Timeout time.Duration `yaml:"timeout" json:"timeout,omitempty"`
	// AnyStatus accepts every exit status. Death by a signal is still a failure.
	AnyStatus bool `yaml:"any_status" json:"any_status,omitempty"`
}

// Server is a step that runs until the trial ends.
type Server struct {
	Step  `yaml:",inline"`
	Ready agent.Probe `yaml:"ready" json:"ready"`
	// Stop is the signal that stops it; "" is SIGTERM.
	// With entrypoint it is the image's.
	Stop string `yaml:"stop" json:"stop,omitempty"`
	// StopTime is how long it has after that signal; 0 is ten seconds.
	StopTime time.Duration `yaml:"-" json:"stop_time,omitempty"`
	// Completes: it is no server, but runs to its end before the next one starts.
	Completes bool `yaml:"-" json:"completes,omitempty"`
	// Health is what else says that it is ready, before Ready; nil for nothing.
	Health *Health `yaml:"-" json:"health,omitempty"`
}

// Health is the check of a service of an application.
type Health struct {
	// Exec is the command; nil is that of the image, unless NotImage.
	Exec     []string `json:"exec,omitempty"`
	NotImage bool     `json:"not_image,omitempty"`
	// Port accepts connections when the service is ready, where there is no command and
	// the server has no other probe; 0 is the first one that the image exposes.
	Port int `json:"port,omitempty"`
	// Page is what the port answers by HTTP then; "" is nothing.
	Page    string        `json:"page,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Parser configures how the driver's output is parsed. Exactly one field is set.
type Parser struct {
	Name  string   `yaml:"name" json:"name,omitempty"`   // a built-in parser
	Regex []string `yaml:"regex" json:"regex,omitempty"` // each must match; named groups are fields
	JSON  bool     `yaml:"json" json:"json,omitempty"`   // fields are paths: jobs.0.read.iops, $.jobs[0].read.iops
	CSV   bool     `yaml:"csv" json:"csv,omitempty"`     // the first row has the names of the columns
}

// Metric is one metric of a pack.
type Metric struct {
	Name    string `yaml:"name" json:"name"`
	Unit    string `yaml:"unit" json:"unit"`
	Better  string `yaml:"better" json:"better"` // lower or higher
	Primary bool   `yaml:"primary" json:"primary,omitempty"`
	// Field of the parser's output; "" is the metric's own name.
	Field string `yaml:"field" json:"field,omitempty"`
	// Percentile says that the metric is a percentile, from 0, the minimum, to 100, the
	// maximum; nil that it is none. Percentiles cannot be averaged: that of several
	// samples or copies comes from the distribution Of, whose histograms add up. Of is a
	// distribution of a built-in parser; with a regex, an expression that matches each
	// value, its group value, or bin, with a group count; with JSON, the path of a list
	// of values, or of counts by value; with CSV, a column. Without it only 0 and 100
	// add up.
	Percentile *float64 `yaml:"percentile" json:"percentile,omitempty"`
	Of         string   `yaml:"of" json:"of,omitempty"`
	// Across is how the values of copies that ran at the same time are aggregated:
	// sum, mean, max, or a percentile (p50, p95, p99); "" is sum for counts and rates
	// that are better when higher, and mean otherwise.
	Across string `yaml:"across" json:"across,omitempty"`
	About  string `yaml:"about" json:"about,omitempty"`
}

// FromStart says whether what is measured begins with the start of an instance, so that
// each sample needs a fresh one.
func (p Pack) FromStart() bool { return p.Startup || p.Cold }

// Asks says whether a metric of the pack has one of the fields.
func (p Pack) Asks(fields ...string) bool {
	return slices.ContainsFunc(p.Metrics, func(m Metric) bool { return slices.Contains(fields, m.FieldName()) })
}

// Ends says whether the pack measures the stop of an instance.
func (p Pack) Ends() bool { return p.Startup && p.Asks(StopSeconds, RemoveSeconds, LifeSeconds) }

// Source says in a few words where the value of a metric comes from.
func (p Pack) Source(m Metric) string {
	field := m.FieldName()
	switch {
	case cost.Named(m.Name), m.Name == CPUSeconds, field == MemoryMean:
		return "tare, outside the instance"
	case m.Name == Capacity && p.OpenLoop != nil:
		return "tare, the search over rates"
	case p.Startup && slices.Contains(EndFields, field):
		return "tare, after the start"
	case m.Name == StartAll, p.Startup:
		return "tare, the start"
	case slices.Contains(Measured, field):
		return "tare, by the instance's clock"
	case p.Parser.Name != "":
		return "parser " + p.Parser.Name + ", " + field
	case p.Parser.JSON:
		return "JSON, " + field
	case p.Parser.CSV:
		return "CSV, " + field
	}
	return "expression, " + field
}

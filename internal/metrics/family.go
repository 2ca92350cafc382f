// Package metrics is what a run looks like to Prometheus: the families of
// metrics, each described once, and the values that the events of a run give
// them. The listener of a run that is under way shows the values as they are
// now; the OpenMetrics text of a finished run has all that they ever were; the
// dashboards and the table in the documentation are made of the same list.
//
// It must not know how a run is executed, nor how anything is served or drawn.
package metrics

import (
	"fmt"

	"tare/internal/sample"
)

// Type of a family.
type Type string

// The types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Shown says where a family is to be found.
type Shown string

// The places.
const (
	Live     Shown = "live"     // while a run is under way
	Finished Shown = "finished" // in the text of a finished run
	Both     Shown = "both"
)

// Family is all series of one name.
type Family struct {
	Name   string // as it is queried: a counter's ends in _total
	Type   Type
	Help   string
	Labels []string // besides the run's
	Shown  Shown
}

// RunLabel is the label of every family of a run: the name of its folder.
const RunLabel = "run"

// The labels that several families share.
var (
	ofCell     = []string{"environment", "workload"}
	ofTrial    = []string{"environment", "workload", "level"}
	ofContrast = []string{"environment", "baseline", "workload", "level", "metric", "primary", "part"}
)

// The families of a run's progress.
var (
	RunInfo = family("tare_run_info", Gauge, Both, "The run: always 1", "study", "baseline", "version")
	State   = family("tare_run_state", Gauge, Live, "What the run does: 1 for the state that it is in", "state")
	Began   = family("tare_run_start_timestamp_seconds", Gauge, Both, "When the run's first session began, in Unix time")
	Elapsed = family("tare_run_elapsed_seconds", Gauge, Live, "Time spent on trials, that of earlier sessions included")
	End     = family("tare_run_expected_end_timestamp_seconds", Gauge, Live, "When the run ends at the latest, in Unix time, as far as measured durations tell")

	BlockNow   = family("tare_run_block", Gauge, Both, "The block under way, from 1")
	BlockLimit = family("tare_run_block_limit", Gauge, Live, "The block that is the last one at the latest")
	NextLook   = family("tare_run_next_look_block", Gauge, Live, "The number of blocks at which a verdict can fall next")
	Left       = family("tare_run_trials_left", Gauge, Live, "Trials left in the block under way")
	GivenUp    = family("tare_run_given_up", Gauge, Live, "Workloads that left the run in one environment after they failed from the start")
	Trials     = family("tare_trials_total", Counter, Both, "Trials that ended", "environment", "status")
	Verdicts   = family("tare_run_verdicts", Gauge, Both, "Contrasts on primary metrics by their verdict; open ones are still to be decided", "verdict")

	Trying      = family("tare_trial_running_info", Gauge, Live, "The trial under way: always 1, and absent between trials", "environment", "workload", "level", "block")
	TryingSince = family("tare_trial_running_start_timestamp_seconds", Gauge, Live, "When the trial under way began, in Unix time")
)

// The families of what trials measured.
var (
	Starts    = family("tare_start_duration_seconds", Histogram, Live, "Starts of instances, up to the agent's first word", "environment")
	LastStart = family("tare_start_seconds", Gauge, Both, "The last start of an instance, up to the agent's first word", "environment")

	Metric   = family("tare_trial_metric", Gauge, Both, "A metric of the last trial that ended, in the unit that the label names", "environment", "workload", "level", "metric", "unit", "better")
	Duration = family("tare_trial_driver_seconds", Gauge, Both, "How long the driver of the last trial ran, by the host's clock", ofTrial...)
	Pressure = family("tare_trial_pressure_ratio", Gauge, Both, "Share of the last trial in which something on the machine waited for the resource", "resource")
	Canary   = family("tare_block_canary_seconds", Gauge, Both, "A short loop that is always the same work, timed before the block: how fast the machine is")

	Ratio   = family("tare_contrast_ratio", Gauge, Both, "The metric in the environment over that in the baseline: the estimate", ofContrast...)
	Low     = family("tare_contrast_low_ratio", Gauge, Both, "The lower end of the ratio's interval; absent without a bound", ofContrast...)
	High    = family("tare_contrast_high_ratio", Gauge, Both, "The upper end of the ratio's interval; absent without a bound", ofContrast...)
	Margin  = family("tare_contrast_margin_ratio", Gauge, Both, "How far from 1 a ratio still counts as equivalent", ofContrast...)
	Pairs   = family("tare_contrast_blocks", Gauge, Both, "Blocks with a value on both sides", ofContrast...)
	Verdict = family("tare_contrast_verdict", Gauge, Both, "1 for the verdict on the contrast, 0 for the others", append(ofContrast[:len(ofContrast):len(ofContrast)], "verdict")...)
)

// The families of resource use, and of its counting.
var (
	Watched = family("tare_environment_watched_seconds_total", Counter, Both, "Time in which the environment's use was counted: what rates of the others are to be divided by", ofCell...)
	Absent  = family("tare_environment_absent_info", Gauge, Both, "A quantity that was not counted in the last trial, and why: always 1", "environment", "workload", "quantity", "reason")
)

// The families that are known when a trial ends: who used the processor, what
// the whole machine did meanwhile, and what the watching cost.
var (
	PartCPU = family("tare_environment_part_cpu_seconds_total", Counter, Both, "Processor time by who used it: the processes of the environment, by their role and name", "environment", "workload", "role", "process")
	HostCPU = family("tare_machine_cpu_seconds_total", Counter, Both, "Processor time of the whole machine while the environment was watched, by who is charged; unattributed is charged to no thread", "environment", "charged")
	Energy  = family("tare_machine_energy_joules_total", Counter, Both, "Energy of all processor packages while the environment was watched", "environment")

	SamplerCPU    = family("tare_sampler_cpu_seconds_total", Counter, Both, "Processor time that the sampler itself used", "environment")
	SamplerPasses = family("tare_sampler_passes_total", Counter, Both, "Passes of the sampler, each a look at all instances of a trial", "environment")
	SamplerTime   = family("tare_sampler_pass_seconds_total", Counter, Both, "Time that the sampler's passes took together", "environment")
	SamplerMax    = family("tare_sampler_pass_longest_seconds", Gauge, Both, "The longest pass of the sampler in the last trial", "environment")
	SamplerLate   = family("tare_sampler_late_passes_total", Counter, Both, "Passes of the sampler that began more than half a period late", "environment")
)

// Build is about the program and has no run.
var Build = &Family{"tare_build_info", Gauge, "The program: always 1", []string{"version", "go_version"}, Live}

// The families of the machine.
var (
	Stall = family("tare_machine_stall_seconds_total", Counter, Live, "Time in which something on the machine waited for the resource (PSI, some)", "resource")
	Steal = family("tare_machine_steal_seconds_total", Counter, Live, "Processor time that the hypervisor gave to others, over all cores")
)

// Families are all that have the run's label, in the order in which people
// read them.
func Families() []*Family { return families }

var families []*Family

// family describes one more. It is called for variables of this package alone.
func family(name string, t Type, shown Shown, help string, labels ...string) *Family {
	f := &Family{name, t, help, labels, shown}
	families = append(families, f)
	return f
}

// Uses are the families of what is counted of an environment, one a quantity,
// in the order of sample.Quantities.
var Uses = func() (list []*Family) {
	for _, q := range sample.Quantities {
		list = append(list, family("tare_environment_"+q.Name+suffix(q), typeOf(q), Both, upper(q.About), ofCell...))
	}
	return list
}()

// suffix is the unit, as Prometheus wants it in a name.
func suffix(q sample.Quantity) string {
	unit, known := map[string]string{"s": "_seconds", "B": "_bytes", "1": ""}[q.Unit]
	if !known {
		panic(fmt.Sprintf("the quantity %s has the unit %q, which has no name here", q.Name, q.Unit))
	}
	if q.Kind == sample.Counter {
		unit += "_total"
	}
	return unit
}

func typeOf(q sample.Quantity) Type {
	if q.Kind == sample.Counter {
		return Counter
	}
	return Gauge
}

func upper(text string) string { return string(text[0]&^0x20) + text[1:] }

// Package metrics defines the Prometheus metrics of a run: the metric families,
// and their values, derived from the events of the run. The exporter serves the
// current values of a run; the OpenMetrics text of a finished run has all values
// over time; the table in docs/how-to/live.md is generated from the same families.
//
// It must not know how a run is executed, nor how metrics are served or drawn.
package metrics

import (
	"fmt"

	"tare/internal/usage"
)

// Type of a family.
type Type string

// The types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Shown is where a family is exposed.
type Shown string

// The values of Shown.
const (
	Live     Shown = "live"     // while a run is in progress
	Finished Shown = "finished" // in the text of a finished run
	Both     Shown = "both"
)

// Family is a metric family: all series with one name.
type Family struct {
	Name   string // as in queries: that of a counter ends in _total
	Type   Type
	Help   string
	Labels []string // besides RunLabel
	Shown  Shown
}

// RunLabel is the label of every family of a run: the name of the run directory.
const RunLabel = "run"

// The labels that several families share. The node is that of a run over nodes, else "".
var (
	ofCell     = []string{"node", "environment", "workload"}
	ofTrial    = []string{"node", "environment", "workload", "level"}
	ofContrast = []string{"environment", "baseline", "workload", "level", "metric", "primary", "part"}
)

// The families of a run's progress.
var (
	RunInfo = family("tare_run_info", Gauge, Both, "The run: always 1", "study", "baseline", "version")
	State   = family("tare_run_state", Gauge, Live, "State of the run: 1 for the current state, 0 for the others", "state")
	Began   = family("tare_run_start_timestamp_seconds", Gauge, Both, "Start of the run's first session, in Unix time")
	Elapsed = family("tare_run_elapsed_seconds", Gauge, Live, "Time spent on trials, including earlier sessions")
	End     = family("tare_run_expected_end_timestamp_seconds", Gauge, Live, "Latest expected end of the run, in Unix time, from measured durations")

	BlockNow   = family("tare_run_block", Gauge, Both, "The current block, from 1; of several nodes the last that was begun")
	BlockLimit = family("tare_run_block_limit", Gauge, Live, "The maximum number of blocks")
	NextLook   = family("tare_run_next_look_block", Gauge, Live, "The number of blocks at the next interim analysis")
	Left       = family("tare_run_trials_left", Gauge, Live, "Trials left in the blocks under way")
	GivenUp    = family("tare_run_given_up", Gauge, Live, "Workloads that were dropped in one environment because their first trials failed")
	Trials     = family("tare_trials_total", Counter, Both, "Finished trials", "node", "environment", "status")
	Verdicts   = family("tare_run_verdicts", Gauge, Both, "Contrasts on primary metrics by verdict; open ones are undecided", "verdict")

	Trying      = family("tare_trial_running_info", Gauge, Live, "The current trial of each node, or those whose samples alternate: always 1; absent between trials", "node", "environment", "workload", "level", "block")
	TryingSince = family("tare_trial_running_start_timestamp_seconds", Gauge, Live, "Start of the current trial, in Unix time", "node")
)

// The families of what trials measured.
var (
	Starts    = family("tare_start_duration_seconds", Histogram, Live, "Start time of instances, until the agent's first message", "environment")
	LastStart = family("tare_start_seconds", Gauge, Both, "Start time of the last instance, until the agent's first message", "node", "environment")

	Metric   = family("tare_trial_metric", Gauge, Both, "A metric of the last finished trial, in the unit of the label", "node", "environment", "workload", "level", "metric", "unit", "better")
	Duration = family("tare_trial_driver_seconds", Gauge, Both, "Run time of the driver in the last trial, by the host's clock", ofTrial...)
	Pressure = family("tare_trial_pressure_ratio", Gauge, Both, "Share of the last trial in which something on the machine waited for the resource", "resource")
	Canary   = family("tare_block_canary_seconds", Gauge, Both, "Run time of the calibration loop before the block: how fast the machine is")

	Ratio      = family("tare_contrast_ratio", Gauge, Both, "The metric in the environment over that in the baseline: the estimate", ofContrast...)
	Low        = family("tare_contrast_low_ratio", Gauge, Both, "The lower end of the ratio's interval; absent without a bound", ofContrast...)
	High       = family("tare_contrast_high_ratio", Gauge, Both, "The upper end of the ratio's interval; absent without a bound", ofContrast...)
	Margin     = family("tare_contrast_margin_ratio", Gauge, Both, "How far from 1 a ratio still counts as equivalent", ofContrast...)
	Pairs      = family("tare_contrast_blocks", Gauge, Both, "Blocks with a value on both sides", ofContrast...)
	Confounded = family("tare_contrast_confounded", Gauge, Both, "1 where something besides the layer differs between the sides (†), 0 where not", ofContrast...)
	Verdict    = family("tare_contrast_verdict", Gauge, Both, "1 for the verdict on the contrast, 0 for the others", append(ofContrast[:len(ofContrast):len(ofContrast)], "verdict")...)
)

// The families about the sampling of resource use.
var (
	Watched = family("tare_environment_watched_seconds_total", Counter, Both, "Time in which the environment was sampled: divide rates of the other counters by its rate", ofCell...)
	Absent  = family("tare_environment_absent_info", Gauge, Both, "A quantity that is missing in the last trial, with the reason: always 1", "node", "environment", "workload", "quantity", "reason")
)

// The families whose values are known when a trial ends: CPU time by process, the
// totals of the machine, and the cost of the sampler.
var (
	PartCPU = family("tare_environment_part_cpu_seconds_total", Counter, Both, "CPU time of the environment's processes, by role and name", "node", "environment", "workload", "role", "process")
	HostCPU = family("tare_machine_cpu_seconds_total", Counter, Both, "CPU time of the whole machine while the environment was sampled, by what it is charged to; unattributed is charged to no thread", "node", "environment", "charged")
	Energy  = family("tare_machine_energy_joules_total", Counter, Both, "Energy of all processor packages while the environment was sampled", "node", "environment")

	SamplerCPU    = family("tare_sampler_cpu_seconds_total", Counter, Both, "CPU time of the sampler", "node", "environment")
	SamplerPasses = family("tare_sampler_passes_total", Counter, Both, "Passes of the sampler, each of which reads all instances of a trial", "node", "environment")
	SamplerTime   = family("tare_sampler_pass_seconds_total", Counter, Both, "Total time of the sampler's passes", "node", "environment")
	SamplerMax    = family("tare_sampler_pass_longest_seconds", Gauge, Both, "The longest pass of the sampler in the last trial", "node", "environment")
	SamplerLate   = family("tare_sampler_late_passes_total", Counter, Both, "Passes of the sampler that began more than half an interval late", "node", "environment")
)

// Build is about the program and has no run label.
var Build = &Family{"tare_build_info", Gauge, "The program: always 1", []string{"version", "go_version"}, Live}

// The families of the machine.
var (
	Stall = family("tare_machine_stall_seconds_total", Counter, Live, "Time in which something on the machine waited for the resource (PSI, some)", "resource")
	Steal = family("tare_machine_steal_seconds_total", Counter, Live, "Steal time, over all cores: CPU time that the hypervisor gave to other guests")
)

// families are all with the run label, in the order of the documentation.
var families []*Family

// family registers a family. Only variables of this package call it.
func family(name string, t Type, shown Shown, help string, labels ...string) *Family {
	f := &Family{name, t, help, labels, shown}
	families = append(families, f)
	return f
}

// Uses are the families of an environment's resource use, one for each quantity,
// in the order of usage.Quantities.
var Uses = func() (list []*Family) {
	for _, q := range usage.Quantities {
		list = append(list, family("tare_environment_"+q.Name+suffix(q), typeOf(q), Both, upper(q.About), ofCell...))
	}
	return list
}()

// suffix is the end of a name by Prometheus's conventions: the unit, and _total
// for a counter.
func suffix(q usage.Quantity) string {
	unit, known := map[string]string{"s": "_seconds", "B": "_bytes", "1": ""}[q.Unit]
	if !known {
		panic(fmt.Sprintf("quantity %s: unknown unit %q", q.Name, q.Unit))
	}
	if q.Kind == usage.Counter {
		unit += "_total"
	}
	return unit
}

func typeOf(q usage.Quantity) Type {
	if q.Kind == usage.Counter {
		return Counter
	}
	return Gauge
}

func upper(text string) string { return string(text[0]&^0x20) + text[1:] }

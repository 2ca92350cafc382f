// Package rundir reads and writes run directories: the resolved plan, facts about
// the machine, every trial as a line of an append-only journal, the output of the
// tools byte for byte, and checksums. The journal is the single source of truth:
// analysis and reports are pure functions of the directory.
//
// It must not know how a trial is made, nor what is concluded from it.
package rundir

import (
	"math"
	"time"

	"tare/internal/environment"
	"tare/internal/stats"
	"tare/internal/subject"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
	"tare/internal/workload/capacity"
)

// Trial is one line of the journal: one workload at one level in one
// environment, once. A failed or skipped trial is a line with a reason.
type Trial struct {
	Block       int    `json:"block"`    // from 1
	Position    int    `json:"position"` // in the block's order, from 1
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"`
	// Node is the machine that the block ran on, or the pair A+B with the measured
	// instances on A and the roles of the host on B; "" in a run on one machine.
	Node string `json:"node,omitempty"`

	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Output is what programs printed last before it failed, each below a heading.
	Output string `json:"output,omitempty"`

	// Source is the origin of an imported trial; nil for trials that tare ran.
	Source *Source `json:"source,omitempty"`

	Instance string `json:"instance,omitempty"` // the start that it ran in
	// Instances are all starts that took part, if there were several.
	Instances []string  `json:"instances,omitempty"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	// HostSeconds and GuestSeconds are the duration of the driver by each clock.
	HostSeconds  float64 `json:"host_s,omitempty"`
	GuestSeconds float64 `json:"guest_s,omitempty"`
	// ClockRate is how fast the clock of the driver's instance ran in the trial, as a share
	// of the host's, and ClockUncertain how far off that may be, since a message asks for
	// it. 0: no driver ran in an instance.
	ClockRate      float64 `json:"clock_rate,omitempty"`
	ClockUncertain float64 `json:"clock_uncertain,omitempty"`
	// TookSeconds is what the trial took of its block for itself: start, preparation,
	// samples and end.
	TookSeconds float64 `json:"took_s,omitempty"`
	// OwnSeconds is the overhead of tare in the trial: the time outside the start
	// of the environment and the workload.
	OwnSeconds float64 `json:"own_s,omitempty"`

	// Amounts of work of a sample, one a copy, where they were found for the wanted
	// length: values of the parameter that the pack names. Absent where the driver
	// keeps the length itself, or the study sets the amount.
	Amounts []int64 `json:"amounts,omitempty"`
	// ExpectedSeconds is how long a sample of these amounts was expected to take.
	ExpectedSeconds float64 `json:"expected_s,omitempty"`

	// Rate of requests per second, where that is a share of a capacity.
	Rate float64 `json:"rate,omitempty"`

	// Phases of the start, on the first trial of each instance.
	Phases []environment.Phase `json:"phases,omitempty"`
	// Paths of a packet and a block, on the first trial of each instance.
	Paths *environment.Paths `json:"paths,omitempty"`
	// Metrics summarise the rounds where the trial has them.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Missing has the reason for each metric without a value in this trial.
	Missing map[string]string `json:"missing,omitempty"`
	// Rounds are the samples of the trial, in order, if it gave several that
	// alternated with those of other environments.
	Rounds []Round `json:"rounds,omitempty"`
	// HalfRounds are samples of half the length, each after the round with its number.
	// They show how much the length of a sample biases its values, and are part of no
	// other figure.
	HalfRounds []Round `json:"half_rounds,omitempty"`
	// HalfShare is which share of the work or time of a sample those of half the length
	// have: a little less than a half where the amount is odd.
	HalfShare float64 `json:"half_share,omitempty"`
	// RoundsSeconds is how long the rounds of all environments of the batch took
	// together, and RoundsReason why there are so many; "" where the study sets them.
	RoundsSeconds float64 `json:"rounds_s,omitempty"`
	RoundsReason  string  `json:"rounds_reason,omitempty"`
	// StealSource is what the stolen time of the rounds was read from.
	StealSource string `json:"steal_source,omitempty"`
	// Copies are the values of each copy of the workload, if several ran at once;
	// Metrics then has their totals.
	Copies []Copy `json:"copies,omitempty"`
	// Series are values over the time of the driver in a trial of one sample, by name, or
	// of several starts.
	Series map[string][]Point `json:"series,omitempty"`
	Usage  *usage.Usage       `json:"usage,omitempty"`
	// ReadingsFile is the resource usage of the instances over the time of the driver.
	Readings *ReadingsFile `json:"samples,omitempty"`
	Pressure *Pressure     `json:"pressure,omitempty"`
	// Traced trials run with kernel tracing, which slows them: their metrics give
	// no verdict.
	Traced bool `json:"traced,omitempty"`
	// Evidence has the kernel counters of a traced trial, or the system calls of
	// another one if the study counts them.
	Evidence *evidence.Evidence `json:"evidence,omitempty"`
	Warnings []string           `json:"warnings,omitempty"`
	Raw      []Raw              `json:"raw,omitempty"`
}

// Cell is what the trial measured.
func (t *Trial) Cell() subject.Cell {
	return subject.Cell{Environment: t.Environment, Workload: t.Workload, Level: t.Level}
}

// Round is one sample of a trial in a block whose environments alternate. Samples
// with the same number lie next to each other in time, so that they can be
// compared as a pair.
type Round struct {
	Number   int                `json:"round"`    // from 1, the same in all environments of the block
	Position int                `json:"position"` // in the order of the round, from 1
	Metrics  map[string]float64 `json:"metrics,omitempty"`
	// Probe is what the sample shows of the capacity, where that is searched.
	Probe *capacity.Probe `json:"probe,omitempty"`
	// Missing has the reason for each metric without a value in this round.
	Missing map[string]string `json:"missing,omitempty"`
	// HostSeconds and GuestSeconds are the duration of the driver by each clock.
	HostSeconds  float64 `json:"host_s,omitempty"`
	GuestSeconds float64 `json:"guest_s,omitempty"`
	// StealSeconds is the time that the hypervisor took from the cores that the
	// environment may use during the sample.
	StealSeconds *float64 `json:"steal_s,omitempty"`
	// Series are values over the time of the driver in this sample, by name; a driver that
	// gave only one has no course.
	Series map[string][]Point `json:"series,omitempty"`
}

// Courses are a series in each sample of the trial that has it.
func (t *Trial) Courses(series string) (all [][]Point) {
	if points := t.Series[series]; len(points) > 0 {
		return [][]Point{points}
	}
	for _, r := range t.Rounds {
		if points := r.Series[series]; len(points) > 0 {
			all = append(all, points)
		}
	}
	return all
}

// RoundLogs are the logarithms of a metric in the rounds of the trial. There are none
// if no round has the metric, or if a value has no logarithm: the medians of the
// rounds, which the trial has, take such a value as what it is, a very small one,
// where leaving the round out would favour the side that it belongs to.
func (t Trial) RoundLogs(metric string) stats.Logs {
	var logs []float64
	some := false
	for _, r := range t.Rounds {
		for len(logs) < r.Number {
			logs = append(logs, math.NaN())
		}
		switch v, there := r.Metrics[metric]; {
		case !there:
		case !(v > 0) || math.IsInf(v, 1):
			return stats.Logs{}
		default:
			logs[r.Number-1], some = math.Log(v), true
		}
	}
	if !some {
		return stats.Logs{}
	}
	return stats.Logs{Rounds: logs, Of: len(t.Rounds)}
}

// LengthLogs are how much the length of the samples biases a metric, as logarithms: at
// the index of a round that one of half the length follows, the logarithm of the short
// sample without the mean of those of the round and of the next one, between which it
// lies in time. A rate that is off by a start of the time s, over the length L, is off by
// s/L, and that of half the length by twice that: the difference is the bias of the
// whole length. There are none where RoundLogs has none, or where there are no such samples.
func (t Trial) LengthLogs(metric string) stats.Logs {
	whole := t.RoundLogs(metric).Rounds
	if whole == nil || !(t.HalfShare > 0 && t.HalfShare < 1) {
		return stats.Logs{}
	}
	half := Trial{Rounds: t.HalfRounds}.RoundLogs(metric)
	for i := range half.Rounds {
		if i+1 >= len(whole) {
			half.Rounds = half.Rounds[:i]
			break
		}
		// s/(share·L) - s/L, as a multiple of s/L
		half.Rounds[i] = (half.Rounds[i] - (whole[i]+whole[i+1])/2) * t.HalfShare / (1 - t.HalfShare)
	}
	return half
}

// Copy is one of several copies of a workload that ran at once.
type Copy struct {
	Metrics map[string]float64 `json:"metrics"`
	Missing map[string]string  `json:"missing,omitempty"`
}

// Elapsed is the time that trials took, in the order of the journal. Those of
// environments that alternate lie over each other: their time counts once. One that ended
// before another began that is before it in the journal ran after the clock was set back.
func Elapsed(trials []Trial) (total time.Duration) {
	var began, until time.Time // of the last one
	for _, t := range trials {
		if t.Ended.Before(began) {
			until = t.Started
		}
		began = t.Started
		from := t.Started
		if from.Before(until) {
			from = until
		}
		if t.Ended.After(from) {
			total += t.Ended.Sub(from)
			until = t.Ended
		}
	}
	return total
}

// Point is one value of a series.
type Point struct {
	Second float64 `json:"s"` // since the first value of the driver
	Value  float64 `json:"v"`
}

// Status of a trial.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped" // not run: a known limit, or an environment that does not work here
)

// Raw is a file with the output of a tool, byte for byte.
type Raw struct {
	Name   string `json:"name"` // driver.stdout, server.stderr, console
	Path   string `json:"path"` // below the run directory
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// Samples are the sizes of the outputs of several samples, which are in the file
	// one after another.
	Samples []int64 `json:"samples,omitempty"`
}

// Pressure is how busy the machine was. It is reported, and never used to drop a
// trial.
type Pressure struct {
	CPU          *float64 `json:"psi_cpu,omitempty"` // share of the trial in which a task waited for a CPU
	IO           *float64 `json:"psi_io,omitempty"`
	Memory       *float64 `json:"psi_memory,omitempty"`
	StealSeconds *float64 `json:"steal_s,omitempty"`
	// CanarySeconds is the duration of the calibration loop before the block.
	CanarySeconds *float64 `json:"canary_s,omitempty"`
}

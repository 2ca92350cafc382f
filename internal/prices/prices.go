// Package prices makes a price list of a run of the study "prices": what each environment
// adds to one system call of each kind, in nanoseconds of time and of CPU time. A list is of
// one machine. It makes a profile of a program, which is what an operation asks of the kernel,
// and predicts with both what the operation costs elsewhere.
//
// It must not know how the calls are made, nor how a run is executed.
package prices

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// Study is the name of the built-in study, and Workload that of the one that has its calls, and
// its pack. Packets is the pack of exchanges with the host, where the program that asks is outside
// of the environment, and with another instance.
const (
	Study    = "prices"
	Workload = "calls"
	Packets  = "packets"
)

// Of the pack.
const (
	parameter   = "kind"
	nanoseconds = "nanoseconds"
	calls       = "calls"
	nothing     = "nothing" // the kind that costs the start of the program
)

// alpha of an interval, each of which is about its own price alone.
const alpha = .05

// List is a price list.
type List struct {
	Format   int            `json:"format"` // 1
	Machine  rundir.Machine `json:"machine"`
	Tare     string         `json:"tare"` // version
	Run      string         `json:"run"`
	Measured time.Time      `json:"measured"`
	Baseline string         `json:"baseline"`
	// Environments besides the baseline, in the order of the study, and Kinds of calls.
	Environments []Environment `json:"environments"`
	Kinds        []string      `json:"kinds"`
	Prices       []Price       `json:"prices"`
}

// Environment is one that the list is about.
type Environment struct {
	Name     string            `json:"name"`
	Kind     string            `json:"kind"`
	Label    string            `json:"label,omitempty"` // "tcg": shown with every value
	Versions map[string]string `json:"versions,omitempty"`
	// Options that differ from the kind's defaults, as NAME=VALUE words: of an environment
	// beside the one without them, what changing them would give.
	Options string `json:"options,omitempty"`
}

// Price is what one call costs in an environment, in nanoseconds.
type Price struct {
	Environment string `json:"environment"`
	Kind        string `json:"kind"`
	Blocks      int    `json:"blocks"`
	// Time that a call takes there, and CPU time of the whole environment: medians of the
	// blocks. CPU is nil where it is not known.
	Time float64  `json:"time_ns"`
	CPU  *float64 `json:"cpu_ns"`
	// More than in the baseline; nil of the baseline itself.
	MoreTime *Amount `json:"more_time_ns,omitempty"`
	MoreCPU  *Amount `json:"more_cpu_ns,omitempty"`
	// Each block's difference, of which the amounts are estimates.
	Each []Difference `json:"each,omitempty"`
}

// Difference is what a call costs more in one block; CPU is nil where it is not known.
type Difference struct {
	Block int      `json:"block"`
	Time  float64  `json:"time_ns"`
	CPU   *float64 `json:"cpu_ns,omitempty"`
}

// Amount is an estimate with its interval of 95%, which there is from stats.LeastBlocks on.
type Amount struct {
	Estimate float64  `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
}

// Of makes the list of a run.
func Of(r *rundir.Run) (List, error) {
	l := List{Format: 1, Machine: r.Manifest.Machine, Tare: r.Manifest.Tare, Run: r.Manifest.Run, Measured: r.Manifest.Created, Baseline: r.Plan.Baseline}
	if err := Able(r.Plan); err != nil {
		return l, fmt.Errorf("%s: %w", r.Manifest.Run, err)
	}
	taken := take(r.Trials, r.Plan.Workloads)
	for _, e := range r.Plan.Environments {
		if len(taken[e.Name]) > 0 && e.Name != l.Baseline {
			facts := r.Manifest.Environments[e.Name]
			l.Environments = append(l.Environments, Environment{e.Name, e.Kind, facts.Label, facts.Versions, optionsOf(e)})
		}
	}
	base := taken[l.Baseline]
	if len(base) == 0 {
		return l, fmt.Errorf("%s has no value of the baseline %s", r.Manifest.Run, l.Baseline)
	}
	for _, kind := range kindsIn(r.Plan.Workloads) {
		if kind == nothing || len(base[kind]) == 0 {
			continue
		}
		l.Kinds = append(l.Kinds, kind)
		l.Prices = append(l.Prices, price(l.Baseline, kind, base[kind]))
		for _, e := range l.Environments {
			if blocks := taken[e.Name][kind]; len(blocks) > 0 {
				p := price(e.Name, kind, blocks)
				p.Each = differences(blocks, base[kind])
				p.MoreTime, p.MoreCPU = more(p.Each)
				l.Prices = append(l.Prices, p)
			}
		}
	}
	return l, nil
}

// Able says why a run of a plan gives no list; nil where it gives one.
func Able(plan *study.Plan) error {
	if w := plan.Workload(Workload); w == nil || w.Pack.Name != Workload {
		return fmt.Errorf("%s gives no price list: it needs a workload %q, as the study %s has", plan.Study, Workload, Study)
	}
	if e := plan.Environment(plan.Baseline); e.Kind != "native" {
		return fmt.Errorf("%s gives no price list: its baseline %s is of the kind %s, and must be native: a price is what a call costs more than there", plan.Study, e.Name, e.Kind)
	}
	return nil
}

// Lost are the environments that an earlier list has prices of, and the plan of this one was to
// measure, but this one has not.
func (l List) Lost(before List, plan *study.Plan) (names []string) {
	for _, e := range before.Environments {
		here := slices.ContainsFunc(l.Environments, func(other Environment) bool { return other.Name == e.Name })
		if !here && plan.Environment(e.Name) != nil {
			names = append(names, e.Name)
		}
	}
	return names
}

// optionsOf an environment that change what it costs. The ports that it publishes, and the
// engine that has an option, are no change of their own.
func optionsOf(e study.Environment) string {
	return strings.Join(lists.Filter(strings.Fields(e.UnusualOptions()), func(word string) bool {
		key, _, _ := strings.Cut(word, "=")
		return !slices.Contains([]string{"ports", "engine", "socket", "memory", "cores"}, key)
	}), " ")
}

// kindsIn the workloads that are priced, in their order.
func kindsIn(workloads []study.Workload) (kinds []string) {
	for _, w := range workloads {
		if w.Pack.Name == Workload || w.Pack.Name == Packets {
			for _, l := range w.Levels {
				kinds = append(kinds, l.Parameters[parameter])
			}
		}
	}
	return kinds
}

// kindOf is what a trial did; "" where that is not priced.
func kindOf(t rundir.Trial, workloads []study.Workload) string {
	for _, w := range workloads {
		for _, l := range w.Levels {
			if w.Name == t.Workload && l.Name == t.Level {
				return l.Parameters[parameter]
			}
		}
	}
	return ""
}

// block is what the samples of one kind in one environment in one block say of a call.
type block struct {
	number int
	rounds map[int]float64 // nanoseconds, by the number of the round
	cpu    float64         // nanoseconds of CPU time, without the start of the program; NaN: unknown
}

// take sorts the trials by environment and kind, blocks rising.
func take(trials []rundir.Trial, workloads []study.Workload) map[string]map[string][]block {
	type cell struct {
		environment string
		block       int
	}
	starts := map[cell]float64{} // CPU time of the start of the program
	taken := map[string]map[string][]block{}
	for _, t := range trials {
		if cpu, known := spent(t); known && kindOf(t, workloads) == nothing {
			starts[cell{t.Environment, t.Block}] = cpu / float64(len(t.Rounds))
		}
	}
	for _, w := range workloads {
		if w.Pack.Name != Workload && w.Pack.Name != Packets {
			continue
		}
		for _, t := range trials {
			if t.Workload != w.Name || t.Status != rundir.OK {
				continue
			}
			start, known := starts[cell{t.Environment, t.Block}]
			if w.Pack.Place(w.Pack.DriverRole()) == workload.OnHost {
				start, known = 0, true
			}
			b := blockOf(t, start, known)
			if len(b.rounds) == 0 {
				continue
			}
			if taken[t.Environment] == nil {
				taken[t.Environment] = map[string][]block{}
			}
			kind := kindOf(t, workloads)
			taken[t.Environment][kind] = append(taken[t.Environment][kind], b)
		}
	}
	return taken
}

// blockOf a trial, in each of whose samples the start of the program takes so many seconds of CPU
// time, if that is known.
func blockOf(t rundir.Trial, start float64, known bool) block {
	b := block{number: t.Block, rounds: map[int]float64{}, cpu: math.NaN()}
	for _, r := range t.Rounds {
		if v, there := r.Metrics[nanoseconds]; there {
			b.rounds[r.Number] = v
		}
	}
	if cpu, there := spent(t); known && there {
		b.cpu = (cpu - start*float64(len(t.Rounds))) / t.Metrics[calls] * 1e9
	}
	return b
}

// spent is the CPU time of all samples of a trial in seconds.
func spent(t rundir.Trial) (seconds float64, known bool) {
	each, known := t.Metrics[cost.CPU]
	return each / 1000 * t.Metrics[calls], known && len(t.Rounds) > 0 && t.Metrics[calls] > 0
}

func price(environment, kind string, blocks []block) Price {
	p := Price{Environment: environment, Kind: kind, Blocks: len(blocks)}
	var times, cpu []float64
	for _, b := range blocks {
		var rounds []float64
		for _, v := range b.rounds {
			rounds = append(rounds, v)
		}
		times = append(times, stats.Location(rounds))
		if !math.IsNaN(b.cpu) {
			cpu = append(cpu, b.cpu)
		}
	}
	p.Time = stats.Median(times)
	if len(cpu) > 0 {
		middle := stats.Median(cpu)
		p.CPU = &middle
	}
	return p
}

// differences of the blocks to those of the baseline. That of a block is the location of
// those of its rounds, whose samples are neighbours in time; CPU time is known of all
// samples of a block together.
func differences(of, base []block) (each []Difference) {
	for _, b := range of {
		at := slices.IndexFunc(base, func(other block) bool { return other.number == b.number })
		if at < 0 {
			continue
		}
		var rounds []float64
		for round, v := range b.rounds {
			if other, there := base[at].rounds[round]; there {
				rounds = append(rounds, v-other)
			}
		}
		if len(rounds) == 0 {
			continue
		}
		d := Difference{Block: b.number, Time: stats.Location(rounds)}
		if cpu := b.cpu - base[at].cpu; !math.IsNaN(cpu) {
			d.CPU = &cpu
		}
		each = append(each, d)
	}
	return each
}

// more is what a call costs more than in the baseline.
func more(each []Difference) (time, cpu *Amount) {
	var times, cpus []float64
	for _, d := range each {
		times = append(times, d.Time)
		if d.CPU != nil {
			cpus = append(cpus, *d.CPU)
		}
	}
	return amount(times), amount(cpus)
}

// amount is the estimate from the differences of blocks.
func amount(d []float64) *Amount {
	if len(d) == 0 {
		return nil
	}
	v := stats.HodgesLehmann(d, alpha)
	a := &Amount{Estimate: v.Estimate}
	if v.Bounded() {
		a.Low, a.High = &v.Low, &v.High
	}
	return a
}

// find a price; nil where there is none.
func (l List) find(environment, kind string) *Price {
	at := slices.IndexFunc(l.Prices, func(p Price) bool { return p.Environment == environment && p.Kind == kind })
	if at < 0 {
		return nil
	}
	return &l.Prices[at]
}

// File is where a home keeps the list of its machine.
func File(home string) string { return filepath.Join(home, "prices.json") }

// ErrNone is the error of Load where there is no list.
var ErrNone = errors.New("there is no price list")

// Load reads a list and refuses one of another machine.
func Load(path string, here rundir.Machine) (l List, err error) {
	text, err := bounded.ReadFile(path, bounded.Answer)
	if errors.Is(err, fs.ErrNotExist) {
		return l, fmt.Errorf("%w: %s does not exist", ErrNone, path)
	}
	if err != nil {
		return l, fmt.Errorf("the price list: %w", err)
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("%s is no price list of tare: %w", path, err)
	}
	if l.Format == 0 {
		return l, fmt.Errorf("%s is no price list of tare: it has no format", path)
	}
	if l.Format != 1 {
		return l, fmt.Errorf("%s has format %d of a price list, and this version of tare reads format 1", path, l.Format)
	}
	for _, kind := range l.Kinds {
		if l.find(l.Baseline, kind) == nil {
			return l, fmt.Errorf("%s is no price list of tare: it has no price of %s in %s", path, kind, l.Baseline)
		}
	}
	if differ := others(l.Machine, here); len(differ) > 0 {
		return l, fmt.Errorf("%s is the price list of another machine (%s): prices hold where they were measured; `tare prices --measure` measures them here", path, strings.Join(differ, "; "))
	}
	return l, nil
}

// others says in what two machines differ that changes prices.
func others(there, here rundir.Machine) (differ []string) {
	for _, fact := range []struct{ name, there, here string }{
		{"CPU", there.CPU, here.CPU}, {"kernel", there.Kernel, here.Kernel},
		{"cores", fmt.Sprint(there.Cores), fmt.Sprint(here.Cores)},
		{"cgroups", there.Cgroups, here.Cgroups}, {"virtualised", there.Virtualised, here.Virtualised},
	} {
		if fact.there != fact.here {
			differ = append(differ, fmt.Sprintf("%s %q there, %q here", fact.name, fact.there, fact.here))
		}
	}
	return differ
}

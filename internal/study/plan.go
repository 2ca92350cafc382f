// Package study reads a study file and resolves it into a plan: every default is
// filled in, and the instances that each workload needs are expanded. No other
// package reads the YAML.
//
// It must not start anything, nor know how an environment works: the registry has
// the option types of environments, and packs have their parameters.
package study

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"tare/internal/application/secret"
	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/usage/cost"
	"tare/internal/workload"
	"tare/internal/workload/capacity"
)

// CommandLine is the origin of a study that was made of the command line of tare bench.
const CommandLine = "tare bench"

// Plan is a study with every default filled in. It is written into the run
// directory; everything after resolving works from it alone.
type Plan struct {
	Format       int                 `json:"format"` // of this structure: 1
	Study        string              `json:"study"`
	Name         string              `json:"name"`            // safe for a directory: quick
	Origin       string              `json:"origin"`          // the file, or built-in:quick
	Scale        string              `json:"scale,omitempty"` // of the study's scales; "" is its own
	Scales       []string            `json:"-"`               // of the study; results do not depend on them
	Baseline     string              `json:"baseline"`
	Hosts        map[string]Host     `json:"hosts,omitempty"`
	Nodes        Nodes               `json:"nodes,omitzero"`   // that blocks run on
	Secret       []secret.Source     `json:"secret,omitempty"` // by name; without the values
	Mounts       []environment.Mount `json:"mounts,omitempty"` // that instances have
	Inputs       []Input             `json:"inputs,omitempty"` // files that are copied into instances
	Environments []Environment       `json:"environments"`     // in the order of the file
	Workloads    []Workload          `json:"workloads"`
	Image        image.Source        `json:"image"` // of all roles without one of their own
	// Images are those of roles that do not run in Image, by their names in the packs;
	// nil where there are none.
	Images map[string]image.Source `json:"images,omitempty"`
	Limits environment.Limits      `json:"limits"`
	Pin    map[string][]int        `json:"pin,omitempty"` // role → cores, numbered as inside the instance
	// AutoPin divides the cores of each instance among the roles of a workload, or lets
	// them share one; see CoresOf.
	AutoPin bool `json:"auto_pin,omitempty"`
	// Core is the one to share. The run sets it on a machine with few cores.
	Core     *int        `json:"core,omitempty"`
	Design   Design      `json:"design"`
	Sampling Sampling    `json:"sampling,omitzero"`
	Price    *cost.Price `json:"price,omitempty"` // of what operations use; nil for none
	// Accept are confounds that the study asks for, by the names of their findings.
	Accept []string `json:"accept,omitempty"`
	// AvailableMemory of the machine when the run began; 0 where nothing depends on
	// it. See Groups.
	AvailableMemory quantity.Bytes `json:"available_memory,omitempty"`
	// Steps are what is compared where it is not every environment with the
	// baseline: each environment with another one, as on a ladder.
	Steps []Step `json:"steps,omitempty"`
	// Remarks are notes about the steps.
	Remarks []string `json:"remarks,omitempty"`
	Seed    uint64   `json:"seed"`
}

// Sampling is how the resource use of environments is sampled. The zero value is
// the default: ten readings a second.
type Sampling struct {
	Rate float64 `json:"rate,omitempty"` // readings a second, 1 to 100; 0 is 10
	Off  bool    `json:"off,omitempty"`  // one reading at the start and one at the end
	// Usage makes metrics of what environments use as a whole.
	Usage bool `json:"usage,omitempty"`
	// Syscalls counts system calls in every trial, which slows them.
	Syscalls bool `json:"syscalls,omitempty"`
	// Traced is how many traced trials of each workload in each environment are
	// made after the blocks. They count everything in the kernel.
	Traced int `json:"traced,omitempty"`
}

// Step is one comparison of a ladder: an environment with a part of the isolation
// vs one without it.
type Step struct {
	Part        string `json:"part"`        // the key of what differs: namespaces.pid; "" for all
	Name        string `json:"name"`        // for people: pid namespace
	Environment string `json:"environment"` // with the part
	Base        string `json:"base"`        // without it
	// About says what the part does to what runs, in a sentence.
	About string `json:"about,omitempty"`
	// Switched names what is switched, without an explanation: for a part that makes
	// something cheaper.
	Switched string `json:"switched,omitempty"`
	// Subject begins a sentence about the part where "The NAME" would not, and Many
	// says that its verb is in the plural.
	Subject string `json:"subject,omitempty"`
	Many    bool   `json:"many,omitempty"`
	// Order is which order of the parts the step belongs to, from 1; 0 where
	// there is one.
	Order int `json:"order,omitempty"`
}

// Environment is one named environment of a plan.
type Environment struct {
	Name    string             `json:"name"`
	Kind    string             `json:"kind"`
	Options json.RawMessage    `json:"options"` // the kind's option type, complete
	Limits  environment.Limits `json:"limits"`
	// Inside is the environment in whose instances this one runs; nil for none.
	Inside *Environment `json:"inside,omitempty"`
	// OneMachine: the instances of a copy of a workload share one of the instances that this
	// environment is Inside of; else each has one of its own.
	OneMachine bool `json:"one_machine,omitempty"`
	// System of its instances as machines; only of an environment that is Inside of
	// another one.
	System image.System `json:"system,omitzero"`
	// Host that it runs on; "" is this machine.
	Host string `json:"host,omitempty"`
	// Counted: the kernel counts everything in its trials, as in traced ones.
	Counted bool `json:"counted,omitempty"`
	// With are parameters of workloads that differ in this environment, by the
	// workload's name in the plan.
	With map[string]map[string]string `json:"with,omitempty"`
}

// Workload is one pack with its parameters set, at one or more levels.
type Workload struct {
	Name   string        `json:"name"` // unique in the plan; the pack's name by default
	Pack   workload.Pack `json:"pack"`
	Levels []Level       `json:"levels"` // at least one
	// Neighbour is what the neighbours run; nil where no level has any.
	Neighbour *workload.Pack `json:"neighbour,omitempty"`
	// Image is the reference of what its instances run, in place of the plan's image; "" for
	// that.
	Image string `json:"image,omitempty"`
	// Application is the one whose services are the pack's servers; nil for none.
	Application *Application `json:"application,omitempty"`
	Fresh       string       `json:"fresh"` // trial, block or run; unknown: imported
	// Pause is how long the machine rests before each level of a block, and before each
	// trial where they do not alternate.
	Pause time.Duration `json:"pause,omitempty"`
	// Find is the search for the capacity; nil where the rate is a parameter's.
	Find *Find `json:"find,omitempty"`
}

// Level is one point of the swept parameters.
type Level struct {
	Name       string            `json:"name"` // "clients=10"; "" where nothing is swept
	Parameters map[string]string `json:"parameters"`
	// Instances is how many copies of the whole workload run at once; 0 is 1.
	Instances int `json:"instances,omitempty"`
	// Total are the parameters whose value is that of all instances together.
	Total []string `json:"total,omitempty"`
	// Starting is how many instances at most start at the same time; 0 is all.
	Starting int `json:"starting,omitempty"`
	// Neighbours is how many copies of the neighbour run at the same time, and
	// Neighbour their parameters.
	Neighbours int               `json:"neighbours,omitempty"`
	Neighbour  map[string]string `json:"neighbour,omitempty"`
	// Sample is the length of a sample that the study asks for, with sample: or with
	// the pack's parameter; 0 is the pack's default.
	Sample time.Duration `json:"sample,omitempty"`
	// Load is the rate as a share of a capacity; nil where the rate is a parameter's.
	Load *AtLoad `json:"load,omitempty"`
	// Shape says which instances the workload needs at the level.
	Shape Shape `json:"shape,omitzero"`
}

// Design is how the trials are laid out and when they stop.
type Design struct {
	// Order is alternating, interleaved or sequential; unpaired: imported, and
	// nothing pairs the trials.
	Order string `json:"order"`
	// Rounds is how many samples each environment gives in a block of order
	// alternating; 0 in other orders. RoundsChosen: that is for the first blocks, from
	// which the number of the others is chosen.
	Rounds       int  `json:"rounds,omitempty"`
	RoundsChosen bool `json:"rounds_chosen,omitempty"`
	// Waiting is what an instance does between its samples: frozen or idle; "" in
	// other orders.
	Waiting string         `json:"waiting,omitempty"`
	Blocks  Blocks         `json:"blocks"`
	Budget  time.Duration  `json:"budget"` // 0 is none
	Margin  quantity.Share `json:"margin"`
	// Confidence is the simultaneous confidence of a family, 0.95.
	Confidence quantity.Share `json:"confidence"`
	Family     string         `json:"family"` // metric or study
	Drop       string         `json:"drop"`   // decided or never
	// Precision is how narrow the interval of an environment is when it leaves a run: the
	// half-width as a share of the estimate. 0: an earlier version made the plan.
	Precision quantity.Share `json:"precision,omitempty"`
	// Quiet is how long a block may wait until the machine is idle.
	Quiet time.Duration `json:"quiet"`
}

// Leaves reports whether environments leave a run with their verdicts, at interim
// analyses. If none does, there is one analysis of all blocks, or one after each where
// there is no maximum.
func (d Design) Leaves() bool {
	return !d.Blocks.Fixed && !d.Blocks.Open && d.Order != "sequential" && d.Drop != "never"
}

// Blocks bounds the number of blocks. Fixed: exactly Max. Open: no maximum, by
// the e-process.
type Blocks struct {
	Min   int  `json:"min"`
	Max   int  `json:"max"`
	Fixed bool `json:"fixed,omitempty"`
	Open  bool `json:"open,omitempty"`
}

// Workload of a plan by its name; nil where there is none.
func (p *Plan) Workload(name string) *Workload {
	return lists.Find(p.Workloads, func(w *Workload) bool { return w.Name == name })
}

// startsInBlock is how many instances an environment starts in a block to measure
// their starts. A start takes as long as many samples.
const startsInBlock = 4

// Rounds is how many samples a trial of a workload at a level gives at most,
// alternating with those of the other environments, unless the number is chosen; 0 is
// one sample in a trial of its own.
func (p *Plan) Rounds(w Workload, l Level) int {
	rounds := max(1, p.Design.Rounds)
	switch {
	case w.Find != nil:
		return capacity.Probes
	case p.Design.Order != Alternating:
		return 0
	case w.Pack.Startup && w.Fresh != "run", w.Pack.Cold && w.Fresh == "trial" && !p.Sampling.Syscalls:
		return max(1, min(rounds, startsInBlock/max(1, l.Instances)))
	case w.Fresh == "trial" || w.Pack.FromStart() || w.Pack.EmptyCache:
		return 0
	}
	return rounds
}

// Environment of a plan by its name; nil where there is none.
func (p *Plan) Environment(name string) *Environment {
	return lists.Find(p.Environments, func(e *Environment) bool { return e.Name == name })
}

// Level of a workload by its name.
func (w *Workload) Level(name string) (Level, bool) {
	if l := lists.Find(w.Levels, func(l *Level) bool { return l.Name == name }); l != nil {
		return *l, true
	}
	return Level{}, false
}

// Same reports whether two plans are of one study: they differ at most in where the
// study was read, in the seed, and in what a run records of its machine.
func (p *Plan) Same(other *Plan) bool {
	study := func(plan Plan) []byte {
		plan.Origin, plan.Seed, plan.Core, plan.AvailableMemory, plan.Remarks = "", 0, nil, 0, nil
		text, err := json.Marshal(plan)
		if err != nil {
			panic(err) // of plain values
		}
		return text
	}
	return bytes.Equal(study(*p), study(*other))
}

// Rung says whether an environment is between the two ends of a ladder: it is
// compared with the environments next to it, not with the baseline.
func (p *Plan) Rung(name string) bool {
	if len(p.Steps) == 0 || name == p.Baseline {
		return false
	}
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Part == "" && s.Environment == name })
}

// UnmarshalJSON reads a plan. One of an older version lacks the costs of operations besides
// processor time, which follow from what its trials recorded, and the shapes of levels.
func (p *Plan) UnmarshalJSON(data []byte) error {
	type plain Plan // without this method
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	for i := range p.Workloads {
		w := &p.Workloads[i]
		if at := slices.IndexFunc(w.Pack.Metrics, func(m workload.Metric) bool { return cost.Earlier(m.Name) }); at >= 0 {
			w.Pack.Metrics = slices.Replace(w.Pack.Metrics, at, at+1, costMetrics(p.costs())...)
		}
		for l, level := range w.Levels {
			if shape, err := w.shape(level); level.Shape.Copies == 0 && err == nil { // else the run can still be read
				w.Levels[l].Shape = shape
			}
		}
	}
	return nil
}

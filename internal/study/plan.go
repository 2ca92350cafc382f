// Package study reads a study file and resolves it into a plan. After it
// nothing looks at YAML again and nothing has a default left to fill in.
//
// It must not start anything, nor know how an environment works: it asks the
// registry for an environment's option type and the packs for their
// parameters.
package study

import (
	"encoding/json"
	"time"

	"tare/internal/cost"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/quantity"
	"tare/internal/workload"
)

// Plan is a study with every default filled in. It is written into the run
// folder and is all that the rest of the path sees.
type Plan struct {
	Format       int                `json:"format"` // of this structure: 1
	Study        string             `json:"study"`
	Name         string             `json:"name"`            // safe for a folder: quick
	Origin       string             `json:"origin"`          // the file, or built-in:quick
	Scale        string             `json:"scale,omitempty"` // of the study's scales; "" is its own
	Scales       []string           `json:"-"`               // that the study brings; nothing that is measured rests on them
	Baseline     string             `json:"baseline"`
	Hosts        map[string]Host    `json:"hosts,omitempty"`
	Environments []Environment      `json:"environments"` // in the order of the file
	Workloads    []Workload         `json:"workloads"`
	Image        image.Source       `json:"image"` // one image for all
	Limits       environment.Limits `json:"limits"`
	Pin          map[string][]int   `json:"pin,omitempty"` // role → cores, numbered as inside the instance
	Design       Design             `json:"design"`
	Sampling     Sampling           `json:"sampling,omitzero"`
	Price        *cost.Price        `json:"price,omitempty"` // of what operations use; nil for none
	// Steps are what is compared where it is not every environment with the
	// baseline: each environment with another one, as on a ladder.
	Steps []Step `json:"steps,omitempty"`
	// Remarks say what is to be kept in mind about the steps.
	Remarks []string `json:"remarks,omitempty"`
	Seed    uint64   `json:"seed"`
}

// Sampling is how closely the environments are watched. The zero value is the
// usual: ten looks a second.
type Sampling struct {
	Rate float64 `json:"rate,omitempty"` // looks a second, 1 to 100; 0 is 10
	Off  bool    `json:"off,omitempty"`  // look at the beginning and the end alone
	// Syscalls counts system calls in every trial, which slows them.
	Syscalls bool `json:"syscalls,omitempty"`
	// Traced is how many trials of each workload in each environment come after
	// the blocks in which the kernel is watched closely.
	Traced int `json:"traced,omitempty"`
}

// Step is one comparison that is asked for by itself: what an environment costs
// against another one that lacks one part of it.
type Step struct {
	Part        string `json:"part"`        // the key of what differs: namespaces.pid; "" for all
	Name        string `json:"name"`        // for people: pid namespace
	Environment string `json:"environment"` // with the part
	Base        string `json:"base"`        // without it
	// About says what the part does to what runs, in a sentence.
	About string `json:"about,omitempty"`
	// Switched is what is switched and no more: all that is said of a part that
	// makes something cheaper.
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
	// Host that it runs on; "" is this machine.
	Host string `json:"host,omitempty"`
	// With are parameters of workloads that differ in this environment, by the
	// workload's name in the plan.
	With map[string]map[string]string `json:"with,omitempty"`
}

// Workload is one pack with its parameters set, at one or more levels.
type Workload struct {
	Name   string        `json:"name"` // unique in the plan; the pack's name by default
	Pack   workload.Pack `json:"pack"`
	Levels []Level       `json:"levels"` // at least one
	// Neighbour is what runs beside the measured copies, where a level has
	// neighbours; nil where none has.
	Neighbour *workload.Pack `json:"neighbour,omitempty"`
	Fresh     string         `json:"fresh"` // trial, block or run; unknown: imported
}

// Level is one point of the swept parameters.
type Level struct {
	Name       string            `json:"name"` // "clients=10"; "" where nothing is swept
	Parameters map[string]string `json:"parameters"`
	// Instances is how many copies of the whole workload run at once; 0 is 1.
	Instances int `json:"instances,omitempty"`
	// Starting is how many instances at most start at the same time; 0 is all.
	Starting int `json:"starting,omitempty"`
	// Neighbours is how many copies of the workload's neighbour are at work
	// beside the measured ones, with what parameters.
	Neighbours int               `json:"neighbours,omitempty"`
	Neighbour  map[string]string `json:"neighbour,omitempty"`
}

// Design is how the trials are laid out and when they stop.
type Design struct {
	Order  string         `json:"order"` // interleaved or sequential; unpaired: imported, and nothing pairs the trials
	Blocks Blocks         `json:"blocks"`
	Budget time.Duration  `json:"budget"` // 0 is none
	Margin quantity.Share `json:"margin"`
	// Confidence is the simultaneous confidence of a family, 0.95.
	Confidence quantity.Share `json:"confidence"`
	Family     string         `json:"family"` // metric or study
	Drop       string         `json:"drop"`   // decided or never
	// Quiet is how long a block may wait for the machine to become quiet.
	Quiet time.Duration `json:"quiet"`
}

// Blocks bounds the number of blocks. Fixed: exactly Max. Open: no maximum, by
// the e-process.
type Blocks struct {
	Min   int  `json:"min"`
	Max   int  `json:"max"`
	Fixed bool `json:"fixed,omitempty"`
	Open  bool `json:"open,omitempty"`
}

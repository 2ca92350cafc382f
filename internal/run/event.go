package run

import (
	"sync"
	"time"

	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// Event is something that happened in a run: a line of `--json`, or a change of
// the progress display.
type Event struct {
	Kind        Kind           `json:"event"`
	Message     string         `json:"message,omitempty"`
	Step        *Step          `json:"step,omitempty"` // of the preparation
	Environment string         `json:"environment,omitempty"`
	Directory   string         `json:"folder,omitempty"` // of the run, at its beginning and end
	Report      string         `json:"report,omitempty"`
	Slot        *schedule.Slot `json:"slot,omitempty"`
	// Batch are the slots of the trials that begin together since their samples
	// alternate; nil for a trial of one sample.
	Batch []schedule.Slot `json:"batch,omitempty"`
	Trial *rundir.Trial   `json:"trial,omitempty"`
	// Round is the one of the batch that ended last; 0 after a trial.
	Round     int               `json:"round,omitempty"`
	Estimates []verdict.SoFar   `json:"estimates,omitempty"`
	Contrast  *verdict.Contrast `json:"contrast,omitempty"`
	Progress  schedule.Progress `json:"progress,omitzero"`
	// Run is the run that was opened, and Contrasts are all contrasts after a
	// trial, for receivers in this process.
	Run       *rundir.Run        `json:"-"`
	Contrasts []verdict.Contrast `json:"-"`
}

// Step is one of the steps that prepare a run: its images, and then each environment.
type Step struct {
	Name   string `json:"name"`
	Number int    `json:"number"` // from 1
	Of     int    `json:"of"`
	// Took is how long it took, once it has ended.
	Took time.Duration `json:"took_ns,omitempty"`
}

// Kind of an event.
type Kind string

// The kinds.
const (
	Opened    Kind = "opened"    // the run directory exists
	Preparing Kind = "preparing" // images, checks, sweeping
	Skipped   Kind = "skipped"   // an environment that does not work here
	Noted     Kind = "noted"     // a remark on the run, which its report repeats
	Waiting   Kind = "waiting"   // until the machine is idle
	Block     Kind = "block"     // one begins
	Trying    Kind = "trying"    // a trial, or several that alternate, begin
	Tried     Kind = "tried"     // a trial ended
	Estimates Kind = "estimates" // so far: after a round or a trial, now and then
	Verdict   Kind = "verdict"   // a primary contrast is decided
	Ending    Kind = "ending"    // instances are stopped, or reports are written
	Cleared   Kind = "cleared"   // what was left at the end was removed
	Done      Kind = "done"      // the last one
)

// oneAtATime sends events that several goroutines have one at a time; to nil it sends
// none.
func oneAtATime(events func(Event)) func(Event) {
	var mu sync.Mutex
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		if events != nil {
			events(e)
		}
	}
}

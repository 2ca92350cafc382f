package rundir

import (
	"time"

	"tare/internal/environment"
	"tare/internal/quantity"
)

// Manifest is what is known of a run besides its plan and its trials.
type Manifest struct {
	Format  int       `json:"format"` // of the run folder: 1
	Run     string    `json:"run"`    // the folder's name: quick-20261121-014500
	Tare    string    `json:"tare"`   // version
	Command []string  `json:"command"`
	Created time.Time `json:"created"`
	Machine Machine   `json:"machine"`
	// Noise is what doctor found that may spoil measurements.
	Noise []environment.Finding `json:"noise,omitempty"`
	Image ImageFacts            `json:"image"`
	// Import is there where the figures come from output that existed already.
	Import *Import `json:"import,omitempty"`
	// Environments by the plan's names.
	Environments map[string]EnvironmentFacts `json:"environments"`
	// Sessions are the processes that worked on the run: one, and one more for
	// each resume.
	Sessions []Session `json:"sessions"`
}

// Machine is where the run took place.
type Machine struct {
	Kernel       string         `json:"kernel"`
	Distribution string         `json:"distribution"`
	CPU          string         `json:"cpu"`
	Cores        int            `json:"cores"`
	Memory       quantity.Bytes `json:"memory"`
	Cgroups      string         `json:"cgroups"` // v1, v2 or hybrid
	Virtualised  string         `json:"virtualised,omitempty"`
}

// ImageFacts names the one image of a run.
type ImageFacts struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// EnvironmentFacts is what became of one environment of the plan.
type EnvironmentFacts struct {
	State    environment.State     `json:"state"` // missing: skipped, and Findings say why
	Findings []environment.Finding `json:"findings,omitempty"`
	Label    string                `json:"label,omitempty"` // "tcg": stands beside every figure
	Versions map[string]string     `json:"versions,omitempty"`
	// Notes from the starts: a limit that did not take hold, and the like.
	Notes []string `json:"notes,omitempty"`
}

// Session is one process that worked on the run.
type Session struct {
	Started time.Time `json:"started"`
	// Ended is zero when the process was killed.
	Ended   time.Time `json:"ended,omitzero"`
	Stopped string    `json:"stopped,omitempty"` // why it stopped, in words
}

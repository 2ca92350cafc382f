package rundir

import (
	"maps"
	"strings"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/environment"
)

// Manifest has the facts about a run besides its plan and its trials.
type Manifest struct {
	Format  int       `json:"format"` // of the run directory: 1
	Run     string    `json:"run"`    // the directory's name: quick-20261121-014500
	Tare    string    `json:"tare"`   // version
	Command []string  `json:"command"`
	Created time.Time `json:"created"`
	Machine Machine   `json:"machine"`
	// Noise are the findings of doctor about sources of noise.
	Noise []environment.Finding `json:"noise,omitempty"`
	Image ImageFacts            `json:"image"`
	// Images are those of roles that do not run in Image, by their names in the plan.
	Images map[string]ImageFacts `json:"images,omitempty"`
	// Nodes are those that blocks run on, in a run over nodes.
	Nodes []string `json:"nodes,omitempty"`
	// Import is set if the values come from existing output.
	Import *Import `json:"import,omitempty"`
	// Environments are by the names in the plan.
	Environments map[string]EnvironmentFacts `json:"environments"`
	// Sessions are the processes that worked on the run: the first, and one for
	// each resume.
	Sessions []Session `json:"sessions"`
}

// Machine is the machine of the run.
type Machine struct {
	Kernel       string         `json:"kernel"`
	Distribution string         `json:"distribution"`
	CPU          string         `json:"cpu"`
	Cores        int            `json:"cores"`
	Memory       quantity.Bytes `json:"memory"`
	Cgroups      string         `json:"cgroups"` // v1, v2 or hybrid
	Virtualised  string         `json:"virtualised,omitempty"`
}

// Emulated reports whether the processor is one that QEMU translates (TCG), which names itself.
// A privileged operation costs far more of an ordinary one there than on hardware.
func (m Machine) Emulated() bool { return strings.Contains(m.CPU, "TCG") }

// ImageFacts names an image of a run.
type ImageFacts struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// AllImages are the images of the run by their names in the plan; that of all roles
// without one of their own is "".
func (m Manifest) AllImages() map[string]ImageFacts {
	all := map[string]ImageFacts{"": m.Image}
	maps.Copy(all, m.Images)
	return all
}

// SetImage sets the image of a name in the plan, as AllImages has it.
func (m *Manifest) SetImage(name string, facts ImageFacts) {
	switch {
	case name == "":
		m.Image = facts
		return
	case m.Images == nil:
		m.Images = map[string]ImageFacts{}
	}
	m.Images[name] = facts
}

// EnvironmentFacts are the facts about one environment of the plan.
type EnvironmentFacts struct {
	State    environment.State     `json:"state"` // missing: it was skipped, for the reason in Findings
	Findings []environment.Finding `json:"findings,omitempty"`
	Label    string                `json:"label,omitempty"` // "tcg": shown with every value
	Versions map[string]string     `json:"versions,omitempty"`
	// Notes of its starts, such as a limit that had no effect.
	Notes []string `json:"notes,omitempty"`
}

// Session is one process that worked on the run.
type Session struct {
	Started time.Time `json:"started"`
	// Ended is zero if the process was killed.
	Ended   time.Time `json:"ended,omitzero"`
	Stopped string    `json:"stopped,omitempty"` // why it stopped, in words
	// Over: the run ended as it was planned, and its verdicts are final.
	Over bool `json:"over,omitempty"`
	// Parallel is how many nodes worked at the same time, if the session set it.
	Parallel int `json:"parallel,omitempty"`
	// Gone are the nodes that got no more blocks, with the reason.
	Gone map[string]string `json:"gone,omitempty"`
}

package model

import (
	"fmt"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
)

// hostOf names the host of the study that an environment runs on, with how it is
// reached; "" is the machine that tare ran on.
func hostOf(p *study.Plan, e study.Environment) string {
	for e.Inside != nil {
		e = *e.Inside
	}
	if e.Host == "" {
		return ""
	}
	return fmt.Sprintf("host %s (%s)", e.Host, p.Hosts[e.Host].SSH)
}

// Environment is one environment of the study, as the report shows it.
type Environment struct {
	study.Environment
	Facts    rundir.EnvironmentFacts
	Shown    string // with its label: "vm [tcg]"
	On       string // the host of the study that it runs on: "host far (ubuntu@10.0.0.2)"; "" is this machine
	Baseline bool
	Rung     bool // of a ladder, between its ends
	Index    int
}

// Ran reports whether the environment was usable.
func (e Environment) Ran() bool { return e.Facts.State != environment.Missing }

func labelled(name, label string) string {
	if label == "" {
		return name
	}
	return name + " [" + label + "]"
}

// Caution is what a reader of its results has to know; "" for nothing.
func (e Environment) Caution() string {
	if environment.Emulated(e.Facts.Label) {
		return onlyEmulation
	}
	return ""
}

// ShownName is an environment's name with its label.
func (v *Report) ShownName(name string) string {
	return labelled(name, v.Manifest.Environments[name].Label)
}

// Compared reports whether the environment worked and is compared with the baseline.
func (e Environment) Compared() bool { return !e.Baseline && !e.Rung && e.Ran() }

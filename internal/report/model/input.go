// Package model arranges what a run found for reading: every value that a report
// shows, with its reason where there is none, in the order of the study. It is a
// pure function of the run directory: the same directory gives the same report,
// so nothing here reads a clock, draws a random number or depends on the order
// of a map.
//
// It must not decide anything: estimates, intervals and verdicts come from
// package verdict, and what happened comes from package rundir. It must not know
// any format: formats import it, never the other way round.
package model

import (
	"tare/internal/papers/score"
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Input is a run with its verdicts.
type Input struct {
	Manifest  rundir.Manifest
	Plan      *study.Plan
	Trials    []rundir.Trial
	Traced    []rundir.Trial // traced trials, which are slower: evidence only, no metrics
	Contrasts []verdict.Contrast
	// Parity compares each environment with its baseline; nil without fingerprints.
	Parity []parity.Comparison
	// Across compares the nodes of the run.
	Across parity.Nodes
	// Readings returns the time series of the instances of a trial; nil if none were
	// kept.
	Readings func(rundir.Trial) ([]rundir.InstanceSeries, error)
	// Score is the score sheet of the run; nil without a profile.
	Score *score.Sheet
	// Against compares a published study with the run; nil for none.
	Against *Against
	// Figures are those of a published study, drawn from the run; nil for none.
	Figures *SourceFigures
	// Incomplete says which results of the run are missing; "" for none.
	Incomplete string
	// LacksRaw: the raw output of the trials is not in the run directory.
	LacksRaw bool
	// Explained are runs over ladders, of what this one compares. They are in other
	// directories, so that only what is printed has them, and no file of the run.
	Explained []Explained
	// Mark adds the warnings of confounds to contrasts with another baseline; nil adds none.
	Mark func([]verdict.Contrast) []verdict.Contrast
	// Directory is the run directory. No format depends on it, so that a copied run
	// gives the same report.
	Directory string
}

// Explained is what a run over a ladder says of a workload in an environment.
type Explained struct{ Run, Workload, Environment, Says string }

// Contrasts are those of a run, with the marks of confounds: what every output says of a
// comparison begins here, or with the same marks on what is known so far.
func Contrasts(r *rundir.Run) []verdict.Contrast {
	return Fairness(r).Mark(verdict.Contrasts(r.Plan, r.Trials, r.Manifest))
}

// Of returns the input of the reports of a run, with its Contrasts.
func Of(r *rundir.Run, contrasts []verdict.Contrast) Input {
	fair := Fairness(r)
	return Input{Manifest: r.Manifest, Plan: r.Plan, Trials: r.Trials, Traced: r.Traced, Contrasts: contrasts, Mark: fair.Mark, Parity: fair.All(), Across: fair.Nodes(), Readings: r.Readings, Directory: r.Directory, Incomplete: r.Incomplete, LacksRaw: r.LacksRaw()}
}

// Options are the settings of a format.
type Options struct {
	Width  int  // columns; 0 means 80
	Colour bool // in addition to words, never instead of them
	All    bool // every metric, not only the primary ones and what operations cost
}

// File is a file of an export, with a name below the directory of the export.
type File struct {
	Name string
	Data []byte
}

// Package report writes what a run found: for the terminal, as Markdown for an
// issue or a README, and as one HTML file that works offline. Every format is
// a pure function of a run folder: the same folder gives the same bytes, so
// nothing here reads a clock, draws a random number or depends on the order of
// a map.
//
// It must not decide anything: estimates, intervals and verdicts come from
// package verdict, and what happened comes from package bundle.
package report

import (
	"tare/internal/bundle"
	"tare/internal/score"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Input is a run with its verdicts.
type Input struct {
	Manifest  bundle.Manifest
	Plan      *study.Plan
	Trials    []bundle.Trial
	Contrasts []verdict.Contrast
	// Score is the run's score sheet; nil where no profile was asked for.
	Score *score.Sheet
	// Against is a published study beside the run; nil where none was asked for.
	Against *Against
	// Folder is where the run lies, for the terminal's last lines alone: no
	// other format depends on it, so that a copied run gives the same report.
	Folder string
}

package report

import (
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/score"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Input is a run with its verdicts.
type Input struct {
	Manifest  rundir.Manifest
	Plan      *study.Plan
	Trials    []rundir.Trial
	Traced    []rundir.Trial // with the kernel watched, which slows them: evidence, and no figures
	Contrasts []verdict.Contrast
	// Parity is each environment beside what it is compared with; nil where no
	// fingerprints were taken.
	Parity []parity.Comparison
	// Samples are what was seen of a trial's instances over its time; nil where
	// nothing was kept of any.
	Samples func(rundir.Trial) ([]rundir.Watched, error)
	// Score is the run's score sheet; nil where no profile was asked for.
	Score *score.Sheet
	// Against is a published study beside the run; nil where none was asked for.
	Against *Against
	// Folder is where the run lies, for the terminal's last lines alone: no
	// other format depends on it, so that a copied run gives the same report.
	Folder string
}

// Of is what the reports of a run are made of. A contrast that a confound touches
// carries a warning.
func Of(r *rundir.Run, contrasts []verdict.Contrast) Input {
	fair := Judge(r)
	return Input{Manifest: r.Manifest, Plan: r.Plan, Trials: r.Trials, Traced: r.Traced, Contrasts: fair.Mark(contrasts), Parity: fair.All(), Samples: r.ReadSamples, Folder: r.Folder}
}

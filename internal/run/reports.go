package run

import (
	"errors"

	"tare/internal/report"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// ReportInput is what the reports of a result are made of.
func (r *Result) ReportInput() model.Input {
	in := model.Of(r.Run, r.Contrasts)
	in.Directory = r.Directory
	return in
}

// finish writes the reports and the checksums into the run directory.
func (e *execution) finish(r *Result) error { return finish(e.run, r.ReportInput()) }

// FinishImport writes the reports and the checksums into the directory of a run
// that was imported.
func FinishImport(directory string) (in model.Input, err error) {
	w, err := rundir.Resume(directory)
	if err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if in, err = OpenReport(directory); err != nil {
		return in, err
	}
	in.Incomplete = "" // the checksums are those of before
	return in, finish(w, in)
}

// OpenReport reads a run and evaluates it: it is the only source of what reports
// are made of.
func OpenReport(directory string) (model.Input, error) {
	r, err := rundir.Open(directory)
	if err != nil {
		return model.Input{}, &InputError{err}
	}
	return model.Of(r, verdict.Contrasts(r.Plan, r.Trials, r.Manifest.Environments)), nil
}

// finish writes the reports and the checksums.
func finish(w *rundir.Writer, in model.Input) error {
	return errors.Join(report.WriteFiles(in, w.WriteFile), w.Seal())
}

package run

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/base/crash"
	"tare/internal/report"
	"tare/internal/report/model"
	"tare/internal/rundir"
)

// ReportInput is what the reports of a result are made of.
func (r *Result) ReportInput() model.Input {
	in := model.Of(r.Run, r.Contrasts)
	in.Directory = r.Directory
	return in
}

// finish evaluates the run and writes the reports and the checksums into its directory.
func (e *execution) finish(ctx context.Context, r *Result) error {
	if r.Interrupted { // the report is of what was measured before
		ctx = context.WithoutCancel(ctx)
	}
	err := finish(ctx, e.run, func() model.Input {
		r.Contrasts = model.Contrasts(&e.run.Run)
		return r.ReportInput()
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("interrupted while the reports were written: no trial is missing, and `tare report %s` writes them", Name(e.Home, e.Directory))
	}
	return err
}

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
	return in, finish(context.Background(), w, func() model.Input { return in })
}

// OpenReport reads a run and evaluates it: it is the only source of what reports
// are made of.
func OpenReport(directory string) (model.Input, error) {
	r, err := rundir.Open(directory)
	if err != nil {
		return model.Input{}, &InputError{err}
	}
	return model.Of(r, model.Contrasts(r)), nil
}

// finish writes the reports and the checksums, which may take seconds of a large run. If
// the context ends meanwhile, it writes nothing, and what is computed is abandoned with
// the process.
func finish(ctx context.Context, w *rundir.Writer, evaluate func() model.Input) error {
	type file struct {
		name    string
		content []byte
	}
	var files []file
	computed := make(chan error, 1)
	crash.Go(func() {
		err := report.WriteFiles(evaluate(), func(name string, content []byte) error {
			files = append(files, file{name, content})
			return nil
		})
		name, content, failed := w.Checksums()
		files = append(files, file{name, content})
		computed <- errors.Join(err, failed)
	})
	select {
	case err := <-computed:
		for _, f := range files {
			err = errors.Join(err, w.WriteFile(f.name, f.content))
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

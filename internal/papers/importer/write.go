package importer

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/linux/private"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
)

// Options say where an import goes.
type Options struct {
	Runs      string // the directory of runs, for a run without Directory
	Directory string // of the run; "" makes one in Runs
	Into      string // directory of an imported run to add to; "" makes a new run
	Version   string
	Command   []string
	Now       time.Time
}

// Result is the result of an import.
type Result struct {
	Directory string
	Results   int
	Failed    int
	Files     int
	Order     string
	Notes     []string // what the user should know
}

// InputError is the error of input that cannot be imported. Nothing was written.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// Import reads all input before it writes the run. The caller writes the reports and
// the checksums.
func (r *Request) Import(o Options) (*Result, error) {
	var contents []*content
	err := r.Check()
	if err == nil {
		r.Title = cmp.Or(r.Title, "imported "+r.Batches[0].Workload)
		contents, err = r.readAll()
	}
	if err != nil {
		return nil, &InputError{err}
	}
	if o.Into != "" {
		return r.into(o, contents)
	}
	return r.begin(o, contents)
}

func (r *Request) begin(o Options, contents []*content) (*Result, error) {
	b, err := r.build(contents, nil)
	plan := &study.Plan{}
	if err == nil {
		err = r.plan(plan, contents)
	}
	manifest := rundir.Manifest{Tare: o.Version, Command: o.Command, Created: o.Now.UTC(),
		Import: &rundir.Import{Machine: r.Machine}}
	if err == nil {
		err = r.settle(plan, &manifest, b, nil)
	}
	if err != nil {
		return nil, &InputError{err}
	}
	directory := o.Directory
	if directory == "" {
		if directory, err = private.New(o.Runs, plan.Name, o.Now); err != nil {
			return nil, &InputError{err}
		}
	}
	manifest.Run = filepath.Base(filepath.Clean(directory))
	w, err := rundir.Create(directory, plan, manifest)
	if err != nil {
		return nil, &InputError{err}
	}
	return r.write(o, w, b)
}

// into adds to an imported run. The run is opened for writing when nothing is refused any
// more, since that already makes files that it lacks.
func (r *Request) into(o Options, contents []*content) (*Result, error) {
	refuse := func(err error) (*Result, error) { return nil, &InputError{err} }
	run, err := rundir.Open(o.Into)
	if err != nil {
		return refuse(err)
	}
	old, plan, manifest := run.Manifest.Import, *run.Plan, run.Manifest
	if old == nil {
		return refuse(fmt.Errorf("%s was measured by tare, so results cannot be imported into it: import them into another run, and compare the two with `tare compare`", o.Into))
	}
	if err := wholeBefore(run); err != nil {
		return refuse(err)
	}
	if was := old.Order == rundir.ImportInterleaved; was != r.Interleaved {
		return refuse(fmt.Errorf("%s: its results are %s, and these would %s: use --interleaved for all imports or for none", o.Into,
			map[bool]string{true: "interleaved", false: "not interleaved"}[was], map[bool]string{true: "not be", false: "be"}[was]))
	}
	if err := newTo(run, contents); err != nil {
		return refuse(err)
	}
	b, err := r.build(contents, run.Trials)
	plan.Environments, plan.Workloads = slices.Clone(plan.Environments), slices.Clone(plan.Workloads)
	imported := *old
	manifest.Import = &imported
	if err == nil {
		err = r.plan(&plan, contents)
	}
	if err == nil {
		err = r.settle(&plan, &manifest, b, run.Trials)
	}
	if err != nil {
		return refuse(err)
	}
	w, err := rundir.Resume(o.Into)
	if err != nil {
		return refuse(err)
	}
	if len(w.Manifest.Sessions) != len(run.Manifest.Sessions) {
		return refuse(errors.Join(fmt.Errorf("another import into %s ended meanwhile: import again", o.Into), w.Close()))
	}
	w.Plan, w.Manifest = &plan, manifest
	return r.write(o, w, b)
}

// wholeBefore refuses a run with an earlier import that was interrupted: its journal
// has fewer results than its manifest.
func wholeBefore(run *rundir.Run) error {
	results := 0
	for _, f := range run.Manifest.Import.Files {
		results += f.Results
	}
	if results != len(run.Trials) {
		return fmt.Errorf("%s lists %d results and has %d: an earlier import into it was interrupted; remove the run (tare rm) and import everything again", run.Directory, results, len(run.Trials))
	}
	return nil
}

// newTo refuses what the run already has.
func newTo(run *rundir.Run, contents []*content) error {
	ids := map[ofWorkload]rundir.Trial{}
	for _, t := range run.Trials {
		if t.Source != nil && t.Source.ID != "" {
			ids[ofWorkload{t.Workload, t.Source.ID}] = t
		}
	}
	for _, c := range contents {
		for _, f := range run.Manifest.Import.Files {
			if f.SHA256 == c.sum && f.Workload == c.batch.Workload {
				return fmt.Errorf("%s is already in the run, as %s of %s (%s): the bytes are the same", c.Path, f.Workload, f.Environment, f.File)
			}
		}
		for n, one := range c.results {
			if t, twice := ids[ofWorkload{c.batch.Workload, one.id}]; twice && one.id != "" {
				return fmt.Errorf("result %d of %s is the same test as result %d of %s, reported by the other side: import the files of one side, or give each side its own workload name", n+1, c.Path, t.Source.Result, t.Source.File)
			}
		}
	}
	return nil
}

// settle updates plan and manifest for all trials, old and new.
func (r *Request) settle(plan *study.Plan, m *rundir.Manifest, b *built, had []rundir.Trial) error {
	all := append(slices.Clone(had), b.trials...)
	m.Import.Files = append(slices.Clone(m.Import.Files), b.files...)
	m.Import.Unsure = lists.Add(m.Import.Unsure, b.unsure()...)
	m.Import.Machine = cmp.Or(m.Import.Machine, r.Machine)
	if r.Interleaved {
		if err := contradicts(all); err != nil {
			return err
		}
		m.Import.Order, m.Import.Known = rundir.ImportInterleaved, "the import, which declares it"
	} else {
		m.Import.Order, m.Import.Known = orderOf(all, m.Import.Files)
	}
	design(plan, m.Import.Order, all)
	positions(plan, b.trials, had)
	r.facts(m)
	return nil
}

// write writes the run directory. The journal comes last, so that an interrupted
// import can be detected.
func (r *Request) write(o Options, w *rundir.Writer, b *built) (result *Result, err error) {
	defer func() { err = errors.Join(err, w.Close()) }()
	began := o.Now.UTC()
	result = &Result{Directory: w.Directory, Order: w.Manifest.Import.Order, Files: len(b.files), Notes: r.notes}
	files := w.Manifest.Import.Files[len(w.Manifest.Import.Files)-len(b.files):]
	at := 0
	for i, c := range b.contents {
		raw, err := w.KeepFile(subject.Cell{Environment: c.Environment, Workload: c.batch.Workload}, filepath.Base(c.Path), c.data)
		if err != nil {
			return nil, fmt.Errorf("keep %s: %w", c.Path, err)
		}
		files[i].Path = raw.Path
		for range c.results {
			b.trials[at].Raw = []rundir.Raw{raw}
			at++
		}
	}
	if r.Source != nil {
		raw, err := w.KeepFile(subject.Cell{Workload: "manifest"}, filepath.Base(r.Origin), r.Source)
		if err != nil {
			return nil, err
		}
		w.Manifest.Import.Manifest = raw.Path
	}
	w.Manifest.Sessions = append(w.Manifest.Sessions, rundir.Session{Started: began, Ended: began,
		Stopped: fmt.Sprintf("imported %d results from %s", len(b.trials), quantity.Counted((&rundir.Import{Files: b.files}).Sources(), "file", "files"))})
	if err := errors.Join(w.SavePlan(), w.SaveManifest()); err != nil {
		return nil, err
	}
	for _, t := range b.trials {
		if err := w.Append(t); err != nil {
			return nil, err
		}
		result.Results++
		if t.Status == rundir.Failed {
			result.Failed++
		}
	}
	return result, nil
}

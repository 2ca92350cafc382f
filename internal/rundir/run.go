package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/bounded"
	"tare/internal/base/visible"
	"tare/internal/parity"
	"tare/internal/study"
)

// Format is the version of the run directory that this program reads and writes.
const Format = 1

// The files of a run directory.
const (
	manifestFile = "manifest.json"
	planFile     = "plan.json"
	journalFile  = "journal.jsonl"
	// Checksums of the journal's lines.
	journalSumsFile = "journal.sums"
	sumsFile        = "SHA256SUMS"
	lockFile        = "lock"
	// RawDirectory has the output of tools.
	RawDirectory = "raw"
	// Reports are functions of the other files and may be rewritten, so they have
	// no checksum.
	reportPrefix = "report."
	// ExportDirectory holds exports, for which the same is true.
	ExportDirectory = "export"
	// A file has this prefix until it is complete.
	newPrefix = ".new-"
)

// Run is the content of a run directory, which can be read at any time.
type Run struct {
	Directory string
	Manifest  Manifest
	Plan      *study.Plan
	Trials    []Trial
	// Traced are the trials with kernel tracing. They are separate because tracing
	// changes their metrics.
	Traced []Trial
	// Fingerprints has one for each environment with each workload.
	Fingerprints []parity.Fingerprint
	// Incomplete says what the journal lacks, as far as that can be known; "" for nothing.
	Incomplete string
}

// Marks reports whether a file of this name makes a directory that of a run.
func Marks(name string) bool { return name == manifestFile }

// Open reads a run directory. It changes nothing, not even a torn line.
func Open(directory string) (*Run, error) {
	r, err := openWithoutTrials(directory)
	if err != nil {
		return r, err
	}
	_, _, err = r.loadTrials()
	return r, err
}

// openWithoutTrials reads what a run directory has besides its journal.
func openWithoutTrials(directory string) (*Run, error) {
	r := &Run{Directory: directory, Plan: &study.Plan{}}
	if err := oneLine(directory); err != nil {
		return nil, err
	}
	if err := readJSON(directory, manifestFile, &r.Manifest); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not a run: it has no %s; `tare ls` lists the runs", directory, manifestFile)
		}
		return nil, err
	}
	r.Manifest.Run = visible.Line(r.Manifest.Run) // the Run of a step is a script
	if r.Manifest.Format == 0 {
		return nil, fmt.Errorf("%s has no format, so %s is not a run; %s", filepath.Join(directory, manifestFile), directory, changed)
	}
	if r.Manifest.Format != Format {
		return nil, fmt.Errorf("%s has format %d of the run directory, and this version of tare reads format %d: use the version that wrote it (%s)",
			directory, r.Manifest.Format, Format, r.Manifest.Tare)
	}
	if err := readJSON(directory, planFile, r.Plan); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s; %s", directory, planFile, changed)
	} else if err != nil {
		return nil, err
	}
	if err := checkPlan(directory, r.Plan); err != nil {
		return nil, err
	}
	var err error
	r.Fingerprints, err = loadFingerprints(directory)
	return r, err
}

// oneLine refuses a path whose parts would be lines of their own wherever it is printed.
func oneLine(directory string) error {
	if strings.Contains(directory, "\n") {
		return fmt.Errorf("the path of the run %s has a line break: rename the directory", visible.Line(directory))
	}
	return nil
}

// take adds trials to their list and computes their cost metrics.
func (r *Run) take(trials ...Trial) {
	r.Trials = slices.Grow(r.Trials, len(trials))
	for i := range trials {
		t := &trials[i]
		if w := r.Plan.Workload(t.Workload); w != nil {
			t.Charge(w.Pack, r.Plan.Price)
		}
		if t.Traced {
			r.Traced = append(r.Traced, *t)
		} else {
			r.Trials = append(r.Trials, *t)
		}
	}
}

// Journal returns all trials, the traced ones last.
func (r *Run) Journal() []Trial { return slices.Concat(r.Trials, r.Traced) }

// Writer is a run directory that this process writes to. A lock excludes other
// processes.
type Writer struct {
	Run
	journal *journal
	lock    *os.File
}

// NeverStarted reports whether a directory has only the first files of a run that was
// killed before it wrote its manifest: nothing was measured.
func NeverStarted(directory string) bool {
	entries, err := os.ReadDir(directory)
	for _, e := range entries {
		info, err := e.Info()
		switch known := e.Name() == lockFile || e.Name() == planFile || strings.HasPrefix(e.Name(), newPrefix); {
		case err != nil:
			return false
		case !known && (e.Name() != journalFile && e.Name() != journalSumsFile || info.Size() > 0):
			return false
		}
	}
	return err == nil
}

// Begun reports whether a directory has a run, which can be resumed.
func Begun(directory string) bool {
	_, err := os.Stat(filepath.Join(directory, manifestFile))
	return err == nil
}

// Vacant refuses a directory that Create would not make a run in: it must not exist, or
// be empty or have a run that never started.
func Vacant(directory string) error {
	if err := oneLine(directory); err != nil {
		return err
	}
	switch entries, err := os.ReadDir(directory); {
	case errors.Is(err, fs.ErrNotExist):
		above := filepath.Dir(filepath.Clean(directory))
		for _, err := os.Stat(above); errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above); _, err = os.Stat(above) {
			above = filepath.Dir(above)
		}
		if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
			return notMade(directory, err)
		}
	case err != nil:
		return notMade(directory, err)
	case len(entries) > 0 && !NeverStarted(directory):
		if Begun(directory) {
			return fmt.Errorf("%s has a run: choose another directory with --out, or continue it with --resume %[1]s", directory)
		}
		return fmt.Errorf("%s is not empty: choose another directory with --out", directory)
	}
	return nil
}

func notMade(directory string, err error) error {
	return fmt.Errorf("the run directory %s cannot be made: %w; %s", directory, bounded.Cause(err), bounded.Way(err, "choose another one with --out"))
}

// Create makes a run directory where it is vacant.
func Create(directory string, plan *study.Plan, m Manifest) (*Writer, error) {
	if err := Vacant(directory); err != nil {
		return nil, err
	}
	// The manifest has the command line, which may hold a password.
	err := os.MkdirAll(directory, 0o700)
	if err == nil {
		err = os.Chmod(directory, 0o700)
	}
	if err != nil {
		return nil, notMade(directory, err)
	}
	w := &Writer{Run: Run{Directory: directory, Manifest: m, Plan: plan}}
	w.Manifest.Format, w.Manifest.Run = Format, visible.Line(m.Run)
	if err := w.open(); err != nil {
		return nil, err
	}
	if err := writeJSON(directory, planFile, plan); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, w.SaveManifest()
}

// Resume opens a run directory to continue the run. A line of the journal that a
// kill tore is moved to another file; everything else is kept. Incomplete says what the
// journal lacks, which is written again.
func Resume(directory string) (*Writer, error) {
	r, err := openWithoutTrials(directory)
	if err != nil {
		return nil, err
	}
	w := &Writer{Run: *r}
	return w, w.open()
}

func (w *Writer) open() error {
	lock, err := openFile(w.Directory, lockFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("another tare process is writing to %s: wait until it exits, or stop it", w.Directory)
	}
	c, known, err := w.loadTrials()
	if err == nil {
		w.journal, err = openJournal(w.Directory, c, known)
	}
	if err != nil {
		lock.Close()
		return err
	}
	w.lock = lock
	return w.removeUnfinished()
}

// removeUnfinished removes files that were not complete when a process was killed.
func (w *Writer) removeUnfinished() error {
	var errs []error
	for _, directory := range []string{".", fingerprintDirectory} {
		entries, err := readDir(w.Directory, directory)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), newPrefix) {
				errs = append(errs, within(w.Directory, func(root *os.Root) error { return root.Remove(filepath.Join(directory, e.Name())) }))
			}
		}
	}
	return errors.Join(errs...)
}

// Append writes finished trials to the journal, synced to disk together.
func (w *Writer) Append(trials ...Trial) error {
	for _, t := range trials {
		if err := checkNumbers(reflect.ValueOf(t)); err != nil {
			return fmt.Errorf("a trial of %s in %s cannot be kept: %w", t.Workload, t.Environment, err)
		}
	}
	if err := w.journal.append(trials); err != nil {
		return err
	}
	for _, t := range trials {
		w.take(t)
	}
	return nil
}

// Console opens the file of an instance's console output.
func (w *Writer) Console(instance string) (*os.File, error) {
	return openFile(w.Directory, filepath.Join(RawDirectory, "console", fileName(instance)+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
}

// fileName joins words to a readable file name.
func fileName(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, strings.Map(func(r rune) rune {
				if r == '/' || r == 0 || r == ' ' || r < 32 {
					return '_'
				}
				return r
			}, p))
		}
	}
	name := strings.Join(kept, ".")
	if strings.HasPrefix(name, ".") {
		name = "_" + name
	}
	return name
}

// SaveManifest replaces the manifest atomically.
func (w *Writer) SaveManifest() error {
	return writeJSON(w.Directory, manifestFile, &w.Manifest)
}

// WriteFile writes a file such as a report into the directory, atomically.
func (w *Writer) WriteFile(name string, data []byte) error {
	return Replace(w.Directory, name, data, 0o644)
}

// Checksums is the file with the checksums of all others, except of reports.
func (r *Run) Checksums() (name string, content []byte, err error) {
	sums, err := checksums(r.Directory)
	if err != nil {
		return "", nil, err
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	return sumsFile, text.Bytes(), nil
}

// Close releases the directory. The lock is released explicitly, since a child
// that is being forked may still have the file open.
func (w *Writer) Close() error {
	return errors.Join(w.journal.close(), unix.Flock(int(w.lock.Fd()), unix.LOCK_UN), w.lock.Close())
}

// Passing reports whether a file of a run directory is not part of the run: the lock, or
// one that is not complete.
func Passing(name string) bool {
	return name == lockFile || strings.HasPrefix(filepath.Base(name), newPrefix)
}

// Verify compares every file with the checksums and every raw file with the
// journal, and returns a line for each that differs.
func (r *Run) Verify() ([]string, error) {
	var wrong []string
	have, err := checksums(r.Directory)
	if err != nil {
		return nil, err
	}
	for _, t := range r.Journal() {
		for _, raw := range t.Raw {
			if have[raw.Path] != raw.SHA256 {
				wrong = append(wrong, fmt.Sprintf("%s: differs from the output that the journal recorded", visible.Line(raw.Path)))
			}
		}
		if s := t.Readings; s != nil && have[s.Path] != s.SHA256 {
			wrong = append(wrong, fmt.Sprintf("%s: differs from the samples that the journal recorded", visible.Line(s.Path)))
		}
	}
	text, err := readFile(r.Directory, sumsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return append(wrong, sumsFile+": missing: the run has not ended"), nil
	}
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		sum, name, ok := strings.Cut(line, "  ")
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %.60q is not a checksum and a name", sumsFile, line))
		} else if have[name] != sum {
			wrong = append(wrong, fmt.Sprintf("%s: changed since the run ended", visible.Line(name)))
		}
	}
	return wrong, nil
}

func checksums(directory string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(directory, path)
		// A name with a line break is not tare's, and could pass for the line of another file.
		if err != nil || name == sumsFile || name == lockFile || strings.HasPrefix(name, reportPrefix) || strings.HasPrefix(name, ExportDirectory+"/") || strings.Contains(name, "\n") {
			return err
		}
		file, err := openFile(directory, name, os.O_RDONLY)
		if err != nil {
			return err
		}
		defer file.Close()
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		sums[name] = hex.EncodeToString(sum.Sum(nil))
		return err
	})
	return sums, err
}

func readJSON(directory, name string, into any) error {
	data, err := readFile(directory, name)
	if err != nil {
		return err
	}
	if err := unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(directory, name), err)
	}
	visible.Names(into)
	return nil
}

// maxValues is how many values a document, or a line of the journal, can have. One that
// takes three bytes in a file can take some hundreds in memory.
const maxValues = 1 << 20

// unmarshal is json.Unmarshal of a bounded number of values, with an error that names the
// keys of the file instead of Go's types.
func unmarshal(data []byte, into any) error {
	values := 0
	for _, begin := range []string{",", "[", "{"} {
		values += bytes.Count(data, []byte(begin))
	}
	if values > maxValues {
		return fmt.Errorf("it has more than %d values", maxValues)
	}
	err := json.Unmarshal(data, into)
	if mistyped := (*json.UnmarshalTypeError)(nil); errors.As(err, &mistyped) {
		at := mistyped.Field
		if at != "" {
			at += " has "
		}
		return fmt.Errorf("%sa value of the wrong type (%s) at byte %d", at, mistyped.Value, mistyped.Offset)
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("it is not JSON from byte %d on", syntax.Offset)
	}
	if untimely := (*time.ParseError)(nil); errors.As(err, &untimely) {
		return fmt.Errorf("%s is not a time such as 2026-11-21T01:45:00Z", untimely.Value)
	}
	return err
}

func writeJSON(directory, name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return Replace(directory, name, append(data, '\n'), 0o644)
}

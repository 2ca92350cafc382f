package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/parity"
	"tare/internal/study"
)

// Format is the version of the run folder that this program writes. It reads
// this one and refuses others by name.
const Format = 1

// The files of a run folder.
const (
	manifestFile = "manifest.json"
	planFile     = "plan.json"
	journalFile  = "journal.jsonl"
	sumsFile     = "SHA256SUMS"
	lockFile     = "lock"
	rawFolder    = "raw"
	// Reports follow from the rest and may be made again, so they have no
	// checksum.
	reportPrefix = "report."
	// A file gets its name when it is whole.
	newPrefix = ".new-"
)

// Run is a run folder as it can be read at any time.
type Run struct {
	Folder   string
	Manifest Manifest
	Plan     *study.Plan
	Trials   []Trial
	// Traced are the trials that the kernel was watched closely in. They are
	// apart, as their metrics are not to be taken with the others'.
	Traced []Trial
	// Fingerprints of the environments, one with each workload.
	Fingerprints []parity.Fingerprint
}

// Open reads a run folder. It changes nothing, not even a torn line.
func Open(folder string) (*Run, error) {
	r := &Run{Folder: folder, Plan: &study.Plan{}}
	if err := readJSON(filepath.Join(folder, manifestFile), &r.Manifest); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is no run: it has no %s; `tare ls` lists the runs", folder, manifestFile)
		}
		return nil, err
	}
	if r.Manifest.Format != Format {
		return nil, fmt.Errorf("%s was written in format %d of the run folder, and this tare reads format %d: use the version that wrote it (%s)",
			folder, r.Manifest.Format, Format, r.Manifest.Tare)
	}
	if err := readJSON(filepath.Join(folder, planFile), r.Plan); err != nil {
		return nil, err
	}
	trials, err := loadTrials(filepath.Join(folder, journalFile))
	r.take(trials...)
	if err != nil {
		return r, err
	}
	r.Fingerprints, err = loadFingerprints(folder)
	return r, err
}

// take puts trials into the list that they belong to, with what their
// operations cost.
func (r *Run) take(trials ...Trial) {
	for _, t := range trials {
		if w := r.Plan.Workload(t.Workload); w != nil {
			t.Charge(w.Pack, r.Plan.Price)
		}
		if t.Traced {
			r.Traced = append(r.Traced, t)
		} else {
			r.Trials = append(r.Trials, t)
		}
	}
}

// Journal are all trials: the traced ones come last.
func (r *Run) Journal() []Trial { return slices.Concat(r.Trials, r.Traced) }

// Writer is a run folder that one process works on. A lock keeps a second
// process out.
type Writer struct {
	Run
	journal *journal
	lock    *os.File
}

// Stillborn says that a folder is the beginning of a run that was killed before
// it had a manifest: nothing was measured, and nothing else lies there.
func Stillborn(folder string) bool {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		info, err := e.Info()
		switch known := e.Name() == lockFile || e.Name() == planFile || strings.HasPrefix(e.Name(), newPrefix); {
		case err != nil:
			return false
		case !known && (e.Name() != journalFile || info.Size() > 0):
			return false
		}
	}
	return err == nil
}

// Create makes a run folder. The folder must not exist, or be empty, or be
// stillborn.
func Create(folder string, plan *study.Plan, m Manifest) (*Writer, error) {
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 && !Stillborn(folder) {
		return nil, fmt.Errorf("%s is not empty: choose another --out, or go on with the run in it: --resume %s", folder, folder)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("%w: choose another place with --out", err)
	}
	w := &Writer{Run: Run{Folder: folder, Manifest: m, Plan: plan}}
	w.Manifest.Format = Format
	if err := w.open(); err != nil {
		return nil, err
	}
	if err := writeJSON(filepath.Join(folder, planFile), plan); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, w.SaveManifest()
}

// Resume opens a run folder to go on with it. A line that a kill tore is put
// aside; everything else is kept.
func Resume(folder string) (*Writer, error) {
	r, err := Open(folder)
	if err != nil {
		return nil, err
	}
	w := &Writer{Run: *r}
	return w, w.open()
}

func (w *Writer) open() error {
	lock, err := os.OpenFile(filepath.Join(w.Folder, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("another tare is working on %s: wait for its end, or stop it", w.Folder)
	}
	j, trials, err := openJournal(filepath.Join(w.Folder, journalFile))
	if err != nil {
		lock.Close()
		return err
	}
	w.lock, w.journal, w.Trials, w.Traced = lock, j, nil, nil
	w.take(trials...)
	return w.removeUnfinished()
}

// removeUnfinished removes files that a kill kept from getting their names.
func (w *Writer) removeUnfinished() error {
	var errs []error
	for _, folder := range []string{w.Folder, filepath.Join(w.Folder, fingerprintFolder)} {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), newPrefix) {
				errs = append(errs, os.Remove(filepath.Join(folder, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// Append writes a finished trial to the journal and returns when it is on the
// disk.
func (w *Writer) Append(t Trial) error {
	if err := w.journal.append(t); err != nil {
		return err
	}
	w.take(t)
	return nil
}

// Console opens the file that receives an instance's console.
func (w *Writer) Console(instance string) (*os.File, error) {
	folder := filepath.Join(w.Folder, rawFolder, "console")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(folder, fileName(instance)+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}

// fileName makes one readable name of several parts.
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

// SaveManifest replaces the manifest as a whole.
func (w *Writer) SaveManifest() error {
	return writeJSON(filepath.Join(w.Folder, manifestFile), &w.Manifest)
}

// WriteFile puts a file such as a report into the folder, as a whole.
func (w *Writer) WriteFile(name string, data []byte) error {
	return replaceFile(filepath.Join(w.Folder, name), data)
}

// Seal writes the checksums of all files.
func (w *Writer) Seal() error {
	sums, err := checksums(w.Folder)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, name := range sortedKeys(sums) {
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	return w.WriteFile(sumsFile, text.Bytes())
}

// Close ends the work on the folder.
func (w *Writer) Close() error {
	return errors.Join(w.journal.close(), w.lock.Close())
}

// Verify compares every file with the checksums and every raw file with the
// journal, and returns a line for each that differs.
func (r *Run) Verify() ([]string, error) {
	var wrong []string
	have, err := checksums(r.Folder)
	if err != nil {
		return nil, err
	}
	for _, t := range r.Journal() {
		for _, raw := range t.Raw {
			if have[raw.Path] != raw.SHA256 {
				wrong = append(wrong, fmt.Sprintf("%s: not what the journal says was printed", raw.Path))
			}
		}
		if s := t.Samples; s != nil && have[s.Path] != s.SHA256 {
			wrong = append(wrong, fmt.Sprintf("%s: not what the journal says was sampled", s.Path))
		}
	}
	text, err := os.ReadFile(filepath.Join(r.Folder, sumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return append(wrong, sumsFile+": not there: the run was not brought to an end"), nil
	}
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		sum, name, ok := strings.Cut(line, "  ")
		if !ok || have[name] != sum {
			wrong = append(wrong, fmt.Sprintf("%s: not as it was when the run ended", name))
		}
	}
	return wrong, nil
}

func checksums(folder string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil || name == sumsFile || name == lockFile || strings.HasPrefix(name, reportPrefix) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
		return nil
	})
	return sums, err
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(data, '\n'))
}

// replaceFile writes a file so that a kill leaves either the old or the new.
func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), newPrefix+"*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

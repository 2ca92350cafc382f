package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/base/bounded"
	"tare/internal/parity"
	"tare/internal/study"
	"tare/internal/usage"
)

// writeEverything writes every kind of file of a run, as far as it is not refused.
func writeEverything(directory string) {
	w, err := Resume(directory)
	if err != nil {
		return
	}
	defer w.Close()
	trial := Trial{Block: 1, Environment: "native", Workload: "w", Status: OK}
	_ = w.KeepFingerprint(parity.Fingerprint{Environment: "native", Workload: "w"})
	_, _ = w.KeepFile(trial.Cell(), "file", []byte("new"))
	raw := w.Keep(trial, "driver.stdout")
	_, _ = raw.Write([]byte("new"))
	_, _, _ = raw.Close()
	if console, err := w.Console("native-1"); err == nil {
		_, _ = console.WriteString("new")
		_ = console.Close()
	}
	var series usage.Series
	series.Add(&usage.Reading{Seconds: 1})
	_, _ = w.KeepReadings(trial, []InstanceSeries{{Instance: "native-1", Series: &series}})
	_, _, _, _ = w.Append(trial), w.SaveManifest(), w.SavePlan(), w.WriteFile("report.md", []byte("new"))
	_ = w.Seal()
}

// smallPlan is the plan of the trials of the tests.
func smallPlan() *study.Plan {
	p := &study.Plan{Format: 1, Name: "small", Baseline: "native", Environments: []study.Environment{{Name: "native"}, {Name: "docker"}, {Name: "vm"}}}
	for _, name := range []string{"w", "redis", "nginx"} {
		p.Workloads = append(p.Workloads, study.Workload{Name: name, Levels: []study.Level{{}, {Name: "clients=1"}}})
	}
	for n := range 100 {
		p.Workloads = append(p.Workloads, study.Workload{Name: fmt.Sprint("w", n), Levels: []study.Level{{}, {Name: "clients=10"}, {Name: "path=/a b"}}})
	}
	return p
}

func runWithTornLine(t *testing.T) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	w, err := Create(directory, smallPlan(), Manifest{Run: "run"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, journalFile), []byte(`{"block":1`), 0o600); err != nil {
		t.Fatal(err)
	}
	return directory
}

func TestALinkOnTheWayOutOfARunIsNamedWithIt(t *testing.T) {
	directory := runWithTornLine(t)
	if err := os.Symlink(t.TempDir(), filepath.Join(directory, "raw")); err != nil {
		t.Fatal(err)
	}
	_, reading := readFile(directory, "raw/x")
	_, writing := openFile(directory, "raw/x", os.O_WRONLY|os.O_CREATE)
	for _, err := range []error{reading, writing, Replace(directory, "raw/x", nil, 0o600)} {
		if err == nil || !strings.Contains(err.Error(), directory+"/raw") || !strings.Contains(err.Error(), "a link on the way leads out of the run") {
			t.Error(err)
		}
	}
}

func TestNothingIsWrittenThroughALinkInARunDirectory(t *testing.T) {
	for _, name := range []string{
		"manifest.json", "plan.json", "journal.jsonl", "journal.jsonl.torn", "lock", "report.md", "SHA256SUMS", "fingerprints/native--w.json",
		"raw/block-001/native.w/driver.stdout", "raw/console/native-1.log", "raw/imported/w/native/file", "samples/block-001/native.w.parquet",
		"fingerprints", "raw", "raw/block-001", "raw/console", "raw/imported", "samples",
	} {
		directory, outside := runWithTornLine(t), t.TempDir()
		path, victim := filepath.Join(directory, name), filepath.Join(outside, "victim")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			content = []byte("old")
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == "" && name != "lock" && !strings.HasSuffix(name, "file") && name != "SHA256SUMS" {
			victim = outside
		} else if err := os.WriteFile(victim, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, path); err != nil {
			t.Fatal(err)
		}
		writeEverything(directory)
		if entries, err := os.ReadDir(outside); victim == outside && (err != nil || len(entries) > 0) {
			t.Errorf("%s: %v was written through it (%v)", name, entries, err)
		}
		if have, err := os.ReadFile(victim); victim != outside && (err != nil || string(have) != string(content)) {
			t.Errorf("%s: what it links to is now %q (%v)", name, have, err)
		}
	}
}

func TestAFIFOInARunDirectoryIsAnError(t *testing.T) {
	for _, name := range []string{"manifest.json", "plan.json", "journal.jsonl"} {
		directory := runWithTornLine(t)
		path := filepath.Join(directory, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(directory); err == nil || !strings.Contains(err.Error(), name+" is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesOfARunAreReadUpToALimit(t *testing.T) {
	for _, name := range []string{manifestFile, planFile, journalFile, sumsFile} {
		directory := filepath.Join(t.TempDir(), "run")
		w, err := Create(directory, smallPlan(), Manifest{Run: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Seal(), w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(directory, name), 1<<40); err != nil { // a hole
			t.Fatal(err)
		}
		r, err := Open(directory)
		if err == nil && name == sumsFile {
			_, err = readFile(r.Directory, name)
		}
		if !errors.Is(err, bounded.ErrTooLong) || !strings.Contains(err.Error(), filepath.Join(directory, name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a journal names is read within the run only, and only from regular files.
func TestReadingsAreReadWithinARunDirectory(t *testing.T) {
	directory := runWithTornLine(t)
	w, err := Resume(directory)
	if err != nil {
		t.Fatal(err)
	}
	var series usage.Series
	series.Add(&usage.Reading{Seconds: 1})
	trial := Trial{Block: 1, Environment: "native", Workload: "w"}
	trial.Readings, err = w.KeepReadings(trial, []InstanceSeries{{Instance: "native-1", Series: &series}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	good := trial.Readings.Path
	outside := filepath.Join(filepath.Dir(directory), "outside.parquet")
	if err := os.Rename(filepath.Join(directory, good), outside); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(string) error{
		"samples/fifo": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"samples/link": func(path string) error { return os.Symlink(outside, path) },
		"samples/up":   func(path string) error { return os.Symlink("../../outside.parquet", path) },
		"samples/null": func(path string) error { return os.Symlink("/dev/null", path) },
	} {
		if err := put(filepath.Join(directory, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"../outside.parquet", outside, "samples/fifo", "samples/link", "samples/up", "samples/null", "samples", "/dev/stdin", ""} {
		trial.Readings.Path = path
		if all, err := w.Readings(trial); err == nil {
			t.Errorf("%q: %d series are read", path, len(all))
		}
	}
	if err := os.Rename(outside, filepath.Join(directory, good)); err != nil {
		t.Fatal(err)
	}
	trial.Readings.Path = good
	if all, err := w.Readings(trial); err != nil || len(all) != 1 {
		t.Errorf("in the run: %d series, %v", len(all), err)
	}
}

func TestAnOutputIsStoredUpToItsLimit(t *testing.T) {
	directory := t.TempDir()
	w, err := Create(directory+"/run", &study.Plan{Format: 1, Name: "x"}, Manifest{Run: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f := w.Keep(Trial{Block: 1, Environment: "a", Workload: "w"}, "stdout")
	f.LimitTo(5)
	for _, text := range []string{"abc", "de", "f", "ghi"} {
		if text == "f" && f.TooLong() != nil {
			t.Error(f.TooLong())
		}
		if n, err := f.Write([]byte(text)); n != len(text) || err != nil {
			t.Error(n, err)
		}
	}
	if err := f.TooLong(); err == nil || err.Error() != "printed more than 5B to stdout in one trial, the most that is kept: let it print less" {
		t.Error(err)
	}
	raw, ok, err := f.Close()
	text, readErr := os.ReadFile(filepath.Join(directory, "run", raw.Path))
	if !ok || err != nil || readErr != nil || string(text) != "abcde" || raw.Bytes != 5 || string(f.Tail()) != "abcdefghi" {
		t.Errorf("%+v %v %q %q", raw, err, text, f.Tail())
	}
}

func TestANameWithALineBreakIsNoLineOfTheChecksums(t *testing.T) {
	w := newRun(t, t.TempDir())
	_, err := w.Keep(trialNumber(0), "driver.stdout").Write([]byte("one"))
	if err := errors.Join(err, w.Append(trialNumber(0)), os.WriteFile(filepath.Join(w.Directory, "a\nffff  journal.jsonl"), nil, 0o600), w.Seal(), w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := Open(w.Directory)
	if err != nil || r.Incomplete != "" {
		t.Fatal(r, err)
	}
	if wrong, err := r.Verify(); err != nil || len(wrong) > 0 {
		t.Errorf("%v, %v", wrong, err)
	}
}

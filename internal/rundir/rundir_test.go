package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/testing/fuzzing"
	"tare/internal/usage"
)

func newRun(t interface {
	Helper()
	Fatal(...any)
}, directory string) *Writer {
	t.Helper()
	w, err := Create(directory, smallPlan(), Manifest{Run: "small-1"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func trialNumber(n int) Trial {
	return Trial{Block: 1 + n/2, Position: 1 + n%2, Environment: "native", Workload: fmt.Sprint("w", n), Status: OK,
		Started: time.Unix(int64(n), 0).UTC(), Metrics: map[string]float64{"rate": float64(n)}}
}

// A child between its fork and its exec has all files of the process, as after a dup.
func TestAClosedRunIsFreeAlthoughAChildStillHasItsLockOpen(t *testing.T) {
	directory := t.TempDir()
	w := newRun(t, directory)
	child, err := unix.Dup(int(w.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Resume(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
}

// A resumed run has the commands of its first session, however many lines they have.
func TestAPlanIsReadBackAsItWasWritten(t *testing.T) {
	plan, err := study.Open("quick", study.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	w, err := Create(directory, plan, Manifest{Run: "quick"})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(directory, planFile))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(directory)
	if err == nil {
		err = writeJSON(directory, planFile, again.Plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(directory, planFile)); err != nil || string(after) != string(before) {
		t.Errorf("the plan was\n%s\nand is\n%s (%v)", before, after, err)
	}
}

// A kill can cut the journal at any byte of the line that was being written.
// Whatever byte that is, all earlier trials are read back, the torn piece is
// put aside, and the next trial is appended where it belongs.
func TestAJournalCutAtAnyByteLosesNothingThatWasFinished(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		directory, err := os.MkdirTemp(t.TempDir(), "run")
		if err != nil {
			rt.Fatal(err)
		}
		w := newRun(rt, directory)
		finished := rapid.IntRange(0, 5).Draw(rt, "finished")
		for n := range finished {
			if err := w.Append(trialNumber(n)); err != nil {
				rt.Fatal(err)
			}
		}
		path := filepath.Join(directory, journalFile)
		before, _ := os.ReadFile(path)
		if err := w.Append(trialNumber(finished)); err != nil {
			rt.Fatal(err)
		}
		w.Close()
		after, _ := os.ReadFile(path)
		cut := rapid.IntRange(len(before), len(after)-1).Draw(rt, "cut")
		if err := os.Truncate(path, int64(cut)); err != nil {
			rt.Fatal(err)
		}

		r, err := Resume(directory)
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		if len(r.Trials) != finished {
			rt.Fatalf("cut at byte %d of %d: %d trials read back, %d were finished", cut, len(after), len(r.Trials), finished)
		}
		torn, _ := os.ReadFile(path + ".torn")
		if got, want := strings.TrimSuffix(string(torn), "\n"), string(after[len(before):cut]); got != want {
			rt.Fatalf("put aside %q, torn was %q", got, want)
		}
		if err := r.Append(trialNumber(finished)); err != nil {
			rt.Fatal(err)
		}
		if now, _ := os.ReadFile(path); string(now) != string(after) {
			rt.Fatal("the resumed journal differs from the one that was never cut")
		}
	})
}

func TestADamagedLineInTheMiddleIsNotSilentlyDropped(t *testing.T) {
	w := newRun(t, t.TempDir())
	w.Append(trialNumber(0))
	w.Append(trialNumber(1))
	w.Close()
	path := filepath.Join(w.Directory, journalFile)
	data, _ := os.ReadFile(path)
	data[0] = 'x'
	os.WriteFile(path, data, 0o644)
	if _, err := Open(w.Directory); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a damaged first line gives %v", err)
	}
}

func TestAJournalIsReadUpToANumberOfTrials(t *testing.T) {
	before := maxTrials
	defer func() { maxTrials = before }()
	for n, want := range map[int]string{3: "", 2: "more than 2 trials"} {
		maxTrials = n
		_, err := readTrials(strings.NewReader(strings.Repeat(`{"status":"ok"}`+"\n", 3)), nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("at most %d: %v", n, err)
		}
	}
}

func TestADocumentOfTooManyValuesIsRefusedBeforeItIsDecoded(t *testing.T) {
	for what, text := range map[string]string{"the plan": `{"environments":[{}`, "a trial": `{"status":"ok","rounds":[{}`} {
		data := []byte(text + strings.Repeat(",{}", maxValues) + "]}")
		fuzzing.Allocates(t, 1<<20, func() {
			if err := unmarshal(data, &Trial{}); err == nil || !strings.Contains(err.Error(), "more than 1048576 values") {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}

func TestTwoProcessesCannotWorkOnOneRun(t *testing.T) {
	w := newRun(t, t.TempDir())
	defer w.Close()
	if _, err := Resume(w.Directory); err == nil || !strings.Contains(err.Error(), "another tare") {
		t.Errorf("a second writer gives %v", err)
	}
	if _, err := Open(w.Directory); err != nil {
		t.Errorf("a reader is let in: %v", err)
	}
}

func TestADirectoryWithOtherFilesIsRefused(t *testing.T) {
	directory := t.TempDir()
	os.WriteFile(filepath.Join(directory, "thesis.tex"), []byte("x"), 0o644)
	if _, err := Create(directory, &study.Plan{}, Manifest{}); err == nil {
		t.Error("a directory with a foreign file was taken")
	}
}

// A kill right after the beginning leaves a directory in which nothing was
// measured; one later leaves files that are not whole.
func TestLeftoversOfAKilledStartAreTakenOver(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "run [1]")
	if err := newRun(t, directory).Close(); err != nil {
		t.Fatal(err)
	}
	if NeverStarted(directory) {
		t.Error("a run with a manifest is called stillborn")
	}
	if err := os.Remove(filepath.Join(directory, manifestFile)); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(directory, newPrefix+"123")
	os.WriteFile(half, []byte("{"), 0o600)
	if !NeverStarted(directory) {
		t.Error("a run without a manifest and a trial is not called stillborn")
	}
	if err := newRun(t, directory).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("a file that is not whole stays")
	}
}

func TestAnotherFormatIsRefusedByName(t *testing.T) {
	w := newRun(t, t.TempDir())
	w.Manifest.Format = 99
	w.SaveManifest()
	w.Close()
	if _, err := Open(w.Directory); err == nil || !strings.Contains(err.Error(), "format 99") {
		t.Errorf("format 99 gives %v", err)
	}
}

func TestOutputsOfSeveralSamplesAreInOneFile(t *testing.T) {
	w := newRun(t, t.TempDir())
	f := w.Keep(trialNumber(0), "driver.stdout")
	f.Hold()
	f.Write([]byte("one"))
	f.NextSample()
	if tail := f.Tail(); len(tail) > 0 {
		t.Errorf("the second sample begins with %q", tail)
	}
	f.NextSample()
	long := strings.Repeat("x", bufferSize-3)
	f.Write([]byte(long))
	if files, _ := filepath.Glob(filepath.Join(w.Directory, RawDirectory, "*")); files != nil {
		t.Errorf("a buffer that is not full was written to %q", files)
	}
	f.Write([]byte("y"))
	raw, ok, err := f.Close()
	if want := []int64{3, 0, bufferSize - 2}; err != nil || !ok || !slices.Equal(raw.Samples, want) || raw.Bytes != bufferSize+1 {
		t.Errorf("%+v, %t, %v", raw, ok, err)
	}
	if data, _ := os.ReadFile(filepath.Join(w.Directory, raw.Path)); string(data) != "one"+long+"y" {
		t.Errorf("kept %d bytes", len(data))
	}
}

func TestRawOutputIsKeptByteForByteAndNeverReplaced(t *testing.T) {
	w := newRun(t, t.TempDir())
	tr := trialNumber(0)
	tr.Level = "path=/a b"
	keep := func(text string) Raw {
		t.Helper()
		f := w.Keep(tr, "driver.stdout")
		f.Write([]byte(text))
		raw, ok, err := f.Close()
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return raw
	}
	first, second := keep("one\x00\xff"), keep("two")
	if _, ok, err := w.Keep(tr, "driver.stderr").Close(); ok || err != nil {
		t.Errorf("silence left a file: %v %v", ok, err)
	}
	if first.Path == second.Path {
		t.Error("the second attempt replaced the first")
	}
	if data, _ := os.ReadFile(filepath.Join(w.Directory, first.Path)); string(data) != "one\x00\xff" {
		t.Errorf("kept %q", data)
	}
	tr.Raw = []Raw{first, second}
	w.Append(tr)
	w.Seal()
	w.Close()
	r, _ := Open(w.Directory)
	if wrong, err := r.Verify(); err != nil || len(wrong) > 0 {
		t.Errorf("a whole run is called damaged: %v %v", wrong, err)
	}
	os.WriteFile(filepath.Join(w.Directory, second.Path), []byte("2"), 0o644)
	if wrong, _ := r.Verify(); len(wrong) != 2 {
		t.Errorf("a changed raw file is named by the journal and by the sums: %v", wrong)
	}
}

func TestAnOutputIsOnTheDiskAsItComes(t *testing.T) {
	directory := t.TempDir()
	w := newRun(t, directory)
	defer w.Close()
	f := w.Keep(trialNumber(0), "driver.stdout")
	if _, err := f.Write([]byte("so far")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(directory, f.path))
	if err != nil || string(text) != "so far" {
		t.Errorf("while the tool runs, the file has %q: %v", text, err)
	}
}

func TestARoundThatNoRunHasIsRefused(t *testing.T) {
	for _, number := range []int{0, -1, study.MostRounds + 1, 1 << 40} {
		directory := t.TempDir()
		w := newRun(t, directory)
		trial := trialNumber(0)
		trial.Rounds = []Round{{Number: number, Position: 1, Metrics: map[string]float64{"time": 1}}}
		if err := errors.Join(w.Append(trial), w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(directory); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("line 1 is not a trial: round %d is not between 1 and 1000", number)) {
			t.Errorf("round %d: %v", number, err)
		}
	}
}

// Ratios and sums of such numbers are infinite, wherever a report forms them.
func TestANumberThatNobodyMeasuresIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Trial, float64){
		"Metrics: time":            func(t *Trial, v float64) { t.Metrics["time"] = v },
		"Rounds: Metrics: time":    func(t *Trial, v float64) { t.Rounds = []Round{{Number: 1, Metrics: map[string]float64{"time": v}}} },
		"Copies: Metrics: time":    func(t *Trial, v float64) { t.Copies = []Copy{{Metrics: map[string]float64{"time": v}}} },
		"Series: p50: Value":       func(t *Trial, v float64) { t.Series = map[string][]Point{"p50": {{Value: v}}} },
		"Usage: MemoryMean: Value": func(t *Trial, v float64) { t.Usage = &usage.Usage{MemoryMean: usage.Known(v)} },
		"Pressure: StealSeconds":   func(t *Trial, v float64) { t.Pressure = &Pressure{StealSeconds: &v} },
		"TookSeconds":              func(t *Trial, v float64) { t.TookSeconds = v },
	} {
		for _, v := range []float64{1e308, -1e151, 1e-308} {
			trial := trialNumber(0)
			trial.Metrics = map[string]float64{"time": 1}
			change(&trial, v)
			want := fmt.Sprintf("%s: %g is out of range", name, v)
			w := newRun(t, t.TempDir())
			if err := errors.Join(w.Append(trial), w.Close()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("kept: %v, not %s", err, want)
			}
			line, err := json.Marshal(trial)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := readTrials(bytes.NewReader(append(line, '\n', '\n')), nil); err == nil || !strings.Contains(err.Error(), "line 1 is not a trial: "+want) {
				t.Errorf("read: %v, not %s", err, want)
			}
		}
	}
}

// Seal writes the checksums, as the end of a run does.
func (w *Writer) Seal() error {
	name, content, err := w.Checksums()
	if err != nil {
		return err
	}
	return w.WriteFile(name, content)
}

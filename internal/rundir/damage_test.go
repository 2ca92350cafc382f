package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/testing/needs"
)

// written is a run that was killed after some trials, with the bytes of its journal.
func written(t *testing.T, trials int) (directory, path string, journal []byte) {
	t.Helper()
	directory, err := os.MkdirTemp("/dev/shm", "tare-test-") // where a sync takes no time
	if err != nil {
		directory = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	w := newRun(t, directory)
	w.Manifest.Sessions = []Session{{Started: time.Unix(0, 0).UTC()}}
	if err := w.SaveManifest(); err != nil {
		t.Fatal(err)
	}
	for n := range trials {
		if err := w.Append(trialNumber(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(directory, journalFile)
	journal, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return directory, path, journal
}

// resumed goes on with a run and makes the trials that it lacks, as its schedule does.
func resumed(directory string, trials int) error {
	w, err := Resume(directory)
	if err != nil {
		return err
	}
	if len(w.Trials) < trials && w.Incomplete == "" {
		err = errors.New("it lacks trials, and says nothing")
	}
	for n := len(w.Trials); n < trials; n++ {
		err = errors.Join(err, w.Append(trialNumber(n)))
	}
	return errors.Join(err, w.Close())
}

// Whichever bit of a journal flips, before the run has ended: reading says so, and a
// session that goes on either refuses with the line, or repeats what it cannot read at
// the end.
func TestAFlippedBitOfAJournalIsReported(t *testing.T) {
	const trials = 2
	directory, path, journal := written(t, trials)
	sums, _ := os.ReadFile(filepath.Join(directory, journalSumsFile))
	flipped := 0
	for at := range journal {
		for bit := range 8 {
			if needs.ShortForm() && bit != at%8 {
				continue
			}
			damaged := slices.Clone(journal)
			damaged[at] ^= 1 << bit
			os.WriteFile(path, damaged, 0o644)
			os.WriteFile(filepath.Join(directory, journalSumsFile), sums, 0o644)
			flipped++
			r, err := Open(directory)
			if err == nil && r.Incomplete == "" {
				t.Fatalf("bit %d of byte %d: nothing is said", bit, at)
			}
			if bit != at%8 {
				continue // a session syncs files, which takes long
			}
			line := 1 + bytes.Count(journal[:at], []byte("\n"))
			err = resumed(directory, trials)
			if err != nil && !regexp.MustCompile(fmt.Sprintf("(line|trial) %d ", line)).MatchString(err.Error()) {
				t.Fatalf("bit %d of byte %d, in line %d: %v", bit, at, line, err)
			}
			if now, _ := os.ReadFile(path); err == nil && !bytes.Equal(now, journal) {
				t.Fatalf("bit %d of byte %d: a session went on, and the journal is\n%s", bit, at, now)
			}
		}
	}
	t.Logf("%d bits", flipped)
}

// Wherever a journal was cut, before the run has ended: reading says so, and a session
// that goes on repeats what is missing.
func TestACutJournalIsReportedAndRepeated(t *testing.T) {
	const trials = 3
	directory, path, journal := written(t, trials)
	step := 1
	if needs.ShortForm() {
		step = 5
	}
	for at := 0; at < len(journal); at += step {
		if err := os.Truncate(path, int64(at)); err != nil {
			t.Fatal(err)
		}
		r, err := Open(directory)
		if err != nil || r.Incomplete == "" {
			t.Fatalf("cut at byte %d: %v, nothing is said", at, err)
		}
		if lines := bytes.Count(journal[:at], []byte("\n")); trials-lines > 1 && !strings.Contains(r.Incomplete, fmt.Sprintf("%d of the %d trials", trials-lines, trials)) {
			t.Fatalf("cut at byte %d: %s", at, r.Incomplete)
		}
		if err := resumed(directory, trials); err != nil {
			t.Fatalf("cut at byte %d: %v", at, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, journal) {
			t.Fatalf("cut at byte %d: a session went on, and the journal is\n%s", at, now)
		}
	}
}

// Whole lines can be wrong too: exchanged, doubled, taken out or foreign.
func TestLinesThatAreNotWhereTheyWereWrittenAreReported(t *testing.T) {
	for what, damage := range map[string]func(lines []string) []string{
		"exchanged": func(l []string) []string { return []string{l[1], l[0], l[2]} },
		"doubled":   func(l []string) []string { return []string{l[0], l[0], l[1], l[2]} },
		"taken out": func(l []string) []string { return []string{l[0], l[2]} },
		"of another version": func(l []string) []string {
			return []string{l[0], strings.Replace(l[1], `"status":"ok"`, `"status":"excellent"`, 1), l[2]}
		},
		"emptied by zeros": func(l []string) []string { return []string{l[0], strings.Repeat("\x00", len(l[1])-1) + "\n", l[2]} },
	} {
		directory, path, journal := written(t, 3)
		lines := strings.SplitAfter(string(journal), "\n")
		os.WriteFile(path, []byte(strings.Join(damage(lines), "")), 0o644)
		if r, err := Open(directory); err == nil && r.Incomplete == "" {
			t.Errorf("%s: nothing is said", what)
		}
		if err := resumed(directory, 3); err == nil || !strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), "cut it before that line") {
			t.Errorf("%s: a session that goes on says %v", what, err)
		}
		// What the message proposes helps.
		os.WriteFile(path, []byte(lines[0]), 0o644)
		if err := resumed(directory, 3); err != nil {
			t.Errorf("%s, and cut: %v", what, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, journal) {
			t.Errorf("%s: after a session that repeats the rest the journal is\n%s", what, now)
		}
	}
}

// Checksums that are missing or damaged do not keep a run from going on.
func TestARunWithoutItsChecksumsGoesOn(t *testing.T) {
	directory, path, journal := written(t, 3)
	file := filepath.Join(directory, journalSumsFile)
	sums, _ := os.ReadFile(file)
	for _, have := range [][]byte{nil, {}, sums[:10], sums[:sumLine+10], append(slices.Clone(sums[:sumLine]), make([]byte, sumLine)...)} {
		os.Remove(file)
		if have != nil {
			os.WriteFile(file, have, 0o644)
		}
		os.WriteFile(path, journal[:bytes.LastIndexByte(journal[:len(journal)-1], '\n')+1], 0o644)
		if err := resumed(directory, 2); err != nil {
			t.Fatalf("with checksums %q: %v", have, err)
		}
		w, err := Resume(directory)
		if err == nil {
			err = errors.Join(w.Append(trialNumber(2)), w.Close())
		}
		if now, _ := os.ReadFile(file); err != nil || !bytes.Equal(now, sums) {
			t.Fatalf("with checksums %q: %v, they are %q", have, err, now)
		}
	}
}

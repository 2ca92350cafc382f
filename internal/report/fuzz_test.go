package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"tare/internal/parity"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/fuzzing"
	"tare/internal/testing/reporttest"
)

// folder is a run directory as one document.
type folder struct {
	Manifest     rundir.Manifest      `json:"manifest"`
	Plan         json.RawMessage      `json:"plan"`
	Journal      []rundir.Trial       `json:"journal"`
	Fingerprints []parity.Fingerprint `json:"fingerprints"`
}

// folders are runs of every sort, each cut to a few trials.
func folders(f *testing.F) (all [][]byte) {
	fact := func(value string) map[string]parity.Fact {
		return map[string]parity.Fact{"kernel.release": {Value: value, Seen: parity.Inside}, "disk.cache": {Missing: "no disk", Seen: parity.Inside}}
	}
	for _, in := range []model.Input{reporttest.Quick(), reporttest.Ladder(), reporttest.Traced()} {
		workload := in.Plan.Workloads[0].Name
		prints := []parity.Fingerprint{{Environment: in.Plan.Baseline, Workload: workload, Facts: fact("6.1")}, {Environment: in.Plan.Environments[1].Name, Workload: workload, Facts: fact("6.2")}}
		plan, err := json.Marshal(in.Plan)
		if err != nil {
			f.Fatal(err)
		}
		in.Manifest.Format = rundir.Format
		trials := slices.DeleteFunc(slices.Concat(in.Trials, in.Traced), func(t rundir.Trial) bool { return t.Block > 2 })
		document, err := json.Marshal(folder{in.Manifest, plan, trials[:min(len(trials), 16)], prints})
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, document)
	}
	return all
}

// FuzzRunDirectory changes values of a run directory, opens it and writes a report: it is
// refused with an error about one of its files, or the report is text that does nothing,
// within a bound of memory.
func FuzzRunDirectory(f *testing.F) {
	all, directory := folders(f), f.TempDir()
	for n := range len(all) * len(Formats) {
		f.Add(uint8(n), []byte{})
		f.Add(uint8(n), []byte{0, 9, 9})
	}
	write := func(t *testing.T, name string, data []byte) {
		name = filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		if len(changes) > 30 {
			t.Skip("ten changes are enough")
		}
		var files struct {
			Manifest, Plan        json.RawMessage
			Journal, Fingerprints []json.RawMessage
		}
		os.RemoveAll(filepath.Join(directory, "fingerprints"))
		if err := json.Unmarshal(fuzzing.Changed(t, all[int(which)%len(all)], changes), &files); err != nil {
			t.Skip(err)
		}
		write(t, "manifest.json", files.Manifest)
		write(t, "plan.json", files.Plan)
		for i, print := range files.Fingerprints {
			write(t, fmt.Sprintf("fingerprints/%d.json", i), print)
		}
		var lines []byte
		for _, line := range files.Journal {
			lines = append(append(lines, line...), '\n')
		}
		write(t, "journal.jsonl", lines)
		fuzzing.Allocates(t, 2<<30, func() {
			r, err := rundir.Open(directory)
			if err != nil {
				if !strings.Contains(err.Error(), directory) {
					t.Errorf("the error names no file: %v", err)
				}
				return
			}
			in := model.Of(r, model.Contrasts(r))
			format := Formats[int(which)/len(all)%len(Formats)]
			text, err := written(format, in, model.Options{All: true, Colour: true, Width: 100})
			if err != nil {
				t.Logf("%s: %v", format.Name, err)
				return
			}
			switch format.Name {
			case "html":
				text = reporttest.WithoutScript(text)
			case "text":
				text = colours.ReplaceAllString(terminal(text), "")
			}
			if i := strings.IndexFunc(text, func(r rune) bool {
				return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
			}); i >= 0 {
				t.Errorf("%s: %q", format.Name, text[max(0, i-80):min(len(text), i+20)])
			}
		})
	})
}

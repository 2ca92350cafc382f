package rundir

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"tare/internal/testing/fuzzing"
	"tare/internal/usage"
)

// fullTrial has something of everything.
func fullTrial() Trial {
	t := trialNumber(0)
	t.Rounds = []Round{{Number: 1, Position: 1, Metrics: map[string]float64{"rate": 2}, HostSeconds: 1}, {Number: 2, Position: 2, Missing: map[string]string{"rate": "none"}}}
	t.HalfRounds, t.HalfShare = []Round{{Number: 1, Position: 3, Metrics: map[string]float64{"rate": 1}}}, .5
	t.Copies = []Copy{{Metrics: map[string]float64{"rate": 2}}}
	t.Series = map[string][]Point{"rate": {{Second: 1, Value: 2}}}
	t.Raw = []Raw{{Name: "driver.stdout", Path: "raw/block-001/native.w0/driver.stdout", SHA256: "00", Bytes: 5, Samples: []int64{2, 3}}}
	t.Readings, t.Pressure = &ReadingsFile{Path: "samples/x.parquet", Rows: 1}, &Pressure{}
	t.Missing, t.Warnings = map[string]string{"rate": "none"}, []string{"slow"}
	return t
}

// FuzzJournal: lines are trials, or an error names one; those that are taken are
// written again as they were read.
func FuzzJournal(f *testing.F) {
	var seed []byte
	for _, t := range []Trial{trialNumber(0), fullTrial()} {
		line, err := json.Marshal(t)
		if err != nil {
			f.Fatal(err)
		}
		seed = append(append(seed, line...), '\n')
	}
	f.Add(seed)
	f.Add(seed[:len(seed)-9])
	f.Add([]byte("{}\n"))
	f.Add([]byte("\n\n"))
	f.Add([]byte(`{"status":"ok","rounds":[{"round":1000}],"metrics":{"a":1e999}}` + "\n{"))
	numbered := regexp.MustCompile(`^line [0-9]+ is not a trial: `)
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzing.Allocates(t, 1<<20+uint64(len(data))*1000, func() {
			c, err := readTrials(bytes.NewReader(data), nil)
			if err != nil {
				if !numbered.MatchString(err.Error()) {
					t.Errorf("the error names no line: %v", err)
				}
				return
			}
			if int(c.good)+len(c.torn) != len(data) || bytes.Count(data[:c.good], []byte("\n")) != len(c.trials) {
				t.Errorf("%d trials in %d bytes, and %d torn, of %d", len(c.trials), c.good, len(c.torn), len(data))
			}
			for _, trial := range c.trials {
				trial.RoundLogs("rate")
				trial.LengthLogs("rate")
				line, err := json.Marshal(trial)
				if err != nil {
					t.Fatal(err)
				}
				again, err := readTrials(bytes.NewReader(append(line, '\n')), nil)
				if err != nil || len(again.trials) != 1 {
					t.Fatalf("%s is written as %s, which is no trial: %v", data, line, err)
				}
				if other, _ := json.Marshal(again.trials[0]); !bytes.Equal(line, other) {
					t.Errorf("%s comes back as %s", line, other)
				}
			}
		})
	})
}

// FuzzReadings: what is read is written and read as the same, within a bound of memory.
func FuzzReadings(f *testing.F) {
	one := InstanceSeries{Instance: "b1-docker-1", Copy: 1, Series: &usage.Series{Began: time.Unix(1, 0)}}
	for n := range 3 {
		one.Add(&usage.Reading{Seconds: float64(n) / 2, CPUUser: usage.Known(1), DiskReads: usage.Absent("not told")})
	}
	data, _, err := encodeReadings(Trial{Environment: "docker", Workload: "redis", Block: 1}, []InstanceSeries{one})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(data[len(data)-8:])
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzing.Allocates(t, 64<<20+uint64(len(data))*1000, func() {
			all, err := decodeReadings(data)
			if err != nil {
				return
			}
			back, rows, err := encodeReadings(Trial{}, all)
			if err != nil {
				t.Fatal(err)
			}
			again, err := decodeReadings(back)
			if err != nil {
				t.Fatalf("%d rows cannot be read again: %v", rows, err)
			}
			for _, one := range again {
				rows -= one.Len()
			}
			if rows != 0 {
				t.Errorf("%d rows are lost", rows)
			}
		})
	})
}

// FuzzManifest: a manifest is read as it was written, or the error names the file.
func FuzzManifest(f *testing.F) {
	m, err := json.Marshal(Manifest{Format: Format, Run: "x", Command: []string{"tare", "run"}, Sessions: []Session{{Started: time.Unix(1, 0).UTC()}},
		Environments: map[string]EnvironmentFacts{"native": {State: "ok", Versions: map[string]string{"runc": "1"}}}, Import: &Import{Order: ImportMixed, Files: []ImportedFile{{File: "x"}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m)
	f.Add([]byte(`{"format":1,"machine":{"memory":"1e99GiB"},"sessions":[{}]}`))
	directory := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(directory, manifestFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		fuzzing.Allocates(t, 1<<20+uint64(len(data))*1000, func() {
			var m, again Manifest
			if err := readJSON(directory, manifestFile, &m); err != nil {
				if !bytes.Contains([]byte(err.Error()), []byte(manifestFile)) {
					t.Errorf("the error does not name the file: %v", err)
				}
				return
			}
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &again); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if other, _ := json.Marshal(again); !bytes.Equal(text, other) {
				t.Errorf("%s comes back as %s", text, other)
			}
		})
	})
}

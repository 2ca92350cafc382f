package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tare/internal/subject"
)

// Import has the facts about an imported run, whose values come from existing
// output.
type Import struct {
	// Order is interleaved (the i-th results of all environments belong
	// together), sequential (all of one environment, then all of the next),
	// mixed (neither) or unknown.
	Order string `json:"order"`
	// Known is how the order is known; "" if it is not.
	Known string `json:"known,omitempty"`
	// Machine is a description by the user.
	Machine string `json:"machine,omitempty"`
	// Manifest is the path of the manifest below the run directory.
	Manifest string `json:"manifest,omitempty"`
	// Unsure says of which workloads runs may have been interrupted, and why.
	Unsure []string       `json:"unsure,omitempty"`
	Files  []ImportedFile `json:"files"`
}

// The orders of an import.
const (
	ImportInterleaved = "interleaved"
	ImportSequential  = "sequential"
	ImportMixed       = "mixed"
	ImportUnknown     = "unknown"
)

// ImportedFile is one file of raw output.
type ImportedFile struct {
	File        string `json:"file"` // as it was named
	Path        string `json:"path"` // of the copy, below the run directory
	SHA256      string `json:"sha256"`
	Tool        string `json:"tool"`
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"`
	// Taken is the time of the results, or of the first.
	Taken time.Time `json:"taken,omitzero"`
	// Place is the position of the file in the order of measurement, from 1; 0 if
	// unknown.
	Place   int `json:"place,omitempty"`
	Results int `json:"results"`
}

// Source is where the values of an imported trial come from.
type Source struct {
	File   string `json:"file"`   // as it was named
	Result int    `json:"result"` // its number in the file, from 1
	// Timed: Started is the time in the result, not that of the file.
	Timed bool `json:"timed,omitempty"`
	// Settings are printed by the tool: version, threads, ...
	Settings map[string]string `json:"settings,omitempty"`
	// ID is the tool's identifier of the test, which client and server share.
	ID string `json:"id,omitempty"`
}

// Sources is how many different files were imported: a table has several environments.
func (i *Import) Sources() int {
	sums := map[string]bool{}
	for _, f := range i.Files {
		sums[f.SHA256] = true
	}
	return len(sums)
}

// KeepFile writes a file of raw output below raw/imported. A file of the same name
// that exists already is kept, and the new one gets a number.
func (w *Writer) KeepFile(of subject.Cell, name string, data []byte) (Raw, error) {
	sum := sha256.Sum256(data)
	raw := Raw{Name: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}
	directory := filepath.Join(RawDirectory, "imported", fileName(of.Workload), fileName(of.Environment))
	raw.Path = filepath.Join(directory, fileName(name))
	for again := 2; ; again++ {
		_, err := os.Lstat(filepath.Join(w.Directory, raw.Path))
		if os.IsNotExist(err) {
			break
		}
		if err != nil {
			return Raw{}, err
		}
		raw.Path = filepath.Join(directory, fmt.Sprintf("%s.%d", fileName(name), again))
	}
	return raw, Replace(w.Directory, raw.Path, data, 0o644)
}

// SavePlan replaces the plan atomically: an import adds environments to a run.
func (w *Writer) SavePlan() error {
	return writeJSON(w.Directory, planFile, w.Plan)
}

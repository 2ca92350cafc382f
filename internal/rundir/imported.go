package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Import is what is known of a run that tare did not make itself: its figures
// come from raw output that existed already. A run that tare made has none.
type Import struct {
	// Order is interleaved (the i-th results of all environments belong
	// together), sequential (all of one environment, then all of the next),
	// mixed (neither) or unknown.
	Order string `json:"order"`
	// Known says how the order is known; "" where it is not.
	Known string `json:"known,omitempty"`
	// Machine in the words of whoever imported it.
	Machine string `json:"machine,omitempty"`
	// Manifest is the manifest as it was written, below the run folder.
	Manifest string         `json:"manifest,omitempty"`
	Files    []ImportedFile `json:"files"`
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
	Path        string `json:"path"` // below the run folder, byte for byte
	SHA256      string `json:"sha256"`
	Tool        string `json:"tool"`
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"`
	// Taken is when the results were, or the first of them.
	Taken time.Time `json:"taken,omitzero"`
	// Place is the file's place in the order in which all were taken, where that
	// is known without a time; from 1.
	Place   int `json:"place,omitempty"`
	Results int `json:"results"`
}

// Source is where the figures of an imported trial come from.
type Source struct {
	File   string `json:"file"`   // as it was named
	Result int    `json:"result"` // which of the file's, from 1
	// Timed: Started is the result's own time, and not the file's.
	Timed bool `json:"timed,omitempty"`
	// Settings that the tool printed with its figures: version, threads, ...
	Settings map[string]string `json:"settings,omitempty"`
	// ID is what the tool calls the test: both its ends print the same.
	ID string `json:"id,omitempty"`
}

// KeepFile puts a file of raw output into the folder, byte for byte, below
// raw/imported. Another file of the same name stays beside it.
func (w *Writer) KeepFile(workload, environment, name string, data []byte) (Raw, error) {
	sum := sha256.Sum256(data)
	raw := Raw{Name: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}
	folder := filepath.Join(rawFolder, "imported", fileName(workload), fileName(environment))
	if err := os.MkdirAll(filepath.Join(w.Folder, folder), 0o755); err != nil {
		return Raw{}, err
	}
	raw.Path = filepath.Join(folder, fileName(name))
	for again := 2; ; again++ {
		_, err := os.Lstat(filepath.Join(w.Folder, raw.Path))
		if os.IsNotExist(err) {
			break
		}
		if err != nil {
			return Raw{}, err
		}
		raw.Path = filepath.Join(folder, fmt.Sprintf("%s.%d", fileName(name), again))
	}
	return raw, replaceFile(filepath.Join(w.Folder, raw.Path), data)
}

// SavePlan replaces the plan as a whole: an import adds environments to a run.
func (w *Writer) SavePlan() error {
	return writeJSON(filepath.Join(w.Folder, planFile), w.Plan)
}

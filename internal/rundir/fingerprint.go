package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/parity"
)

// fingerprintDirectory holds a file for each environment with each workload, on each
// node in a run over nodes.
const fingerprintDirectory = "fingerprints"

// KeepFingerprint writes a fingerprint into the directory, atomically.
func (w *Writer) KeepFingerprint(f parity.Fingerprint) error {
	name := fileName(f.Environment) + "--" + fileName(f.Workload)
	if f.Node != "" {
		name += "--" + fileName(f.Node)
	}
	if err := writeJSON(w.Directory, filepath.Join(fingerprintDirectory, name+".json"), f); err != nil {
		return err
	}
	w.Fingerprints = slices.DeleteFunc(w.Fingerprints, func(old parity.Fingerprint) bool {
		return old.Environment == f.Environment && old.Workload == f.Workload && old.Node == f.Node
	})
	w.Fingerprints = append(w.Fingerprints, f)
	sortFingerprints(w.Fingerprints)
	return nil
}

func sortFingerprints(list []parity.Fingerprint) {
	slices.SortFunc(list, func(a, b parity.Fingerprint) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Node, b.Node))
	})
}

// loadFingerprints reads all; runs that predate fingerprints have none.
func loadFingerprints(directory string) (list []parity.Fingerprint, err error) {
	entries, err := readDir(directory, fingerprintDirectory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" || strings.HasPrefix(e.Name(), newPrefix) {
			continue
		}
		var f parity.Fingerprint
		if err := readJSON(directory, filepath.Join(fingerprintDirectory, e.Name()), &f); err != nil {
			return nil, fmt.Errorf("read a fingerprint of the run: %w", err)
		}
		list = append(list, f)
	}
	sortFingerprints(list)
	return list, err
}

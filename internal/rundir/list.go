package rundir

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/base/visible"
)

// Listed is a run in the list of a directory.
type Listed struct {
	Name    string    `json:"name"`
	Study   string    `json:"study,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Blocks  int       `json:"blocks"`
	Trials  int       `json:"trials"`
	Failed  int       `json:"failed"`
	State   string    `json:"state"`           // one of the states below
	About   string    `json:"about,omitempty"` // why it ended, or cannot be read
}

// The states of a run. Interrupted is also the reason that a session which was
// cut off writes into the manifest.
const (
	Ended       = "ended"
	Interrupted = "interrupted"
	NotEnded    = "not ended" // it is under way, or was killed
	Unreadable  = "unreadable"
)

// List returns the runs below a directory, by name. A directory that does not
// exist has none.
func List(directory string) ([]Listed, error) {
	entries, err := os.ReadDir(directory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := []Listed{}
	for _, entry := range entries {
		r, err := Open(filepath.Join(directory, entry.Name()))
		list = append(list, Entry(entry.Name(), r, err))
	}
	return list, nil
}

// Newest opens the runs below a directory that began last, at most so many, without their
// trials: reading these can take seconds. all counts the entries of the directory; what
// is no run, or cannot be read, is left out. A directory that does not exist has none.
func Newest(directory string, most int) (runs []*Run, all int, err error) {
	entries, err := os.ReadDir(directory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	changed := map[string]time.Time{}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && entry.IsDir() {
			changed[entry.Name()] = info.ModTime()
		}
	}
	names := slices.SortedFunc(maps.Keys(changed), func(a, b string) int { return changed[b].Compare(changed[a]) })
	for _, name := range names[:min(most, len(names))] {
		if r, err := openWithoutTrials(filepath.Join(directory, name)); err == nil {
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b *Run) int { return b.Manifest.Created.Compare(a.Manifest.Created) })
	return runs, len(names), nil
}

// State of a run, and why its last session ended.
func (m Manifest) State() (state, about string) {
	n := len(m.Sessions)
	switch {
	case n == 0 || !m.HasEnded():
		return NotEnded, ""
	case m.Sessions[n-1].Stopped == Interrupted:
		return Interrupted, Interrupted
	}
	return Ended, m.Sessions[n-1].Stopped
}

// Entry is a run in a list, as Open returned it.
func Entry(name string, r *Run, err error) Listed {
	if name = visible.Line(name); err != nil {
		return Listed{Name: name, State: Unreadable, About: err.Error()}
	}
	return r.listed(name)
}

func (r *Run) listed(name string) Listed {
	l := Listed{Name: name, Study: r.Plan.Study, Created: r.Manifest.Created, Trials: len(r.Trials)}
	for _, t := range r.Trials {
		l.Blocks = max(l.Blocks, t.Block)
		if t.Status == Failed {
			l.Failed++
		}
	}
	l.State, l.About = r.Manifest.State()
	return l
}

// HasEnded reports whether the last session ended; one that is under way or was
// killed has not. A run without sessions was imported, which has no end.
func (m Manifest) HasEnded() bool {
	n := len(m.Sessions)
	return n == 0 || !m.Sessions[n-1].Ended.IsZero()
}

// Over reports whether the run ended as it was planned, and when; without a time if it
// was imported or made up. Sessions of earlier versions do not say so: those ended that were not
// interrupted.
func (m Manifest) Over() (end time.Time, over bool) {
	n := len(m.Sessions)
	for _, s := range m.Sessions {
		if s.Over {
			return s.Ended, true
		}
	}
	return time.Time{}, n == 0 || m.HasEnded() && m.Sessions[n-1].Stopped != Interrupted
}

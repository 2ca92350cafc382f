package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tare/internal/visible"
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

// Entry is a run in a list, as Open returned it.
func Entry(name string, r *Run, err error) Listed {
	if name = visible.Line(name); err != nil {
		return Listed{Name: name, State: Unreadable, About: err.Error()}
	}
	return r.listed(name)
}

func (r *Run) listed(name string) Listed {
	l := Listed{Name: name, Study: r.Plan.Study, Created: r.Manifest.Created, Trials: len(r.Trials), State: NotEnded}
	for _, t := range r.Trials {
		l.Blocks = max(l.Blocks, t.Block)
		if t.Status == Failed {
			l.Failed++
		}
	}
	if n := len(r.Manifest.Sessions); n > 0 && r.Manifest.HasEnded() {
		l.State, l.About = Ended, r.Manifest.Sessions[n-1].Stopped
		if l.About == Interrupted {
			l.State = Interrupted
		}
	}
	return l
}

// HasEnded reports whether the last session ended; one that is under way or was
// killed has not. A run without sessions was imported, which has no end.
func (m Manifest) HasEnded() bool {
	n := len(m.Sessions)
	return n == 0 || !m.Sessions[n-1].Ended.IsZero()
}

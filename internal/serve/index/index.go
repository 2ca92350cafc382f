// Package index is a list of runs and their contrasts, kept in a file. It holds nothing
// that the run directories do not: it can be removed at any time and is built again from
// them.
//
// It must not know how a run is shown or served.
package index

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/base/bounded"
	"tare/internal/base/visible"
	"tare/internal/linux/private"
	"tare/internal/report/model"
	"tare/internal/rundir"
)

// Index is the index of the runs below some directories. It is safe for concurrent use.
type Index struct {
	file  string // "" for memory alone
	tare  string // the version
	roots []string

	mu        sync.Mutex
	refreshed time.Time
	runs      map[string]entry // by directory; also those of other roots that the file has
}

// Run is a run of the index.
type Run struct {
	ID        string
	Directory string
	rundir.Listed
	Machine string // its CPU, kernel and cores
	Tare    string // the version
}

// entry is a run with what it is found by.
type entry struct {
	Run
	Root, Stamp, Words string
	Contrasts          []contrast
}

// content is what the file has.
type content struct {
	Tare string // the version that computed the contrasts: another one may give others
	Runs map[string]entry
}

// largest is the size of a file that is read; a larger one is made again.
const largest = 1 << 30

// Open opens the index in a file; "" is memory. A file that is not a valid index, or one of
// another version of tare, is not used. Roots are directories of runs, or runs.
func Open(file, tare string, again bool, roots ...string) (*Index, error) {
	x := &Index{file: file, tare: tare, runs: map[string]entry{}}
	for _, root := range roots {
		absolute, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		x.roots = append(x.roots, absolute)
	}
	if file == "" {
		return x, nil
	}
	if err := private.Directory(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("make the directory of the index: %w", err)
	}
	var kept content
	text, err := bounded.ReadFile(file, largest)
	if err == nil && !again && json.Unmarshal(text, &kept) == nil && kept.Tare == tare && kept.Runs != nil {
		x.runs = kept.Runs
		return x, nil
	}
	if err := x.save(); err != nil {
		return nil, fmt.Errorf("write the index: %w", err)
	}
	return x, nil
}

// Identity of a run: the name that a client can call it by.
func Identity(directory string) string {
	sum := sha256.Sum256([]byte(directory))
	return hex.EncodeToString(sum[:8])
}

// pause is how long the directories are not looked at again: a page with many requests
// looks once.
const pause = 2 * time.Second

// Refresh brings the index up to date with the directories: runs that are new or have
// changed are read. It does nothing if it did so a moment ago.
func (x *Index) Refresh(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.refreshed) < pause {
		return nil
	}
	var errs []error
	changed := false
	for _, root := range x.roots {
		ended, err := x.refresh(ctx, root)
		if err != nil {
			errs = append(errs, fmt.Errorf("index the runs below %s: %w", root, err))
		}
		changed = changed || ended
	}
	if changed && x.file != "" && x.save() != nil {
		x.file = "" // what is in memory is complete
	}
	x.refreshed = time.Now()
	return errors.Join(errs...)
}

func (x *Index) save() error {
	text, err := json.Marshal(content{x.tare, x.runs})
	if err == nil {
		err = rundir.Replace(filepath.Dir(x.file), filepath.Base(x.file), text, 0o600)
	}
	return err
}

// refresh reads what is new or has changed below a root, and reports whether the file
// should have it: a run that has not ended changes again.
func (x *Index) refresh(ctx context.Context, root string) (changed bool, err error) {
	directories, err := runsIn(root)
	if err != nil {
		return false, err
	}
	for _, directory := range directories {
		if err := ctx.Err(); err != nil {
			return changed, err
		}
		stamp := rundir.Stamp(directory)
		if e, known := x.runs[directory]; !known || e.Stamp != stamp || e.Root != root {
			e = read(root, directory, stamp)
			x.runs[directory] = e
			changed = changed || e.State != rundir.NotEnded
		}
	}
	maps.DeleteFunc(x.runs, func(directory string, e entry) bool {
		gone := e.Root == root && !slices.Contains(directories, directory)
		changed = changed || gone
		return gone
	})
	return changed, nil
}

// runsIn are the directories of a root that may be runs: itself, or those in it. One that
// does not exist has none.
func runsIn(root string) (list []string, err error) {
	if rundir.Begun(root) {
		return []string{root}, nil
	}
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		// A link is followed as tare ls does; a file is not a run.
		if info, err := os.Stat(filepath.Join(root, e.Name())); err == nil && info.IsDir() {
			list = append(list, filepath.Join(root, e.Name()))
		}
	}
	return list, nil
}

// read is the entry of a run.
func read(root, directory, stamp string) entry {
	r, err := rundir.Open(directory)
	e := entry{Root: root, Stamp: stamp, Run: Run{ID: Identity(directory), Directory: directory, Listed: rundir.Entry(filepath.Base(directory), r, err)}}
	if err == nil {
		m := r.Manifest.Machine
		e.Machine = visible.Line(fmt.Sprintf("%s, %d cores, Linux %s", m.CPU, m.Cores, m.Kernel))
		e.Tare = visible.Line(r.Manifest.Tare)
	}
	e.Words = words(e.Listed, r, e.Machine)
	if e.State != rundir.Ended && e.State != rundir.Interrupted {
		return e
	}
	for _, c := range model.Contrasts(r) {
		if c.N == 0 || c.Part != "" || c.BaseLevel != "" || math.IsNaN(c.Estimate) || math.IsInf(c.Estimate, 0) {
			continue
		}
		one := contrast{Series: SeriesOf(r.Plan.Name, c), Primary: c.Primary, Value: Value{Unit: c.Unit, Better: c.Better, N: c.N, Estimate: c.Point(), Verdict: c.Verdict, Mark: model.ConfoundMark(&c)}}
		if c.Bounded() {
			one.Low, one.High = &c.Low, &c.High
		}
		e.Contrasts = append(e.Contrasts, one)
	}
	return e
}

// words are what a search finds a run by, in small letters.
func words(l rundir.Listed, r *rundir.Run, machine string) string {
	list := []string{l.Name, l.Study, l.State, machine, l.Created.UTC().Format(time.DateOnly)}
	if l.State != rundir.Unreadable {
		list = append(list, r.Plan.Name, r.Manifest.Image.Name)
		for _, e := range r.Plan.Environments {
			list = append(list, e.Name, e.Kind)
		}
		for _, w := range r.Plan.Workloads {
			list = append(list, w.Name)
		}
	}
	return strings.ToLower(visible.Line(strings.Join(list, " ")))
}

// newest are the runs of this index that are wanted, newest first.
func (x *Index) newest(wanted func(entry) bool) (list []entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.runs {
		if slices.Contains(x.roots, e.Root) && wanted(e) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Name, a.Name), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// List returns the newest runs that have all the words, at most limit of them after the
// first skip, and how many there are.
func (x *Index) List(search string, skip, limit int) (list []Run, all int) {
	wanted := strings.Fields(strings.ToLower(search))
	found := x.newest(func(e entry) bool {
		return !slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(e.Words, word) })
	})
	for _, e := range found[min(skip, len(found)):min(skip+limit, len(found))] {
		list = append(list, e.Run)
	}
	return list, len(found)
}

// Unreadable returns how many runs cannot be read. They are last in the list, since nothing
// says when they began.
func (x *Index) Unreadable() int {
	return len(x.newest(func(e entry) bool { return e.State == rundir.Unreadable }))
}

// Find returns the run with an identity.
func (x *Index) Find(id string) (r Run, known bool) {
	for _, e := range x.newest(func(e entry) bool { return e.ID == id }) {
		return e.Run, true
	}
	return Run{}, false
}

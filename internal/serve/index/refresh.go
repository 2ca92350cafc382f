package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/base/visible"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

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
	for _, root := range x.roots {
		if err := x.refresh(ctx, root); err != nil {
			errs = append(errs, fmt.Errorf("index the runs below %s: %w", root, err))
		}
	}
	x.refreshed = time.Now()
	return errors.Join(errs...)
}

func (x *Index) refresh(ctx context.Context, root string) error {
	known := map[string]string{} // stamps by directory
	rows, err := x.db.QueryContext(ctx, "select directory, stamp from runs where root = ?", root)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var directory, stamp string
		if err := rows.Scan(&directory, &stamp); err != nil {
			return err
		}
		known[directory] = stamp
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	directories, err := runsIn(root)
	if err != nil {
		return err
	}
	for _, directory := range directories {
		stamp := rundir.Stamp(directory)
		if before, is := known[directory]; !is || before != stamp {
			if err := x.take(ctx, root, directory, stamp); err != nil {
				return err
			}
		}
		delete(known, directory)
	}
	for _, gone := range slices.Sorted(maps.Keys(known)) {
		if _, err := x.db.ExecContext(ctx, "delete from runs where id = ?", Identity(gone)); err != nil {
			return err
		}
	}
	return nil
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
		// A link is followed as tare ls does; a file is no run.
		if info, err := os.Stat(filepath.Join(root, e.Name())); err == nil && info.IsDir() {
			list = append(list, filepath.Join(root, e.Name()))
		}
	}
	return list, nil
}

// take reads a run and puts it into the index, in place of what was known of it.
func (x *Index) take(ctx context.Context, root, directory, stamp string) error {
	read, err := rundir.Open(directory)
	l := rundir.Entry(filepath.Base(directory), read, err)
	machine, version := "", ""
	var contrasts []verdict.Contrast
	if err == nil {
		m := read.Manifest.Machine
		machine = visible.Line(fmt.Sprintf("%s, %d cores, Linux %s", m.CPU, m.Cores, m.Kernel))
		version = visible.Line(read.Manifest.Tare)
		if l.State == rundir.Ended || l.State == rundir.Interrupted {
			contrasts = verdict.Contrasts(read.Plan, read.Trials, read.Manifest.Environments)
		}
	}
	return x.within(ctx, func(tx *sql.Tx) error {
		id := Identity(directory)
		if _, err := tx.ExecContext(ctx, "delete from runs where id = ?", id); err != nil {
			return err
		}
		var created int64
		if !l.Created.IsZero() {
			created = l.Created.Unix()
		}
		_, err := tx.ExecContext(ctx, "insert into runs values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", id, root, directory, stamp,
			l.Name, l.Study, created, l.Blocks, l.Trials, l.Failed, l.State, l.About, machine, version, words(l, read, machine))
		if err != nil {
			return err
		}
		for _, c := range contrasts {
			if c.N == 0 || c.Part != "" || c.BaseLevel != "" || !finite(c.Estimate) {
				continue
			}
			var low, high any
			if c.Bounded() {
				low, high = c.Low, c.High
			}
			_, err := tx.ExecContext(ctx, "insert into contrasts values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", id, read.Plan.Name, c.Workload, c.Level, c.Metric,
				c.Unit, c.Better, c.Primary, c.Environment, c.Baseline, c.N, c.Estimate, low, high, string(c.Verdict))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

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

func (x *Index) within(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

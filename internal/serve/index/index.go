// Package index is a list of runs and their contrasts in a SQLite database. It holds
// nothing that the run directories do not: it can be removed at any time and is built
// again from them.
//
// It must not know how a run is shown or served.
package index

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"tare/internal/linux/private"
	"tare/internal/rundir"
)

// Index is the index of the runs below some directories. It is safe for concurrent use.
type Index struct {
	db    *sql.DB
	roots []string // absolute

	mu        sync.Mutex // of a refresh
	refreshed time.Time
}

// Run is a run of the index.
type Run struct {
	ID        string
	Directory string
	rundir.Listed
	Machine string // its CPU, kernel and cores
	Tare    string // the version
}

// format is the version of the tables.
const format = 2

const tables = `
create table runs (
	id text primary key, root text not null, directory text not null, stamp text not null,
	name text not null, study text not null, created integer not null, blocks integer not null,
	trials integer not null, failed integer not null, state text not null, about text not null,
	machine text not null, tare text not null, words text not null
) strict;
create index runs_by_root on runs (root);
create table contrasts (
	run text not null references runs (id) on delete cascade,
	study text not null, workload text not null, level text not null, metric text not null,
	unit text not null, better text not null, main integer not null,
	environment text not null, baseline text not null, n integer not null,
	estimate real not null, low real, high real, verdict text not null
) strict;
create index contrasts_by_run on contrasts (run);
create index contrasts_by_series on contrasts (study, workload, level, metric, environment, baseline);
`

// Open opens the index in a file, or makes it; "" is memory. A file that is no sound
// index is replaced, and so is one of another version of tare, which may have computed
// other estimates: they would look like a change. Roots are directories of runs, or runs.
func Open(file, tare string, again bool, roots ...string) (*Index, error) {
	x := &Index{}
	for _, root := range roots {
		absolute, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		x.roots = append(x.roots, absolute)
	}
	var err error
	if file != "" && !again {
		if err := private.Directory(filepath.Dir(file)); err != nil {
			return nil, fmt.Errorf("make the directory of the index: %w", err)
		}
		if x.db, err = connect(file, tare); err == nil {
			return x, nil
		}
	}
	if file != "" {
		if err := private.Directory(filepath.Dir(file)); err != nil {
			return nil, fmt.Errorf("make the directory of the index: %w", err)
		}
		for _, part := range []string{"", "-wal", "-shm", "-journal"} {
			if err := os.Remove(file + part); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("replace the index: %w", err)
			}
		}
	}
	x.db, err = connect(file, tare)
	return x, err
}

// connect opens a database and checks it; an empty one gets its tables.
func connect(file, tare string) (*sql.DB, error) {
	name := "file:" + (strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")).Replace(file)
	if file == "" {
		name = "file::memory:"
	}
	db, err := sql.Open("sqlite", name+"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=synchronous(0)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // a database in memory is that of one connection
	if err := check(db, tare); err != nil {
		return nil, errors.Join(fmt.Errorf("open the index %s: %w", file, err), db.Close())
	}
	return db, nil
}

func check(db *sql.DB, tare string) error {
	var sound string
	if err := db.QueryRow("pragma quick_check").Scan(&sound); err != nil {
		return err
	}
	wanted := int(crc32.ChecksumIEEE(fmt.Append(nil, format, " ", tare)) >> 1) // SQLite keeps a signed number
	var version, known int
	err := errors.Join(db.QueryRow("pragma user_version").Scan(&version), db.QueryRow("select count(*) from sqlite_schema").Scan(&known))
	switch {
	case err != nil:
		return err
	case sound != "ok":
		return errors.New(sound)
	case version == wanted:
		return nil
	case known > 0:
		return errors.New("it is of another version of tare")
	}
	_, err = db.Exec(fmt.Sprintf("begin immediate; %s pragma user_version = %d; commit", tables, wanted))
	return err
}

// Close closes the database.
func (x *Index) Close() error { return x.db.Close() }

// Identity of a run: the name that a client can call it by.
func Identity(directory string) string {
	sum := sha256.Sum256([]byte(directory))
	return hex.EncodeToString(sum[:8])
}

const columns = "id, directory, name, study, created, blocks, trials, failed, state, about, machine, tare"

func scan(row interface{ Scan(...any) error }) (r Run, err error) {
	var created int64
	err = row.Scan(&r.ID, &r.Directory, &r.Name, &r.Study, &created, &r.Blocks, &r.Trials, &r.Failed, &r.State, &r.About, &r.Machine, &r.Tare)
	r.Created = timeOf(created)
	return r, err
}

func timeOf(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// inRoots restricts a statement to the runs of this index: the file may also have those
// of another one.
func (x *Index) inRoots() (clause string, values []any) {
	for _, root := range x.roots {
		values = append(values, root)
	}
	return "root in (" + strings.TrimPrefix(strings.Repeat(",?", len(x.roots)), ",") + ")", values
}

// List returns the newest runs that have all the words, at most limit of them after the
// first skip, and how many there are.
func (x *Index) List(ctx context.Context, words string, skip, limit int) (list []Run, all int, err error) {
	where, values := x.inRoots()
	for _, word := range strings.Fields(strings.ToLower(words)) {
		where += ` and words like ? escape '\'`
		values = append(values, "%"+strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(word)+"%")
	}
	if err := x.db.QueryRowContext(ctx, "select count(*) from runs where "+where, values...).Scan(&all); err != nil {
		return nil, 0, err
	}
	rows, err := x.db.QueryContext(ctx, "select "+columns+" from runs where "+where+" order by created desc, name desc, id limit ? offset ?", append(values, limit, skip)...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, r)
	}
	return list, all, rows.Err()
}

// Unreadable returns how many runs cannot be read. They are last in the list, since nothing
// says when they began.
func (x *Index) Unreadable(ctx context.Context) (n int, err error) {
	where, values := x.inRoots()
	err = x.db.QueryRowContext(ctx, "select count(*) from runs where "+where+" and state = ?", append(values, rundir.Unreadable)...).Scan(&n)
	return n, err
}

// Find returns the run with an identity.
func (x *Index) Find(ctx context.Context, id string) (r Run, known bool, err error) {
	where, values := x.inRoots()
	r, err = scan(x.db.QueryRowContext(ctx, "select "+columns+" from runs where "+where+" and id = ?", append(values, id)...))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, false, nil
	}
	return r, err == nil, err
}

package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/base/visible"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/linux/beneath"
	"tare/internal/linux/private"
	"tare/internal/rundir"
)

// RootHome is the home of root, by default.
const RootHome = "/var/lib/tare"

// RootsRuns says where root's home is, for a user who looks for a run that sudo made; "" for
// root, and where root has no home. Whether it has runs, only root sees.
func RootsRuns(home string) string { return rootsRuns(home, RootHome, os.Geteuid()) }

func rootsRuns(home, ofRoot string, uid int) string {
	if info, err := os.Stat(ofRoot); uid == 0 || home == ofRoot || err != nil || !info.IsDir() {
		return ""
	}
	return "runs that were made with sudo, if any, are in " + ofRoot + ", which root alone reads: `sudo tare ls runs` lists them"
}

// Find returns the directory of a run: a path, or the name of a run below the
// home.
func Find(home, pathOrName string) (string, error) {
	if pathOrName == "" {
		return "", &InputError{errors.New("the name of the run is empty; `tare ls` lists the runs")}
	}
	named := filepath.Join(Runs(home), pathOrName)
	plain := pathOrName == filepath.Base(pathOrName)
	for _, directory := range []string{pathOrName, named} {
		if info, err := os.Stat(directory); err == nil && info.IsDir() && (plain || directory == pathOrName) {
			return directory, nil
		}
	}
	if !plain {
		return "", &InputError{fmt.Errorf("there is no run %s: no directory has that name; `tare ls` lists the runs", pathOrName)}
	}
	reason := fmt.Sprintf("there is no run %s: neither a directory of that name nor %s exists; %s`tare ls` lists the runs", pathOrName, named, nearest(home, pathOrName))
	if elsewhere := RootsRuns(home); elsewhere != "" {
		reason += "; " + elsewhere
	}
	return "", &InputError{errors.New(reason)}
}

// nearest asks whether a run with a similar name is meant; "" where there is none.
func nearest(home, name string) string {
	entries, _ := os.ReadDir(Runs(home))
	for _, e := range entries {
		// Names end with a time, so that what is typed is often the beginning of one.
		if found, _ := strings.CutPrefix(e.Name(), name); found != e.Name() {
			name = e.Name()
		}
	}
	if n := strictyaml.Nearest(name, lists.Map(entries, fs.DirEntry.Name)); n != "" {
		return fmt.Sprintf("did you mean %s? ", visible.Line(n))
	}
	return ""
}

// Name returns what a user can type for a run: its name below the home, or else
// its directory.
func Name(home, directory string) string {
	if filepath.Dir(directory) == Runs(home) {
		return filepath.Base(directory)
	}
	return directory
}

// Remove removes a run below the home that is not under way. Runs elsewhere are
// the user's to delete.
func Remove(home, name string) error {
	directory := filepath.Join(Runs(home), name)
	if name != filepath.Base(name) || name == "." || name == ".." || name == "/" {
		return &InputError{fmt.Errorf("%q is not the name of a run; tare removes only runs below %s, and images by their digest", name, Runs(home))}
	}
	if err := private.Check(Runs(home)); err != nil {
		return &InputError{err}
	}
	if _, err := os.Lstat(directory); errors.Is(err, fs.ErrNotExist) {
		return &InputError{fmt.Errorf("there is no run %s: %s does not exist; %s`tare ls runs` lists them", name, directory, nearest(home, name))}
	}
	if rundir.NeverStarted(directory) {
		return beneath.RemoveAll(directory)
	}
	w, err := rundir.Resume(directory) // fails on the lock of a run that is under way
	if err != nil {
		return &InputError{err}
	}
	defer w.Close()
	return beneath.RemoveAll(directory)
}

// RemoveImage removes an image, named by a prefix of its digest (see image.Store.Find),
// and the copies that engines have of it. It returns what was removed besides.
func RemoveImage(ctx context.Context, home, prefix string) (removed []string, err error) {
	store, err := image.Open(Images(home))
	if errors.Is(err, private.ErrForeign) {
		return nil, &InputError{err}
	}
	if err != nil {
		return nil, err
	}
	found, err := store.Find(prefix)
	if named := (*image.PrefixError)(nil); errors.As(err, &named) {
		return nil, &InputError{err}
	} else if err != nil {
		return nil, err
	}
	if err := store.Remove(found.Digest); err != nil {
		return nil, err
	}
	for _, kind := range environment.Kinds() {
		if r, _ := environment.Lookup(kind); r.Forget != nil {
			copies, err := r.Forget(ctx, func(d string) bool { return d != found.Digest })
			removed = append(removed, copies...)
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

package index

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

func plan(name string) *study.Plan {
	return &study.Plan{Format: 1, Study: name, Name: "s", Baseline: "native", Environments: []study.Environment{{Name: "native", Kind: "native"}},
		Workloads: []study.Workload{{Name: "loop", Levels: []study.Level{{}}, Pack: workload.Pack{Name: "loop"}}}}
}

// makeRun makes a run without trials.
func makeRun(t *testing.T, root, name string) string {
	t.Helper()
	directory := filepath.Join(root, name)
	w, err := rundir.Create(directory, plan(name), rundir.Manifest{Run: name, Tare: "test", Created: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return directory
}

// names are those of all runs of an index as the directories are now.
func names(t *testing.T, x *Index, search string) (list []string) {
	t.Helper()
	x.refreshed = time.Time{}
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, _ := x.List(search, 0, 100)
	for _, r := range found {
		list = append(list, r.Name)
	}
	return list
}

func open(t *testing.T, file string, again bool, roots ...string) *Index {
	t.Helper()
	x, err := Open(file, "test", again, roots...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestTheIndexFollowsTheDirectories(t *testing.T) {
	root, alone := t.TempDir(), makeRun(t, t.TempDir(), "alone")
	a := makeRun(t, root, "a")
	makeRun(t, root, "b")
	x := open(t, "", false, root, alone, filepath.Join(root, "absent"))
	if got := names(t, x, ""); len(got) != 3 || got[0] != "b" || got[1] != "alone" || len(names(t, x, "not ended")) != 3 {
		t.Errorf("runs %v", got)
	}
	if err := os.RemoveAll(a); err != nil {
		t.Fatal(err)
	}
	makeRun(t, root, "c")
	if got := names(t, x, ""); len(got) != 3 || got[0] != "c" {
		t.Errorf("after one was removed and one made: %v", got)
	}
	if err := os.WriteFile(filepath.Join(root, "b", "manifest.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := names(t, x, "unreadable"); len(got) != 1 || got[0] != "b" {
		t.Errorf("after one was damaged: %v", got)
	}
}

func TestAnIndexThatIsNotSoundIsBuiltAgain(t *testing.T) {
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "index", "runs.json")
	makeRun(t, root, "a")
	x := open(t, file, false, root)
	if got := names(t, x, ""); len(got) != 1 {
		t.Fatalf("runs %v", got)
	}
	for name, damage := range map[string]func() error{
		"of another version": func() error { return os.WriteFile(file, []byte(`{"Tare":"another"}`), 0o600) },
		"no index":           func() error { return os.WriteFile(file, []byte("this is no index, whatever its name says"), 0o600) },
		"cut": func() error {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			return os.Truncate(file, info.Size()/2+7)
		},
		"empty":   func() error { return os.Truncate(file, 0) },
		"removed": func() error { return os.Remove(file) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		x := open(t, file, false, root)
		if got := names(t, x, ""); len(got) != 1 || got[0] != "a" {
			t.Errorf("%s: runs %v", name, got)
		}
	}
	other, err := Open(file, "another tare", false, root)
	if err != nil {
		t.Fatal(err)
	}
	if len(other.runs) != 0 {
		t.Errorf("another tare takes over %d runs without computing them", len(other.runs))
	}
	// What the file has is only the cache of the directories, and of no others.
	makeRun(t, filepath.Join(root, "other"), "z")
	if got := names(t, open(t, file, true, filepath.Join(root, "other")), ""); len(got) != 1 || got[0] != "z" {
		t.Errorf("built again: %v", got)
	}
	if got := names(t, open(t, file, false, filepath.Join(root, "empty")), ""); len(got) != 0 {
		t.Errorf("the index shows runs of other directories: %v", got)
	}
}

func TestTwoProcessesShareAnIndex(t *testing.T) {
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "runs.json")
	makeRun(t, root, "a")
	one, two := open(t, file, false, root), open(t, file, false, root)
	names(t, one, "")
	makeRun(t, root, "b")
	if got := names(t, two, ""); len(got) != 2 {
		t.Errorf("the second has %v", got)
	}
	if got := names(t, one, ""); len(got) != 2 {
		t.Errorf("the first has %v", got)
	}
}

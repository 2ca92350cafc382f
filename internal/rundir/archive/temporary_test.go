package archive

import (
	"os"
	"path/filepath"
	"testing"
)

func TestATemporaryDirectoryGoesWithItsProcessOrAfterIt(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	victim := t.TempDir()
	if err := os.WriteFile(filepath.Join(victim, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(parent, temporaryPrefix+"link")
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(parent, temporaryPrefix+"file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(parent, temporaryPrefix+"1")
	// What somebody else named so is not tare's.
	own := filepath.Join(parent, temporaryPrefix+"mine")
	for _, directory := range []string{killed, own} {
		if err := os.MkdirAll(filepath.Join(directory, "run/raw"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(killed, temporaryMark), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	first, removeFirst, err := Temporary()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it has the mode %v, %v", info.Mode(), err)
	}
	second, removeSecond, err := Temporary()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{first, second, link, file, own, filepath.Join(victim, "kept")} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("what is in use or is no directory of tare was removed: %v", err)
		}
	}
	if _, err := os.Stat(killed); !os.IsNotExist(err) {
		t.Errorf("the directory of a process that was killed is still there: %v", err)
	}
	for _, remove := range []func() error{removeFirst, removeSecond} {
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(parent, temporaryPrefix+"[0-9]*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

package beneath

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func tree(t *testing.T) (root, host string) {
	t.Helper()
	root, host = t.TempDir(), t.TempDir()
	for name, to := range map[string]string{"out": host, "up": "../../../../.." + host, "absolute": "/real/etc", "relative": "real/etc", "above": "../../real/etc", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "real/etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root, host
}

func TestADirectoryIsFoundAsTheRootsProcessesFindIt(t *testing.T) {
	root, host := tree(t)
	for path, want := range map[string]string{
		"absolute": "", "relative": "", "above": "", "real/etc": "", "real/new": "", "new": "", "absolute/new": "", "../new": "",
		"out": "it is a link to what the root", "up": "it is a link to what the root", "out/new": "no such file", "loop": "too many levels", "nothing/new": "no such file",
	} {
		directory, err := Directory(root, path)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", path, err, want)
		case err == nil:
			if err := directory.WriteFile(filepath.Base(path), nil, 0o644); err != nil {
				t.Error(err)
			}
			directory.Close()
		}
	}
	for _, there := range []string{"real/etc/absolute", "real/etc/relative", "real/etc/above", "real/new/new", "new/new", "real/etc/new/new"} {
		if _, err := os.Lstat(filepath.Join(root, there)); err != nil {
			t.Error(err)
		}
	}
	empty(t, host)
}

func TestAMountPointTakesThePlaceOfALink(t *testing.T) {
	root, host := tree(t)
	for _, name := range []string{"out", "up", "absolute", "loop", "new"} {
		for _, directory := range []bool{true, false, true} {
			if err := MountPoint(root, name, directory); err != nil {
				t.Error(err)
			}
			if info, err := os.Lstat(filepath.Join(root, name)); err != nil || info.IsDir() != directory || !directory && !info.Mode().IsRegular() {
				t.Errorf("%s is %v, %v", name, info, err)
			}
		}
	}
	kept := filepath.Join(root, "real/etc")
	if err := MountPoint(root, "real", true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a directory of the image is not kept: %v", err)
	}
	empty(t, host)
}

func TestOnlyRegularFilesOfTheDirectoryAreOpened(t *testing.T) {
	root, host := tree(t)
	err := errors.Join(unix.Mkfifo(filepath.Join(root, "fifo"), 0o600), os.Symlink("real/file", filepath.Join(root, "link")),
		os.WriteFile(filepath.Join(root, "real/file"), []byte("own"), 0o600), os.WriteFile(filepath.Join(host, "file"), []byte("the host's"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fifo", "out/file", "up/file", "../" + filepath.Base(host) + "/file", host + "/file", "real", "nothing", "loop"} {
		if _, err := Open(root, name); err == nil {
			t.Errorf("%s is opened", name)
		}
	}
	for _, name := range []string{"real/file", "link"} {
		file, err := Open(root, name)
		if err != nil {
			t.Error(err)
			continue
		}
		if text, err := io.ReadAll(file); err != nil || string(text) != "own" {
			t.Errorf("%s is %q, %v", name, text, err)
		}
		file.Close()
	}
}

func empty(t *testing.T, directory string) {
	t.Helper()
	if entries, err := os.ReadDir(directory); err != nil || len(entries) > 0 {
		t.Errorf("the host has %v: %v", entries, err)
	}
}

package share

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryIsTheSameInAnotherInstance(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "not", "there")
	must(t, os.Chmod(from, 0o777))
	must(t, os.MkdirAll(filepath.Join(from, "a", "b"), 0o750))
	must(t, os.WriteFile(filepath.Join(from, "a", "b", "file"), []byte("text"), 0o640))
	must(t, os.Symlink("b/file", filepath.Join(from, "a", "link")))
	must(t, unix.Mkfifo(filepath.Join(from, "pipe"), 0o600))
	for _, text := range []string{"text", "a new text"} { // the second one replaces the first
		must(t, os.WriteFile(filepath.Join(from, "a", "b", "file"), []byte(text), 0o640))
		var stream bytes.Buffer
		must(t, Pack(from, &stream))
		must(t, Unpack(to, &stream))
		got, err := os.ReadFile(filepath.Join(to, "a", "link"))
		if err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	for name, want := range map[string]os.FileMode{".": 0o777, "a/b": 0o750, "a/b/file": 0o640} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(to, "pipe")); err == nil {
		t.Error("a pipe was made")
	}
}

func TestNothingIsWrittenOutsideOfTheDirectory(t *testing.T) {
	outside := t.TempDir()
	for name, headers := range map[string][]tar.Header{
		"a path that leads out": {{Name: "../out", Typeflag: tar.TypeReg, Mode: 0o600}},
		"a link that leads out": {{Name: "way", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "way/out", Typeflag: tar.TypeReg, Mode: 0o600}},
	} {
		var stream bytes.Buffer
		w := tar.NewWriter(&stream)
		for _, h := range headers {
			must(t, w.WriteHeader(&h))
		}
		must(t, w.Close())
		if err := Unpack(filepath.Join(outside, "in"), &stream); err == nil || !strings.Contains(err.Error(), "escapes") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(outside, "out")); err == nil {
			t.Errorf("%s: it was written", name)
		}
	}
}

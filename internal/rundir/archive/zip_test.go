package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// zipped makes a zip of pairs of name and text; a text that begins with -> is a link.
func zipped(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		h := &zip.FileHeader{Name: pairs[i], Method: zip.Deflate}
		text, link := strings.CutPrefix(pairs[i+1], "->")
		if link {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		file, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unzip(t testing.TB, data []byte) (into, at string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "artifact.zip")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	into = t.TempDir()
	x, err := Unzip(t.Context(), file, into, func(name string) bool { return name == "manifest.json" })
	return into, x.Run, err
}

func TestTheRunOfAnArtifactIsFound(t *testing.T) {
	files := map[string]string{"manifest.json": "{}", "raw/a b.ü": strings.Repeat("x", 1<<17)}
	one := string(packed(t, files))
	for name, c := range map[string]struct {
		pairs []string
		at    string
	}{
		"an archive":                     {[]string{"check.md", "met", "run.tare.tar.zst", one}, "run-1"},
		"an archive in a directory":      {[]string{"tare-results/", "", "tare-results/run.tare.tar.zst", one}, "run-1"},
		"an archive and its directory":   {[]string{"run/manifest.json", "{}", "run.tare.tar.zst", one}, "run-1"},
		"a directory":                    {[]string{"out/run/", "", "out/run/manifest.json", "{}", "out/run/raw/a b.ü", files["raw/a b.ü"], "out/check.md", "met"}, "run"},
		"the files of a run":             {[]string{"manifest.json", "{}", "raw/a b.ü", files["raw/a b.ü"]}, "run"},
		"what looks like a run in a run": {[]string{"r/raw/manifest.json", "{}", "r/manifest.json", "{}", "r/raw/a b.ü", files["raw/a b.ü"]}, "r"},
	} {
		into, at, err := unzip(t, zipped(t, c.pairs...))
		if err != nil || at != c.at {
			t.Errorf("%s: %q, %v", name, at, err)
			continue
		}
		found := below(t, filepath.Join(into, at))
		delete(found, "raw/manifest.json")
		if diff := cmp.Diff(files, found); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Each directory of the first was once compared with all others, and those of the second
// were not counted.
func TestAZipOfManyDirectoriesIsRefusedAtOnce(t *testing.T) {
	var many, deep []string
	for n := range 60_000 {
		many = append(many, fmt.Sprintf("run-%d/manifest.json", n), "{}")
	}
	for n := range maxFiles/60 + 1 {
		deep = append(deep, fmt.Sprintf("run/%d/%sx", n, strings.Repeat("a/", 60)), "")
	}
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{many, "it is a zip with 60000 runs"},
		{append(deep, "run/manifest.json", "{}"), "it has too many files and directories"},
	} {
		if _, _, err := unzip(t, zipped(t, c.pairs...)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, and not %q", err, c.want)
		}
	}
}

func TestADirectoryWithinAnotherIsNotOneOfTheOutermost(t *testing.T) {
	for _, c := range []struct{ all, want []string }{
		{nil, nil},
		{[]string{"a/b", ".", "c"}, []string{"."}},
		{[]string{"a/c", "a-b", "a", "a-b/c/d", "a", "b/a"}, []string{"a", "a-b", "b/a"}},
	} {
		if diff := cmp.Diff(c.want, outermost(c.all)); diff != "" {
			t.Errorf("%q: %s", c.all, diff)
		}
	}
}

func TestAZipThatIsNotOneRunIsRefused(t *testing.T) {
	one := string(packed(t, map[string]string{"manifest.json": "{}"}))
	for want, pairs := range map[string][]string{
		"it is a zip with no run":                                           {"check.md", "met"},
		"it is a zip with 2 runs (a, b)":                                    {"a/manifest.json", "{}", "b/manifest.json", "{}"},
		"with 4 runs (1.tare.tar.zst, 2.tare.tar.zst, 3.tare.tar.zst, ...)": {"1.tare.tar.zst", one, "2.tare.tar.zst", one, "3.tare.tar.zst", one, "4.tare.tar.zst", one},
		"it is not a run archive":                                           {"run.tare.tar.zst", "no archive"},
		`"r/../../FORGED" is not a path in a run`:                           {"r/manifest.json", "{}", "r/../../FORGED", "x"},
		"r/link: it is not a regular file":                                  {"r/manifest.json", "{}", "r/link", "->/etc/passwd"},
		"run.tare.tar.zst: it is not a regular file":                        {"run.tare.tar.zst", "->/etc/passwd"},
		"r/plan.json: openat":                                               {"r/manifest.json", "{}", "r/plan.json", "{}", "r/plan.json", "{}"}, // twice
	} {
		if into, _, err := unzip(t, zipped(t, pairs...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		} else if _, err := os.Stat(filepath.Join(into, "..", "FORGED")); err == nil {
			t.Errorf("%s: it wrote outside", want)
		}
	}
}

func TestAZipGivesNoMoreThanItAnnounces(t *testing.T) {
	data := zipped(t, "manifest.json", "{}", "journal.jsonl", strings.Repeat("x", 1<<20))
	for _, announced := range []uint32{1, 1 << 19, 1<<20 + 1} {
		// The sizes of the list at the end are those that count.
		changed := bytes.Clone(data)
		at := bytes.LastIndex(changed, []byte("PK\x01\x02"))
		binary.LittleEndian.PutUint32(changed[at+24:], announced)
		into, _, err := unzip(t, changed)
		if err == nil {
			t.Errorf("%d of %d bytes: no error", announced, 1<<20)
		}
		if info, err := os.Stat(filepath.Join(into, "run", "journal.jsonl")); err == nil && info.Size() > int64(announced)+1<<16 {
			t.Errorf("%d bytes were announced, and %d written", announced, info.Size())
		}
	}
	if _, _, err := unzip(t, data[:len(data)-30]); err == nil {
		t.Error("a zip without its end was read")
	}
}

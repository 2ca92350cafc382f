package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// packed makes an archive of files.
func packed(t interface {
	TempDir() string
	Fatal(...any)
}, files map[string]string) []byte {
	directory := t.TempDir()
	for name, text := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := Write(context.Background(), &b, "test", "run-1", directory, func(name string) bool { return name == "lock" }, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// below are the files below a directory.
func below(t testing.TB, directory string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(directory, path)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestARunIsUnpackedAsItWasPacked(t *testing.T) {
	files := map[string]string{"manifest.json": "{}", "raw/block-001/a b.ü/driver.stdout": strings.Repeat("x", 1<<20), "empty": ""}
	rest := map[string]string{"lock": ""}
	for name, text := range files {
		rest[name] = text
	}
	one, into := packed(t, rest), t.TempDir()
	x, err := Read(t.Context(), bytes.NewReader(one), into, nil)
	if err != nil || x.Run != "run-1" || x.Tare != "test" {
		t.Fatalf("%+v, %v", x, err)
	}
	if diff := cmp.Diff(files, below(t, filepath.Join(into, "run-1"))); diff != "" {
		t.Error(diff)
	}
	if again := packed(t, rest); !bytes.Equal(one, again) {
		t.Error("the same files give two archives")
	}
	if info, err := os.Stat(filepath.Join(into, "run-1")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the run is %v, %v", info.Mode(), err)
	}
}

// entry is a file of a hostile archive.
type entry struct {
	name, text, link string
	kind             byte
}

// archive makes an archive of an index and entries.
func archive(t *testing.T, index any, entries ...entry) []byte {
	t.Helper()
	text, is := index.(string)
	if !is {
		data, err := json.Marshal(index)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, e := range append([]entry{{name: indexName, text: text}}, entries...) {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		if err := w.WriteHeader(&tar.Header{Name: e.name, Size: int64(len(e.text)), Typeflag: e.kind, Linkname: e.link, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const sumOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" // of "x"

func TestAHostileArchiveIsRefusedAndWritesNothingElsewhere(t *testing.T) {
	index := func(files ...File) Index { return Index{Format: 1, Tare: "test", Run: "r", Files: files} }
	x := File{"r/a", 1, sumOfX}
	named := func(path string) []byte {
		return archive(t, index(File{path, 1, sumOfX}), entry{name: path, text: "x"})
	}
	for name, c := range map[string]struct {
		pack []byte
		want string
	}{
		"no archive":                {[]byte("hello"), "not a run archive"},
		"an empty file":             {nil, "not a run archive"},
		"another archive":           {archive(t, "{}", entry{})[:40], "not a run archive"},
		"an index that is none":     {archive(t, "[1]"), "tare-archive.json"},
		"a later format":            {archive(t, Index{Format: 2, Tare: "later", Run: "r"}), `use tare "later"`},
		"a run above":               {archive(t, Index{Format: 1, Run: ".."}), "is not the name of a run"},
		"a run with a slash":        {archive(t, Index{Format: 1, Run: "a/b"}), "is not the name of a run"},
		"a path above":              {named("r/../../b"), "is not a path in a run"},
		"an absolute path":          {named("/etc/x"), "is not a path in a run"},
		"a path outside of the run": {named("other/x"), "is in no run"},
		"a control character":       {named("r/a\x1b[31m"), "is not a path in a run"},
		"a line break":              {named("r/a\nb"), "is not a path in a run"},
		"the run as a file":         {named("r"), "is in no run"},
		"a file twice":              {archive(t, index(x, x)), "is there twice"},
		"a negative size":           {archive(t, index(File{"r/a", -1, sumOfX})), "is not a size"},
		"sizes beyond the limit":    {archive(t, index(File{"r/a", maxSize, sumOfX}, File{"r/b", maxSize, sumOfX})), "have more than"},
		"more than is free":         {archive(t, index(File{"r/a", maxSize, sumOfX})), "free"},
		"no checksum":               {archive(t, index(File{"r/a", 1, "x"})), "has no checksum"},
		"another checksum":          {archive(t, index(x), entry{name: "r/a", text: "y"}), "damaged or was changed"},
		"a longer file":             {archive(t, index(x), entry{name: "r/a", text: "xy"}), "is in its place"},
		"a missing file":            {archive(t, index(x)), "it ends early"},
		"another file":              {archive(t, index(x), entry{name: "r/b", text: "x"}), "is in its place"},
		"one file more":             {archive(t, index(x), entry{name: "r/a", text: "x"}, entry{name: "r/b", text: "x"}), "its index does not name"},
		"a symbolic link":           {archive(t, index(File{"r/a", 0, sumOfX}), entry{name: "r/a", link: "/etc/passwd", kind: tar.TypeSymlink}), "is in its place"},
		"a hard link":               {archive(t, index(File{"r/a", 0, sumOfX}), entry{name: "r/a", link: "/etc/passwd", kind: tar.TypeLink}), "is in its place"},
		"a device":                  {archive(t, index(File{"r/a", 0, sumOfX}), entry{name: "r/a", kind: tar.TypeBlock}), "is in its place"},
		"a file as a directory":     {archive(t, index(x, File{"r/a/b", 1, sumOfX}), entry{name: "r/a", text: "x"}, entry{name: "r/a/b", text: "x"}), "r/a/b: "},
		"an image that is none":     {archive(t, Index{Format: 1, Run: "r", Images: []Image{{Digest: "sha256:../../x"}}}), "is not the digest"},
		"an image without a file":   {archive(t, Index{Format: 1, Run: "r", Images: []Image{{Digest: "sha256:" + sumOfX}}}), "is not among its files"},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			into := filepath.Join(top, "deep", "er")
			if err := os.MkdirAll(into, 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(t.Context(), bytes.NewReader(c.pack), into, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
			for file := range below(t, top) {
				if !strings.HasPrefix(file, "deep/er/r/") {
					t.Errorf("%s was written", file)
				}
			}
		})
	}
}

func TestAnArchiveThatIsCutOffOrChangedIsRefused(t *testing.T) {
	whole := packed(t, map[string]string{"manifest.json": strings.Repeat("{} ", 1000), "raw/x": "y"})
	into := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		at := rapid.IntRange(0, len(whole)-1).Draw(r, "at")
		damaged := bytes.Clone(whole)
		if rapid.Bool().Draw(r, "cut") {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= byte(rapid.IntRange(1, 255).Draw(r, "by"))
		}
		x, err := Read(t.Context(), bytes.NewReader(damaged), into, nil)
		defer os.RemoveAll(filepath.Join(into, "run-1"))
		if err == nil && (len(x.Files) != 2 || below(t, filepath.Join(into, "run-1"))["raw/x"] != "y") {
			r.Fatalf("an archive with byte %d changed is read as %+v", at, x)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(packed(f, map[string]string{"manifest.json": "{}", "raw/x": "y"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		into := filepath.Join(top, "in")
		if err := os.Mkdir(into, 0o700); err != nil {
			t.Fatal(err)
		}
		_, _ = Read(t.Context(), bytes.NewReader(data), into, nil)
		for file := range below(t, top) {
			if !strings.HasPrefix(file, "in/") {
				t.Errorf("%s was written", file)
			}
		}
	})
}

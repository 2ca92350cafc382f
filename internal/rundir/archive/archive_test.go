package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"tare/internal/base/quantity"
	"tare/internal/testing/fuzzing"
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
	x, err := Read(t.Context(), bytes.NewReader(one), into)
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
	records          map[string]string
	header           tar.Header // its mode and owner
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
	w := tar.NewWriter(&b)
	for _, e := range append([]entry{{name: indexName, text: text}}, entries...) {
		h := e.header
		h.Name, h.Size, h.Typeflag, h.Linkname, h.PAXRecords = e.name, int64(len(e.text)), e.kind, e.link, e.records
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return compressed(t, b.Bytes())
}

// compressed is a frame of zstd.
func compressed(t testing.TB, data []byte, options ...zstd.EOption) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(data, nil)
}

const sumOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" // of "x"

func TestAHostileArchiveIsRefusedAndWritesNothingElsewhere(t *testing.T) {
	index := func(files ...File) Index { return Index{Format: 1, Tare: "test", Run: "r", Files: files} }
	x := File{"r/a", 1, sumOfX}
	sound := archive(t, index(x), entry{name: "r/a", text: "x"})
	many := func(n int, path string) Index {
		files := make([]File, n)
		for i := range files {
			files[i] = File{fmt.Sprintf(path, i), 0, sumOfX}
		}
		return index(files...)
	}
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
		"an index that is none":     {archive(t, "[1]"), "tare-archive.json: a value of the wrong type (array) at byte 1"},
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
		"a FIFO":                    {archive(t, index(File{"r/a", 0, sumOfX}), entry{name: "r/a", kind: tar.TypeFifo}), "is in its place"},
		"a directory":               {archive(t, index(File{"r/a", 0, sumOfX}), entry{name: "r/a/", kind: tar.TypeDir}), "is in its place"},
		"a file of another case":    {archive(t, index(x), entry{name: "r/A", text: "x"}), "is in its place"},
		"a file as a directory":     {archive(t, index(x, File{"r/a/b", 1, sumOfX})), "is a file, and the directory of others"},
		"the name of no file":       {archive(t, index(File{"r/" + strings.Repeat("a", 256), 1, sumOfX}), entry{name: "r/" + strings.Repeat("a", 256), text: "x"}), "name too long"},
		"a path that is too long":   {archive(t, index(File{"r/" + strings.Repeat("a", 4096), 1, sumOfX})), "is not a path in a run"},
		"a path that is too deep":   {archive(t, index(File{"r" + strings.Repeat("/a", 100), 1, sumOfX})), "directories deep"},
		"dots in a path":            {named("r/./a"), "is not a path in a run"},
		"an empty part of a path":   {named("r//a"), "is not a path in a run"},
		"text that is reordered":    {named("r/a\u202egpj"), "is not a path in a run"},
		"bytes that are no text":    {archive(t, `{"format":1,"run":"r","files":[{"path":"r/\ud800","size":"1B","sha256":"`+sumOfX+`"}]}`, entry{name: "r/\xff", text: "x"}), "r/�"},
		"too many files":            {archive(t, many(maxFiles+1, "r/%d")), "too many"},
		"too many directories":      {archive(t, many(maxFiles/2+1, "r/%d/a")), "too many"},
		"files without anything":    {archive(t, `{"format":1,"run":"r","files":[`+strings.Repeat("{},", 3<<20)+`{}]}`), "too many values"},
		"images without anything":   {archive(t, `{"format":1,"run":"r","images":[`+strings.Repeat("{},", 3<<20)+`{}]}`), "too many values"},
		"empty variables":           {archive(t, `{"format":1,"run":"r","images":[{"env":[`+strings.Repeat(`"",`, 3<<20)+`""]}]}`), "too many values"},
		"an index that is too long": {archive(t, strings.Repeat(" ", int(maxIndex)+1)), "too long"},
		"a nested index":            {archive(t, strings.Repeat("[", 100_000)), "tare-archive.json"},
		"files with holes":          {archive(t, index(x), entry{name: "r/a", text: "x", records: map[string]string{"X.sparse": "1"}}), "is in its place"},
		"attributes":                {archive(t, index(x), entry{name: "r/a", text: "x", records: map[string]string{"SCHILY.xattr.security.capability": "x"}}), "is in its place"},
		"data after the end":        {append(bytes.Clone(sound), compressed(t, []byte("x"))...), "it goes on after its last file"},
		"zeros after the end":       {append(bytes.Clone(sound), compressed(t, make([]byte, 1<<20))...), "it goes on after its last file"},
		"bytes after the end":       {append(bytes.Clone(sound), "x"...), "after its last file"},
		"a window of a gigabyte":    {[]byte("\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00"), "window size"},
		"an image that is none":     {archive(t, Index{Format: 1, Run: "r", Images: []Image{{Digest: "sha256:../../x"}}}), "is not the digest"},
		"an image without a file":   {archive(t, Index{Format: 1, Run: "r", Images: []Image{{Digest: "sha256:" + sumOfX}}}), "is not among its files"},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			into := filepath.Join(top, "deep", "er")
			if err := os.MkdirAll(into, 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(t.Context(), bytes.NewReader(c.pack), into); err == nil || !strings.Contains(err.Error(), c.want) {
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

// What an archive says of modes and owners means nothing, and it can come in several frames.
func TestOnlyNamesAndContentsAreTakenFromAnArchive(t *testing.T) {
	whole := archive(t, Index{Format: 1, Run: "r", Files: []File{{"r/a", 1, sumOfX}}},
		entry{name: "r/a", text: "x", header: tar.Header{Mode: 0o6777, Uid: 4711, Gid: 4711, Uname: "games"}})
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	plain, err := decoder.DecodeAll(whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"one frame": whole, "two frames": append(compressed(t, plain[:100]), compressed(t, plain[100:])...)} {
		into := t.TempDir()
		if _, err := Read(t.Context(), bytes.NewReader(data), into); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var is unix.Stat_t
		if err := unix.Lstat(filepath.Join(into, "r/a"), &is); err != nil || is.Mode != unix.S_IFREG|0o600 || is.Uid != uint32(os.Geteuid()) {
			t.Errorf("%s: the file has the mode %o and the owner %d, %v", name, is.Mode, is.Uid, err)
		}
	}
}

func TestASmallArchiveTakesLittleMemory(t *testing.T) {
	bomb := archive(t, `{"format":1,"run":"r","images":[`+strings.Repeat("{},", 3<<20)+`{}]}`)
	fuzzing.Allocates(t, 8*uint64(maxIndex), func() {
		_, _ = Read(t.Context(), bytes.NewReader(bomb), t.TempDir())
	})
}

func TestAnArchiveThatEndsAnywhereIsRefused(t *testing.T) {
	whole := packed(t, map[string]string{"manifest.json": "{}", "raw/x": "y"})
	into := t.TempDir()
	for n := range whole {
		if _, err := Read(t.Context(), bytes.NewReader(whole[:n]), into); err == nil {
			t.Fatalf("%d of %d bytes are read as an archive", n, len(whole))
		}
		if err := os.RemoveAll(filepath.Join(into, "run-1")); err != nil {
			t.Fatal(err)
		}
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
		x, err := Read(t.Context(), bytes.NewReader(damaged), into)
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
		x, err := Read(t.Context(), bytes.NewReader(data), into)
		files := below(t, top)
		for file := range files {
			if !strings.HasPrefix(file, "in/") {
				t.Errorf("%s was written", file)
			}
		}
		if err != nil {
			return
		}
		for _, f := range x.Files {
			if x.holds(f.Path) && quantity.Bytes(len(files["in/"+f.Path])) != f.Size {
				t.Errorf("%s has %d bytes, and its index says %s", f.Path, len(files["in/"+f.Path]), f.Size)
			}
		}
	})
}

// The index and the tar behind it, without the compression, which hides them from a fuzzer.
func FuzzReadTar(f *testing.F) {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer decoder.Close()
	plain, err := decoder.DecodeAll(packed(f, map[string]string{"manifest.json": "{}", "raw/x": "y"}), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		into := filepath.Join(top, "in")
		if err := os.Mkdir(into, 0o700); err != nil {
			t.Fatal(err)
		}
		_, _ = Read(t.Context(), bytes.NewReader(compressed(t, data, zstd.WithEncoderLevel(zstd.SpeedFastest))), into)
		for file := range below(t, top) {
			if !strings.HasPrefix(file, "in/") {
				t.Errorf("%s was written", file)
			}
		}
	})
}

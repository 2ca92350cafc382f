package rootfs

import (
	"archive/tar"
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"tare/internal/base/quantity"
	"tare/internal/testing/fuzzing"
	"tare/internal/testing/imagetest"
	"testing"
)

// FuzzLayers: two layers that anybody made are refused, or give a file system whose
// names are beneath its root, each once, within the budget, and which is the same when it is
// flattened again.
func FuzzLayers(f *testing.F) {
	layer := func(entries ...string) []byte {
		data, err := os.ReadFile(imagetest.Layer(f, f.TempDir(), entries...))
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	f.Add(layer("./", "./a/", "./a/b=1", "l->a", "h==a/b"), layer("a/.wh.b", "c==h"))
	f.Add(layer("a=old", "b==a", "c==a"), layer("a=new", ".wh..wh..opq"))
	f.Add(layer("../../etc/passwd=x", "/a->/etc", "a/b=y"), []byte{})
	f.Add(layer("d/", "d/x=1"), layer("d=file"))
	directory := f.TempDir()
	const size, entries = 1 << 16, 200
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var layers []string
		for i, data := range [][]byte{one, two} {
			file := filepath.Join(directory, []string{"one", "two"}[i])
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			layers = append(layers, file)
		}
		limits := func() *Budget {
			return &Budget{size: size, names: quantity.MiB, entries: entries, why: "the test's limit"}
		}
		var flat, again bytes.Buffer
		fuzzing.Allocates(t, 32<<20+uint64(len(one)+len(two))*200, func() {
			digest, err := flatten(t.Context(), layers, &flat, limits())
			if err != nil {
				if strings.TrimSpace(err.Error()) == "" {
					t.Error("the error says nothing")
				}
				return
			}
			held, seen := int64(0), map[string]bool{}
			in := tar.NewReader(bytes.NewReader(flat.Bytes()))
			for header, err := in.Next(); err == nil; header, err = in.Next() {
				name := path.Clean(header.Name)
				if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || seen[name] {
					t.Errorf("%q", header.Name)
				}
				if header.Typeflag == tar.TypeLink && !seen[path.Clean(header.Linkname)] {
					t.Errorf("%q is a link to %q, which does not come before it", header.Name, header.Linkname)
				}
				seen[name] = true
				held += header.Size
			}
			if held > size || len(seen) > entries {
				t.Errorf("%d bytes in %d entries", held, len(seen))
			}
			if err := os.WriteFile(layers[0], flat.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if same, err := flatten(t.Context(), layers[:1], &again, limits()); err != nil || same != digest {
				t.Errorf("flattened again it is %s, not %s: %v", same, digest, err)
			}
		})
	})
}

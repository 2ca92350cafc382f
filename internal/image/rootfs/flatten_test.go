package rootfs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tare/internal/testing/imagetest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFlatten(t *testing.T) {
	for _, c := range []struct {
		what   string
		layers [][]string
		want   []string
	}{
		{"one layer stays as it is",
			[][]string{{"./", "./a/", "./a/b=1", "l->a"}}, []string{"./", "a/", "a/b=1", "l->a"}},
		{"an upper file replaces a lower one",
			[][]string{{"a=1", "b=1"}, {"a=2"}}, []string{"a=2", "b=1"}},
		{"a whiteout removes a file and a tree",
			[][]string{{"a=1", "d/", "d/x=1"}, {".wh.a", ".wh.d"}}, nil},
		{"what is made anew beside its whiteout stays",
			[][]string{{"d/", "d/x=1"}, {".wh.d", "d/", "d/y=2"}}, []string{"d/", "d/y=2"}},
		{"an opaque directory hides all that was below",
			[][]string{{"d/", "d/x=1", "d/e/", "d/e/y=1"}, {"d/", "d/.wh..wh..opq", "d/z=2"}}, []string{"d/", "d/z=2"}},
		{"a file hides a tree of its name",
			[][]string{{"d/", "d/x=1"}, {"d=file"}}, []string{"d=file"}},
		{"a directory takes the place of a file",
			[][]string{{"d=file"}, {"d/", "d/x=1"}}, []string{"d/", "d/x=1"}},
		{"a link hides a tree of its name",
			[][]string{{"lib/", "lib/x=1"}, {"lib->usr/lib"}}, []string{"lib->usr/lib"}},
		{"a whiteout in a middle layer does not reach up",
			[][]string{{"a=1"}, {".wh.a"}, {"a=3"}}, []string{"a=3"}},
		{"hard links stay links",
			[][]string{{"a=1", "b==a"}}, []string{"a=1", "b=1"}},
		{"a hard link keeps its content when its target is replaced above",
			[][]string{{"a=old", "b==a", "c==a"}, {"a=new"}}, []string{"a=new", "b=old", "c=old"}},
		{"a hard link keeps its content when its target is removed above",
			[][]string{{"a=old", "b==a"}, {".wh.a"}}, []string{"b=old"}},
		{"a hard link may lead to a lower layer",
			[][]string{{"a=1"}, {"b==a"}}, []string{"a=1", "b=1"}},
		{"also when that layer's file is replaced in the link's own layer",
			[][]string{{"a=1"}, {"b==a", "a=2"}}, []string{"a=2", "b=1"}},
		{"the later of two entries of one name wins",
			[][]string{{"a=1", "a=2"}}, []string{"a=2"}},
		{"bookkeeping of union file systems is no file",
			[][]string{{".wh..wh.plnk/", "a=1", ".wh..wh.aufs="}}, []string{"a=1"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			var layers []string
			for _, l := range c.layers {
				layers = append(layers, imagetest.Layer(t, t.TempDir(), l...))
			}
			var flat bytes.Buffer
			if _, err := flatten(t.Context(), layers, &flat, plenty()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, imagetest.Entries(t, &flat)); diff != "" {
				t.Errorf("want - got +:\n%s", diff)
			}
		})
	}
}

func TestFlattenRefusesAHardLinkToNothing(t *testing.T) {
	layer := imagetest.Layer(t, t.TempDir(), "b==a")
	_, err := flatten(t.Context(), []string{layer}, io.Discard, plenty())
	if err == nil || !strings.Contains(err.Error(), "hard link to a, which does not exist") {
		t.Errorf("got %v", err)
	}
}

// Any stack of layers looks the same whether it is flattened at once, or its
// lower part first and the rest onto that.
func TestFlatteningInStepsGivesTheSame(t *testing.T) {
	directory := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var layers []string
		for range rapid.IntRange(2, 5).Draw(t, "layers") {
			layers = append(layers, imagetest.Layer(t, directory, drawLayer(t)...))
		}
		var atOnce, lower, inSteps bytes.Buffer
		if _, err := flatten(t.Context(), layers, &atOnce, plenty()); err != nil {
			t.Fatal(err)
		}
		split := rapid.IntRange(1, len(layers)-1).Draw(t, "split")
		if _, err := flatten(t.Context(), layers[:split], &lower, plenty()); err != nil {
			t.Fatal(err)
		}
		base := filepath.Join(directory, "base")
		if err := os.WriteFile(base, lower.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := flatten(t.Context(), append([]string{base}, layers[split:]...), &inSteps, plenty()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(imagetest.Entries(t, &atOnce), imagetest.Entries(t, &inSteps)); diff != "" {
			t.Fatalf("at once - in steps +:\n%s", diff)
		}
	})
}

// drawLayer draws entries over few names, so that layers collide.
func drawLayer(t *rapid.T) []string {
	var entries, files []string
	for i := range rapid.IntRange(0, 8).Draw(t, "entries") {
		dir := rapid.SampledFrom([]string{"", "d/", "d/e/"}).Draw(t, "dir")
		name := dir + rapid.SampledFrom([]string{"a", "b", "d", "e"}).Draw(t, "name")
		kind := rapid.SampledFrom([]string{"file", "directory", "whiteout", "opaque", "link"}).Draw(t, "kind")
		switch {
		case kind == "directory":
			entries = append(entries, name+"/")
			files = slices.DeleteFunc(files, func(f string) bool { return f == name })
		case kind == "whiteout":
			entries = append(entries, dir+".wh."+filepath.Base(name))
		case kind == "opaque":
			entries = append(entries, dir+".wh..wh..opq")
		case kind == "link" && len(files) > 0 && files[len(files)-1] != name:
			entries = append(entries, name+"=="+files[len(files)-1])
		default:
			entries = append(entries, fmt.Sprintf("%s=%d", name, i))
			files = append(files, name)
		}
	}
	return entries
}

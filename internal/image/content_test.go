package image

import (
	"os"
	"path/filepath"
	"tare/internal/testing/imagetest"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestADirectoryOfAnImageIsUnpackedWithItsContent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	// A directory can have a name that tar would take for an option.
	layer := imagetest.Must(tarball.LayerFromFile(imagetest.Layer(t, t.TempDir(), "--version/", "--version/d=4")))
	layers := imagetest.Must(mutate.AppendLayers(twoLayers(t), layer))
	if err := tarball.WriteToFile(file, name.MustParseReference("localhost/x"), layers); err != nil {
		t.Fatal(err)
	}
	img, err := openStore(t).Get(t.Context(), Source{Reference: "tar:" + file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for directory, want := range map[string]string{"/etc": "b=2 c=3 ", "/absent": "", "/etc/b": "", "/--version": "d=4 "} {
		to, got := t.TempDir(), ""
		if err := img.Unpack(t.Context(), directory, to); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(to)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(to, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got += e.Name() + "=" + string(text) + " "
		}
		if got != want {
			t.Errorf("%s has %q, want %q", directory, got, want)
		}
	}
}

package origin

import (
	"errors"
	"os"
	"path/filepath"
	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/image/rootfs"
	"tare/internal/testing/imagetest"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestACompressedLayerStopsAtItsBudget(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "zeros")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 8<<20); err != nil {
		t.Fatal(err)
	}
	layer := imagetest.Must(tarball.LayerFromFile(path))
	b := imagetest.Must(rootfs.NewBudget(directory))
	b.Limit(quantity.MiB)
	out := filepath.Join(directory, "out")
	if err := spool(t.Context(), layer, imagetest.Must(layer.DiffID()), out, b); !errors.Is(err, bounded.ErrTooLong) {
		t.Error(err)
	}
	if size := imagetest.Must(os.Stat(out)).Size(); size > 1<<20 {
		t.Errorf("%d bytes were written", size)
	}
	b = imagetest.Must(rootfs.NewBudget(directory))
	b.Limit(8 * quantity.MiB)
	if err := spool(t.Context(), layer, imagetest.Must(layer.DiffID()), out+"2", b); err != nil {
		t.Error(err)
	}
}

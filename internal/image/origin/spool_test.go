package origin

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/image/rootfs"
	"tare/internal/testing/fuzzing"
	"tare/internal/testing/imagetest"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
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

// packed is a layer as a registry or a layout has it.
type packed []byte

func (p packed) Digest() (v1.Hash, error)            { return v1.Hash{}, nil }
func (p packed) Size() (int64, error)                { return int64(len(p)), nil }
func (p packed) MediaType() (types.MediaType, error) { return types.OCILayerZStd, nil }
func (p packed) Compressed() (io.ReadCloser, error)  { return io.NopCloser(bytes.NewReader(p)), nil }

// A frame of zstd says how much memory it takes to unpack it, before it has a byte.
func TestALayerCannotAskForMemory(t *testing.T) {
	const magic = "\x28\xb5\x2f\xfd"
	const empty = "\x01\x00\x00" // the last block, with nothing
	for name, frame := range map[string]string{
		"a window of 128 GiB": magic + "\x00\xd8" + empty,
		"a window of 1 GiB":   magic + "\x00\xa0" + empty,
		"a window of 512 MiB": magic + "\x00\x98" + empty,
		"64 GiB of content":   magic + "\xe0\x00\x00\x00\x00\x10\x00\x00\x00" + empty,
		"2^63 of content":     magic + "\xe0\x00\x00\x00\x00\x00\x00\x00\x80" + empty,
		"many frames":         strings.Repeat(magic+"\x00\x98"+empty, 1000),
	} {
		layer := imagetest.Must(partial.CompressedToLayer(packed(frame)))
		directory := t.TempDir()
		b := imagetest.Must(rootfs.NewBudget(directory))
		// With the largest window that the library takes.
		fuzzing.Allocates(t, 600<<20, func() {
			if err := spool(t.Context(), layer, v1.Hash{Algorithm: "sha256", Hex: "x"}, filepath.Join(directory, "out"), b); err == nil {
				t.Errorf("%s is taken", name)
			}
		})
	}
}

package image

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
)

// plenty is a budget that no test exceeds.
func plenty() *budget {
	return &budget{size: quantity.GiB, names: quantity.GiB, entries: maxEntries, why: "the test"}
}

// sparse is a layer of 2 KiB with one file that claims a size: a hole, and a byte, as
// GNU tar writes it.
func sparse(t *testing.T, claimed int64) string {
	t.Helper()
	block := make([]byte, 512)
	number := func(at int, v int64) { // base 256
		block[at] = 0x80
		binary.BigEndian.PutUint64(block[at+4:], uint64(v))
	}
	copy(block, "hole")
	copy(block[100:], "0000644\x000000000\x000000000\x00")
	number(124, 512) // stored
	copy(block[136:], "00000000001\x00        S")
	copy(block[257:], "ustar  \x00")
	number(386, claimed-512)
	number(398, 512)
	number(483, claimed)
	sum := 0
	for _, c := range block {
		sum += int(c)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	path := filepath.Join(t.TempDir(), "sparse.tar")
	if err := os.WriteFile(path, append(block, make([]byte, 3*512)...), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func saved(t *testing.T, layer string) string {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, must(tarball.LayerFromFile(layer)))
	if err != nil {
		t.Fatal(err)
	}
	config := must(img.ConfigFile()).DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	file := filepath.Join(t.TempDir(), "saved.tar")
	if err := tarball.WriteToFile(file, must(name.NewTag("a/b:1")), must(mutate.ConfigFile(img, config))); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestALayerThatClaimsMoreThanTheDiskHasIsRefusedBeforeItIsWritten(t *testing.T) {
	s := openStore(t)
	if img, err := s.Get(t.Context(), Source{Reference: "tar:" + saved(t, sparse(t, 8<<20))}, nil); err != nil {
		t.Fatal(err)
	} else if size := must(os.Stat(img.Tar())).Size(); size < 8<<20 {
		t.Fatalf("a file with a hole has %d bytes in the image", size)
	}
	before := must(os.ReadDir(s.path("images")))
	_, err := s.Get(t.Context(), Source{Reference: "tar:" + saved(t, sparse(t, 1<<40))}, nil)
	if err == nil || !strings.Contains(err.Error(), "hole has 1024GiB, which is too much: ") {
		t.Error(err)
	}
	if after := must(os.ReadDir(s.path("images"))); len(after) != len(before) {
		t.Errorf("it left %v", after)
	}
}

func TestLayersAreHeldToTheirBudget(t *testing.T) {
	directory := t.TempDir()
	small := writeLayer(t, directory, "a=1", "b=22")
	linked := writeLayer(t, directory, "a=333", "b==a", "c==a")
	long := writeLayer(t, directory, strings.Repeat("d/", maxName/2)+"e=1")
	for _, c := range []struct {
		what   string
		b      budget
		layers []string
		want   string
	}{
		{"fits exactly", budget{size: 3, names: 2, entries: 2}, []string{small}, ""},
		{"a hidden file takes no space", budget{size: 3, names: 4, entries: 4}, []string{small, small}, ""},
		{"a link has no content of its own", budget{size: 3, names: 5, entries: 3}, []string{linked}, ""},
		{"a link to a replaced file carries its content", budget{size: 4, names: 9, entries: 9}, []string{linked, writeLayer(t, directory, "a=7")}, ""},
		{"and pays for it", budget{size: 3, names: 9, entries: 9}, []string{linked, writeLayer(t, directory, "a=7")}, "b has 3B, which is too much"},
		{"content", budget{size: 2, names: 9, entries: 9}, []string{small}, "b has 2B, which is too much"},
		{"files of all layers", budget{size: 9, names: 9, entries: 3}, []string{small, small}, "layer 2: it has too many files"},
		{"names", budget{size: 9, names: 1, entries: 9}, []string{small}, "too many files"},
		{"one name", *plenty(), []string{long}, "more than 4096 bytes"},
	} {
		_, err := flatten(t.Context(), c.layers, io.Discard, &c.b)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

func TestACompressedLayerStopsAtItsBudget(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "zeros")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 8<<20); err != nil {
		t.Fatal(err)
	}
	layer := must(tarball.LayerFromFile(path))
	b := &budget{size: quantity.MiB, why: "the test"}
	out := filepath.Join(directory, "out")
	if err := spool(t.Context(), layer, out, b); !errors.Is(err, bounded.ErrTooLong) {
		t.Error(err)
	}
	if size := must(os.Stat(out)).Size(); size > 1<<20 {
		t.Errorf("%d bytes were written", size)
	}
	b = &budget{size: 8 * quantity.MiB, why: "the test"}
	if err := spool(t.Context(), layer, out+"2", b); err != nil {
		t.Error(err)
	}
}

func TestTheDescriptionOfAnImageIsReadOnlyIfItIsSmall(t *testing.T) {
	big := must(mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: platform.OS, Architecture: platform.Architecture,
		History: []v1.History{{Comment: strings.Repeat("x", int(maxDescription))}}}))
	directory := t.TempDir()
	docker := filepath.Join(directory, "docker.tar")
	if err := tarball.WriteToFile(docker, must(name.NewTag("a/b:1")), big); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	if err := out.WriteHeader(&tar.Header{Name: "manifest.json", Size: int64(maxDescription) + 1, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write(make([]byte, int(maxDescription)+1)); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(directory, "manifest.tar")
	if err := os.WriteFile(manifest, archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := must(layout.Write(filepath.Join(directory, "oci"), empty.Index)).AppendImage(big); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(directory, "index")
	if _, err := layout.Write(index, empty.Index); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(index, "index.json"), int64(maxDescription)+1); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(directory, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	host, _, _ := loopRegistry(t)
	if err := remote.Write(must(name.ParseReference(host+"/app:1")), big); err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{"tar:" + docker, "tar:" + manifest, "oci:" + filepath.Join(directory, "oci"), "oci:" + index, "tar:" + fifo, host + "/app:1"} {
		_, err := openStore(t).Get(t.Context(), Source{Reference: reference}, nil)
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: %v", reference, err)
		}
	}
}

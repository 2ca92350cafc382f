package image

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/image/origin"
	"tare/internal/testing/imagetest"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

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
	img, err := mutate.AppendLayers(empty.Image, imagetest.Must(tarball.LayerFromFile(layer)))
	if err != nil {
		t.Fatal(err)
	}
	config := imagetest.Must(img.ConfigFile()).DeepCopy()
	config.OS, config.Architecture = origin.Platform.OS, origin.Platform.Architecture
	file := filepath.Join(t.TempDir(), "saved.tar")
	if err := tarball.WriteToFile(file, imagetest.Must(name.NewTag("a/b:1")), imagetest.Must(mutate.ConfigFile(img, config))); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestALayerThatClaimsMoreThanTheDiskHasIsRefusedBeforeItIsWritten(t *testing.T) {
	s := openStore(t)
	if img, err := s.Get(t.Context(), Source{Reference: "tar:" + saved(t, sparse(t, 8<<20))}, nil); err != nil {
		t.Fatal(err)
	} else if size := imagetest.Must(os.Stat(img.Tar())).Size(); size < 8<<20 {
		t.Fatalf("a file with a hole has %d bytes in the image", size)
	}
	before := imagetest.Must(os.ReadDir(s.files.Path("images")))
	_, err := s.Get(t.Context(), Source{Reference: "tar:" + saved(t, sparse(t, 1<<40))}, nil)
	if err == nil || !strings.Contains(err.Error(), "hole has 1024GiB, which is too much: ") {
		t.Error(err)
	}
	if after := imagetest.Must(os.ReadDir(s.files.Path("images"))); len(after) != len(before) {
		t.Errorf("it left %v", after)
	}
}

// description is what the description of an image may have.
const description = 4 << 20

func TestTheDescriptionOfAnImageIsReadOnlyIfItIsSmall(t *testing.T) {
	big := imagetest.Must(mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: origin.Platform.OS, Architecture: origin.Platform.Architecture,
		History: []v1.History{{Comment: strings.Repeat("x", description)}}}))
	directory := t.TempDir()
	docker := filepath.Join(directory, "docker.tar")
	if err := tarball.WriteToFile(docker, imagetest.Must(name.NewTag("a/b:1")), big); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	if err := out.WriteHeader(&tar.Header{Name: "manifest.json", Size: int64(description) + 1, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write(make([]byte, description+1)); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(directory, "manifest.tar")
	if err := os.WriteFile(manifest, archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := imagetest.Must(layout.Write(filepath.Join(directory, "oci"), empty.Index)).AppendImage(big); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(directory, "index")
	if _, err := layout.Write(index, empty.Index); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(index, "index.json"), int64(description)+1); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(directory, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	host, _, _ := loopRegistry(t)
	if err := remote.Write(imagetest.Must(name.ParseReference(host+"/app:1")), big); err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{"tar:" + docker, "tar:" + manifest, "oci:" + filepath.Join(directory, "oci"), "oci:" + index, "tar:" + fifo, host + "/app:1"} {
		_, err := openStore(t).Get(t.Context(), Source{Reference: reference}, nil)
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: %v", reference, err)
		}
	}
}

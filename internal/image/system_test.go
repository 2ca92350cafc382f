package image

import (
	"path/filepath"
	"strings"
	"tare/internal/testing/imagetest"
	"tare/internal/testing/needs"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestAReferencedSystemHasToHaveWhatInstancesNeed(t *testing.T) {
	needs.Root(t)
	layer, err := tarball.LayerFromFile(imagetest.Layer(t, t.TempDir(), "usr/", "usr/sbin/", "usr/sbin/ip=elf", "usr/sbin/modprobe=elf",
		"usr/lib/", "usr/lib/os-release=NAME=\"Other\"\nPRETTY_NAME=\"Other Linux 4\"\n", "bin/", "bin/sh=elf", "bin/mount=elf"))
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(archive, name.MustParseReference("localhost/other"), imagetest.Must(mutate.AppendLayers(empty.Image, layer))); err != nil {
		t.Fatal(err)
	}
	s, system := openStore(t), System{Reference: "tar:" + archive, Kernel: kernelOfImage}
	img, err := s.Machine(t.Context(), system, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := img.SystemName(t.Context()); err != nil || got != "Other Linux 4" {
		t.Errorf("its name is %q, %v", got, err)
	}
	_, err = s.Machine(t.Context(), system, []string{"docker.io"}, []string{"dockerd", "runc"}, nil)
	if want := "lacks dockerd, runc, looked for in usr/local/sbin"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "iproute2 kmod docker.io") {
		t.Errorf("got %v, want %q", err, want)
	}
	choice, err := img.kernel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := choice.Find(t.Context(), s.files, nil); err == nil || !strings.Contains(err.Error(), "has 0 kernels") {
		t.Errorf("a kernel of an image without one: %v", err)
	}
}

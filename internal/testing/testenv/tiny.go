package testenv

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/image"
)

// Tiny is an image of a shell and a few programs, taken from the small image: a few
// megabytes, for tests that move an image through an emulated machine.
func Tiny(t testing.TB, programs ...string) *image.Image {
	t.Helper()
	small := Image(t)
	root, err := small.Directory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	output := func(argv ...string) string {
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatalf("%q: %v", argv, err)
		}
		return string(out)
	}
	var files []string
	for _, program := range append(programs, "sh") {
		files = append(files, "bin/"+program)
		for _, library := range library.FindAllString(output("chroot", root, "ldd", "/bin/"+program), -1) {
			files = append(files, strings.TrimPrefix(library, "/"))
		}
	}
	slices.Sort(files)
	layer, archive := filepath.Join(t.TempDir(), "layer.tar"), filepath.Join(t.TempDir(), "image.tar")
	// Links are followed, so that a file is where it was found.
	output(append([]string{"tar", "--create", "--dereference", "--hard-dereference", "--file", layer, "--directory", root}, slices.Compact(files)...)...)
	content, err := tarball.LayerFromFile(layer)
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: content})
	if err == nil {
		img, err = mutate.Config(img, v1.Config{Env: small.Env})
	}
	if err == nil {
		err = tarball.WriteToFile(archive, name.MustParseReference("localhost/tiny"), img)
	}
	if err != nil {
		t.Fatal(err)
	}
	tiny, err := small.Store().Get(t.Context(), image.Source{Reference: "tar:" + archive}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tiny
}

// library is the path of a library in the output of ldd.
var library = regexp.MustCompile(`/\S+\.so\S*`)

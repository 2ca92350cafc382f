// Command image writes an OCI image with tare as its entrypoint, as `docker save` does,
// without a container engine. `make image` calls it; deploy/kubernetes/job.yaml runs
// what it writes.
//
// The root file system is a recipe like those of workloads, so that a tare inside can
// make images of recipes itself where it has the rights for that (docker run
// --privileged). Load drivers are in the images that a study runs, and not here.
package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/image"
)

// recipe of the root file system: certificates of registries, and what makes images.
var recipe = image.Recipe{Packages: []string{"ca-certificates", "e2fsprogs", "mmdebstrap"}}

// program is where tare is in the image.
const program = "/usr/local/bin/tare"

func main() {
	from := flag.String("tare", "bin/tare", "the `program`")
	to := flag.String("out", "bin/tare-image.tar", "the `archive` to write")
	tag := flag.String("name", "localhost/tare-program:latest", "`name` of the image")
	store := flag.String("images", "build/test-images", "`directory` of the image store")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := write(ctx, *from, *to, *tag, *store); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, from, to, tag, directory string) error {
	reference, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("the name %q: %w", tag, err)
	}
	store, err := image.Open(directory)
	if err != nil {
		return err
	}
	root, err := store.Get(ctx, image.Source{Recipe: &recipe}, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		return err
	}
	img, err := assemble(root, from)
	if err != nil {
		return fmt.Errorf("putting %s into an image: %w", from, err)
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := errors.Join(tarball.Write(reference, img, out), out.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", to, errors.Join(err, os.Remove(to)))
	}
	digest, err := img.ConfigName()
	if err == nil {
		fmt.Printf("%s is in %s, %s\n", tag, to, digest)
	}
	return err
}

// assemble is the image with the program in a layer of its own. The same files give the
// same image.
func assemble(root *image.Image, file string) (v1.Image, error) {
	var own bytes.Buffer
	if err := pack(&own, file); err != nil {
		return nil, err
	}
	var layers []v1.Layer
	for _, open := range []tarball.Opener{
		func() (io.ReadCloser, error) { return os.Open(root.Tar()) },
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(own.Bytes())), nil },
	} {
		layer, err := tarball.LayerFromOpener(open, tarball.WithCompressedCaching)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Created: v1.Time{Time: time.Unix(0, 0).UTC()},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Env: root.Env, WorkingDir: "/", Entrypoint: []string{program}},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, layers...)
}

// pack writes a tar with the program where the image has it.
func pack(to io.Writer, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	t := tar.NewWriter(to)
	header := tar.Header{Typeflag: tar.TypeReg, Name: program[1:], Mode: 0o755, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
	if err := t.WriteHeader(&header); err != nil {
		return err
	}
	if _, err := t.Write(content); err != nil {
		return err
	}
	return t.Close()
}

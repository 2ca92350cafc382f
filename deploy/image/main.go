// Command image writes an OCI image with tare as its entrypoint, as `docker save` does,
// without a container engine. `make image` calls it; deploy/kubernetes/job.yaml runs
// what it writes.
//
// The root file system is a recipe like those of workloads, so that a tare inside can
// make images of recipes itself where it has the rights for that (docker run
// --privileged). It has the isolation layers that need no service and are small; gVisor's
// runsc is not among them, and load drivers are in the images that a study runs.
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
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/base/bounded"
	"tare/internal/image"
	"tare/internal/image/recipe"
)

// contents are the recipe of the root file system: certificates of registries, what makes images, and
// isolation layers.
var contents = recipe.Recipe{Packages: []string{"bubblewrap", "ca-certificates", "e2fsprogs", "iptables", "mmdebstrap", "openssh-client", "runc"}}

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
	root, err := store.Get(ctx, image.Source{Recipe: &contents}, func(line string) { fmt.Fprintln(os.Stderr, line) })
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
	sources, err := distributionSources(root.Tar())
	if err != nil {
		return nil, err
	}
	if err := pack(&own, file, sources); err != nil {
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

// example is the list of the distribution's package sources that its apt brings. A root
// file system of a recipe has no other: those of the machine that it was made on are not
// for others.
const example = "usr/share/doc/apt/examples/sources.list"

// distributionSources are the main package sources of the distribution of a root file
// system.
func distributionSources(archive string) ([]byte, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for in := tar.NewReader(file); ; {
		header, err := in.Next()
		if err != nil {
			return nil, fmt.Errorf("looking for %s, the package sources of the distribution: %w", example, err)
		}
		if strings.TrimPrefix(header.Name, "./") != example {
			continue
		}
		text, err := bounded.ReadAll(in, 1<<20)
		if err != nil {
			return nil, err
		}
		return mainSources(string(text)), nil
	}
}

// mainSources are the lines of an example that name binary packages, with the component
// main alone.
func mainSources(example string) []byte {
	var lines strings.Builder
	for line := range strings.Lines(example) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] == "deb" {
			fmt.Fprintf(&lines, "deb %s %s main\n", fields[1], fields[2])
		}
	}
	return []byte(lines.String())
}

// pack writes a tar with the program where the image has it, and the package sources.
func pack(to io.Writer, file string, sources []byte) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	t := tar.NewWriter(to)
	for _, f := range []struct {
		name    string
		mode    int64
		content []byte
	}{{"etc/apt/sources.list", 0o644, sources}, {program[1:], 0o755, content}} {
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: time.Unix(0, 0)}
		if err := t.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}

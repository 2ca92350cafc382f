package origin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"tare/internal/image/rootfs"
	"tare/internal/image/store"

	"tare/internal/base/bounded"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Origin is what a reference points to: a registry, a daemon or an archive.
type Origin interface {
	// Resolve returns the digest of what the reference points to now, without
	// fetching it, as its origin says.
	Resolve(ctx context.Context) (digest string, err error)
	// fetch returns the image of that digest; work is a directory for temporary files.
	fetch(ctx context.Context, work, digest string) (v1.Image, error)
}

// UnreachableError is the error of an origin that did not answer, so that
// nothing is known about the reference.
type UnreachableError struct {
	what  string
	cause error
	fix   string
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s does not answer: %v; %s", e.what, e.cause, e.fix)
}

func (e *UnreachableError) Unwrap() error { return e.cause }

// Platform selects the image if a reference has several.
var Platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// Check returns an error for a malformed reference, or one whose local files cannot be
// read. It asks no registry and no engine, and reads no layer.
func Check(reference string) error {
	from, err := Parse(reference)
	if err != nil {
		return err
	}
	switch from := from.(type) {
	case layoutOrigin:
		_, err = from.Resolve(context.Background())
	case tarOrigin:
		var file *os.File
		if file, err = bounded.Open(from.file); err == nil {
			err = file.Close()
		}
		err = bounded.Cause(err)
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", reference, err)
	}
	return nil
}

// InDaemon reports whether the Docker daemon has an image of this name.
func InDaemon(ctx context.Context, name string) bool {
	_, err := daemonOrigin{name}.Resolve(ctx)
	return err == nil
}

// Content is what an origin has: layers as files, the lowest first, and the configuration.
type Content struct {
	Layers []string
	Config Config
	Env    []string
	Dir    string
}

// Pull fetches the image of an origin, which has resolved to a digest, into a work
// directory. The content has that digest: an image whose files are not those that its
// configuration names would otherwise be taken for the genuine one ever after.
func Pull(ctx context.Context, from Origin, digest, work string, progress func(string)) (*Content, error) {
	progress("fetching")
	img, err := from.fetch(ctx, work, digest)
	if err != nil {
		return nil, err
	}
	config, err := configuration(from, img, digest)
	if err != nil {
		return nil, err
	}
	if config.OS != "" && config.OS != "linux" || config.Architecture != "" && config.Architecture != runtime.GOARCH {
		return nil, fmt.Errorf("it is for %s/%s, and this host is linux/%s: name an image for this host", config.OS, config.Architecture, runtime.GOARCH)
	}
	started, err := newConfig(config.Config)
	if err != nil {
		return nil, err
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, fmt.Errorf("its layers cannot be read: %w", err)
	}
	if len(layers) == 0 {
		return nil, fmt.Errorf("it has no layers, so it has no root file system")
	}
	if named := len(config.RootFS.DiffIDs); named != len(layers) {
		return nil, fmt.Errorf("it has %d layers, and its configuration names %d", len(layers), named)
	}
	b, err := rootfs.NewBudget(work)
	if err != nil {
		return nil, err
	}
	content := &Content{Config: *started, Env: config.Config.Env, Dir: config.Config.WorkingDir}
	for n, layer := range layers {
		progress(fmt.Sprintf("layer %d of %d", n+1, len(layers)))
		file := filepath.Join(work, fmt.Sprintf("layer-%03d.tar", n))
		if err := spool(ctx, layer, config.RootFS.DiffIDs[n], file, b); err != nil {
			return nil, fmt.Errorf("layer %d of %d: %w", n+1, len(layers), err)
		}
		content.Layers = append(content.Layers, file)
	}
	return content, nil
}

// configuration reads the configuration of an image once, so that what is used is what
// has the digest.
func configuration(from Origin, img v1.Image, digest string) (*v1.ConfigFile, error) {
	raw, err := img.RawConfigFile()
	var config *v1.ConfigFile
	if err == nil {
		config, err = v1.ParseConfigFile(bytes.NewReader(raw))
	}
	if err != nil {
		return nil, fmt.Errorf("its configuration cannot be read: %w", err)
	}
	switch from.(type) {
	case layoutOrigin, tarOrigin, ownOrigin: // see configDigest
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(raw)); got != digest {
			return nil, errors.New("it changed while it was read: try again")
		}
	}
	return config, nil
}

// spool writes a layer's tar to a file within the budget, and verifies it against the digest in the
// image's configuration. What the layer says of itself can be of its own making.
func spool(ctx context.Context, layer v1.Layer, want v1.Hash, path string, b *rootfs.Budget) error {
	in, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return store.Explain(err)
	}
	defer out.Close()
	hash, err := v1.Hasher(want.Algorithm)
	if err != nil {
		return err
	}
	if err := b.Copy(io.MultiWriter(out, hash), rootfs.Cancelable(ctx, in)); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want.Hex {
		return fmt.Errorf("it is damaged or another one: its digest is %s:%s, and the image's configuration says %s", want.Algorithm, got, want)
	}
	return store.Explain(out.Close())
}

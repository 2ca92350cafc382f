package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// repository of images in engines and on nodes. The domain keeps Podman from taking it
// for a name on some registry.
const repository = "localhost/tare"

// Label is on every image that tare loads into an engine; its value is the image's digest in
// tare's store.
const Label = "tare.image"

// EngineName is the image's name where tare loads it: in engines, on nodes of a cluster.
// Images of others can have the same files and differ in what programs inherit.
func (i *Image) EngineName() string {
	name := repository + ":" + hexOf(i.Digest)
	if i.FromRecipe() || len(i.Env) == 0 && i.Dir == "" {
		return name
	}
	sum := sha256.Sum256([]byte(strings.Join(append(slices.Clone(i.Env), i.Dir), "\x00")))
	return name + "-" + hex.EncodeToString(sum[:4])
}

// OCI returns the image with one layer, the root file system's tar.
func (i *Image) OCI(ctx context.Context) (v1.Image, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	layer, err := i.layer()
	if err != nil {
		return nil, fmt.Errorf("OCI form of image %s: %w", i.Name, err)
	}
	config := &v1.ConfigFile{
		OS:           "linux",
		Architecture: runtime.GOARCH,
		// No build time, so that the same content is the same image.
		Created: v1.Time{Time: time.Unix(0, 0).UTC()},
		Config:  v1.Config{Env: i.Env, WorkingDir: i.Dir},
		RootFS:  v1.RootFS{Type: "layers"},
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(base, config)
	if err == nil {
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: config.Created, CreatedBy: "tare"}})
	}
	if err != nil {
		return nil, fmt.Errorf("OCI form of image %s: %w", i.Name, err)
	}
	return img, nil
}

// rootLayer is the root file system's tar as an uncompressed layer.
type rootLayer struct {
	path string
	hash v1.Hash
	size int64
}

func (i *Image) layer() (*rootLayer, error) {
	hash, err := v1.NewHash(i.Digest)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(i.Tar())
	if err != nil {
		return nil, err
	}
	return &rootLayer{path: i.Tar(), hash: hash, size: info.Size()}, nil
}

func (l *rootLayer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l *rootLayer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l *rootLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l *rootLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l *rootLayer) Size() (int64, error)                 { return l.size, nil }
func (l *rootLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }

package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// dockerRepository is the name under which the Docker daemon gets images.
const dockerRepository = "tare/image"

// OCI is the image with one layer, the root file system's tar.
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
		// Nothing of the build's own time: the same bytes are the same image.
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

// DockerTar is the image as `docker load` takes it, and the tag that it gets
// there: tare/image:ID, where ID begins the digest of the image's
// configuration, which Docker calls the image's ID.
func (i *Image) DockerTar(ctx context.Context) (path string, tag string, err error) {
	img, err := i.OCI(ctx)
	if err != nil {
		return "", "", err
	}
	id, err := img.ConfigName()
	if err != nil {
		return "", "", fmt.Errorf("OCI form of image %s: %w", i.Name, err)
	}
	tag = dockerRepository + ":" + id.Hex[:12]
	path = i.path("docker-" + id.Hex[:12] + ".tar")
	err = i.store.once(ctx, "docker-"+id.Hex[:12], path, func(temporary string) error {
		file, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return explain(err)
		}
		defer file.Close()
		if err := i.writeDockerTar(ctx, file, img, id, tag); err != nil {
			return explain(err)
		}
		return explain(file.Close())
	})
	if err != nil {
		return "", "", fmt.Errorf("Docker form of image %s: %w", i.Name, err)
	}
	return path, tag, nil
}

// writeDockerTar writes the format of `docker save` with the layer as it is,
// not compressed: it goes to a daemon on the same machine.
func (i *Image) writeDockerTar(ctx context.Context, w io.Writer, img v1.Image, id v1.Hash, tag string) error {
	config, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	const layer = "layer.tar"
	manifest, err := json.Marshal([]map[string]any{{
		"Config": id.Hex + ".json", "RepoTags": []string{tag}, "Layers": []string{layer},
	}})
	if err != nil {
		return err
	}
	rootfs, err := os.Open(i.Tar())
	if err != nil {
		return err
	}
	defer rootfs.Close()
	info, err := rootfs.Stat()
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	put := func(name string, size int64, write func() error) error {
		err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)})
		if err != nil {
			return err
		}
		return write()
	}
	bytes := func(b []byte) func() error {
		return func() error { _, err := out.Write(b); return err }
	}
	if err := put(id.Hex+".json", int64(len(config)), bytes(config)); err != nil {
		return err
	}
	err = put(layer, info.Size(), func() error {
		_, err := io.Copy(out, contextReader{ctx, rootfs})
		return err
	})
	if err != nil {
		return err
	}
	if err := put("manifest.json", int64(len(manifest)), bytes(manifest)); err != nil {
		return err
	}
	return out.Close()
}

// rootLayer is the root file system's tar as a layer, not compressed.
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

// contextReader stops a long copy when it is called off.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

package origin

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/agent/executable"
)

// Own is the reference of the image that tare has in itself, so that nothing is fetched or
// built: the agent's program, which is also its command "true", and empty directories.
const Own = "tare:agent"

type ownOrigin struct{}

func (o ownOrigin) Resolve(ctx context.Context) (string, error) {
	img, err := o.fetch(ctx, "", "")
	if err != nil {
		return "", err
	}
	return configDigest(img)
}

func (ownOrigin) fetch(context.Context, string, string) (v1.Image, error) {
	agent, err := executable.Contents()
	if err != nil {
		return nil, err
	}
	root, err := ownRoot(agent)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(root)), nil })
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, own(img))
}

// own is the configuration of the image with its layer.
func own(img v1.Image) *v1.ConfigFile {
	config := &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: v1.Config{Env: []string{"PATH=/bin"}, WorkingDir: "/"}}
	if of, err := img.ConfigFile(); err == nil {
		config.RootFS = of.RootFS
	}
	return config
}

// ownRoot is the root file system as a tar: what an instance mounts something on, accounts,
// and the program.
func ownRoot(agent []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h tar.Header, content []byte) (err error) {
		h.Size, h.Format = int64(len(content)), tar.FormatPAX
		if err = w.WriteHeader(&h); err == nil {
			_, err = w.Write(content)
		}
		return err
	}
	for _, name := range []string{"bin", "data", "dev", "etc", "proc", "root", "run", "sys", "tmp", "var"} {
		mode := int64(0o755)
		if name == "tmp" {
			mode = 0o1777
		}
		if err := add(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}, nil); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		name    string
		mode    int64
		content []byte
	}{
		{"bin/tare-agent", 0o755, agent},
		{"etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n")},
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/true\nnobody:x:65534:65534:nobody:/:/bin/true\n")},
	} {
		if err := add(tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode}, f.content); err != nil {
			return nil, err
		}
	}
	if err := add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/true", Linkname: "tare-agent", Mode: 0o777}, nil); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/client"
)

// parseReference distinguishes the four kinds of references.
func parseReference(reference string) (origin, error) {
	kind, rest, _ := strings.Cut(reference, ":")
	switch kind {
	case "docker-daemon":
		if rest == "" {
			return nil, fmt.Errorf("image %q: docker-daemon: needs a name, as docker images prints it", reference)
		}
		return daemonOrigin{rest}, nil
	case "oci":
		if rest == "" {
			return nil, fmt.Errorf("image %q: oci: needs a directory", reference)
		}
		return layoutReference(rest), nil
	case "tar":
		if rest == "" {
			return nil, fmt.Errorf("image %q: tar: needs a file", reference)
		}
		return tarOrigin{rest}, nil
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, fmt.Errorf("image %q is not a reference (%w): use NAME[:TAG], REGISTRY/NAME[:TAG], docker-daemon:NAME, oci:DIRECTORY[:TAG] or tar:FILE", reference, err)
	}
	return registryOrigin{ref}, nil
}

// registryOrigin is an image in a registry, with the credentials of `docker
// login`.
type registryOrigin struct{ ref name.Reference }

func (o registryOrigin) options(ctx context.Context) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithPlatform(platform),
		remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("tare"),
	}
}

func (o registryOrigin) resolve(ctx context.Context) (string, error) {
	if digest, ok := o.ref.(name.Digest); ok {
		return digest.DigestStr(), nil
	}
	descriptor, err := remote.Head(o.ref, o.options(ctx)...)
	if err == nil {
		return descriptor.Digest.String(), nil
	}
	// Some registries do not support HEAD, and a HEAD response has no error
	// message.
	full, err := remote.Get(o.ref, o.options(ctx)...)
	if err != nil {
		return "", o.explain(err)
	}
	return full.Digest.String(), nil
}

func (o registryOrigin) fetch(ctx context.Context, _ string) (v1.Image, error) {
	img, err := remote.Image(o.ref, o.options(ctx)...)
	if err != nil {
		return nil, o.explain(err)
	}
	return img, nil
}

func (o registryOrigin) explain(err error) error {
	registry := o.ref.Context().RegistryStr()
	var answer *transport.Error
	if !errors.As(err, &answer) {
		if strings.Contains(err.Error(), "no child with platform") {
			return fmt.Errorf("registry %s has it, but not for %s", registry, platform)
		}
		return &unreachableError{"registry " + registry, err, "check the network and the name"}
	}
	switch answer.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("registry %s has no %s: check the spelling of name and tag", registry, o.ref.Name())
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("registry %s refuses %s: it does not exist, or needs a login (docker login %s): %w", registry, o.ref.Name(), registry, err)
	case http.StatusTooManyRequests:
		return &unreachableError{"registry " + registry, err, "it limits how much is pulled: log in (docker login), or wait"}
	}
	if answer.StatusCode >= 500 {
		return &unreachableError{"registry " + registry, err, "try again later"}
	}
	return fmt.Errorf("registry %s: %w", registry, err)
}

// daemonOrigin is an image in the Docker daemon of DOCKER_HOST.
type daemonOrigin struct{ name string }

func (o daemonOrigin) with(do func(*client.Client) error) error {
	engine, err := client.New(client.FromEnv)
	if err != nil {
		return fmt.Errorf("Docker daemon: %w: see DOCKER_HOST", err)
	}
	defer engine.Close()
	err = do(engine)
	var dial *net.OpError
	switch {
	case errdefs.IsNotFound(err):
		return fmt.Errorf("the Docker daemon has no image %s: see docker images, or docker pull it", o.name)
	case client.IsErrConnectionFailed(err):
		if errors.As(err, &dial) { // without the advice of the client, which is in the fix
			err = dial
		}
		return &unreachableError{"the Docker daemon", err, "start it (systemctl start docker), or see DOCKER_HOST"}
	}
	return err
}

func (o daemonOrigin) resolve(ctx context.Context) (id string, err error) {
	err = o.with(func(engine *client.Client) error {
		found, err := engine.ImageInspect(ctx, o.name)
		id = found.ID
		return err
	})
	return id, err
}

func (o daemonOrigin) fetch(ctx context.Context, work string) (v1.Image, error) {
	saved := filepath.Join(work, "saved.tar")
	err := o.with(func(engine *client.Client) error {
		in, err := engine.ImageSave(ctx, []string{o.name})
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.OpenFile(saved, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return explain(err)
		}
		defer out.Close()
		if _, err := io.Copy(out, in); err != nil {
			return fmt.Errorf("docker save: %w", explain(err))
		}
		return explain(out.Close())
	})
	if err != nil {
		return nil, err
	}
	return tarOrigin{saved}.fetch(ctx, work)
}

// layoutOrigin is an image in an OCI layout directory.
type layoutOrigin struct{ dir, tag string }

// layoutReference takes what follows the last colon as the tag, unless the colon
// belongs to the directory's name.
func layoutReference(rest string) layoutOrigin {
	if colon := strings.LastIndex(rest, ":"); colon > 0 && !strings.Contains(rest[colon:], "/") && !exists(rest) {
		return layoutOrigin{rest[:colon], rest[colon+1:]}
	}
	return layoutOrigin{dir: rest}
}

func (o layoutOrigin) resolve(ctx context.Context) (string, error) {
	img, err := o.fetch(ctx, "")
	if err != nil {
		return "", err
	}
	return configDigest(img)
}

func (o layoutOrigin) fetch(context.Context, string) (v1.Image, error) {
	path, err := layout.FromPath(o.dir)
	if err != nil {
		return nil, fmt.Errorf("no OCI layout in directory %s: %w", o.dir, err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		return nil, fmt.Errorf("OCI layout %s: %w", o.dir, err)
	}
	return pickImage(index, o.tag, "OCI layout "+o.dir)
}

// pickImage finds the image of a tag and of this host's platform in an index.
func pickImage(index v1.ImageIndex, tag, where string) (v1.Image, error) {
	const tagName = "org.opencontainers.image.ref.name"
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	var tags []string
	var fitting []v1.Descriptor
	for _, d := range manifest.Manifests {
		name := d.Annotations[tagName]
		if name != "" {
			tags = append(tags, name)
		}
		wrongTag := tag != "" && name != tag && !strings.HasSuffix(name, ":"+tag)
		if wrongTag || d.Platform != nil && !d.Platform.Satisfies(platform) {
			continue
		}
		fitting = append(fitting, d)
	}
	switch {
	case len(fitting) == 0 && tag != "":
		return nil, fmt.Errorf("%s has no image %s for %s; it has %s", where, tag, platform, orNothing(tags))
	case len(fitting) == 0:
		return nil, fmt.Errorf("%s has no image for %s", where, platform)
	case len(fitting) > 1:
		return nil, fmt.Errorf("%s has %d images: name one by its tag; it has %s", where, len(fitting), orNothing(tags))
	}
	if fitting[0].MediaType.IsIndex() {
		inner, err := index.ImageIndex(fitting[0].Digest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		return pickImage(inner, "", where)
	}
	img, err := index.Image(fitting[0].Digest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return img, nil
}

func orNothing(tags []string) string {
	if len(tags) == 0 {
		return "no tags"
	}
	return strings.Join(tags, ", ")
}

// tarOrigin is an archive of `docker save`, or an OCI layout in a tar.
type tarOrigin struct{ file string }

func (o tarOrigin) resolve(ctx context.Context) (string, error) {
	// Of an OCI archive only the image's metadata is read.
	work, err := os.MkdirTemp("", "tare-archive-")
	if err != nil {
		return "", explain(err)
	}
	defer os.RemoveAll(work)
	const description = 4 << 20
	img, err := o.open(work, description)
	if err != nil {
		return "", err
	}
	return configDigest(img)
}

func (o tarOrigin) fetch(_ context.Context, work string) (v1.Image, error) {
	return o.open(work, math.MaxInt64)
}

// open returns the image. Files of an OCI archive that are larger than the limit
// are left out.
func (o tarOrigin) open(work string, limit int64) (v1.Image, error) {
	kind, err := o.kind()
	if err != nil {
		return nil, err
	}
	if kind == "manifest.json" {
		img, err := tarball.ImageFromPath(o.file, nil)
		if err != nil {
			return nil, fmt.Errorf("%s as docker save writes it: %w", o.file, err)
		}
		return img, nil
	}
	dir := filepath.Join(work, "layout")
	if err := unpackLayout(o.file, dir, limit); err != nil {
		return nil, fmt.Errorf("OCI archive %s: %w", o.file, err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("OCI archive %s: %w", o.file, err)
	}
	return pickImage(index, "", "OCI archive "+o.file)
}

// kind returns the name of the entry that identifies the type of the archive.
func (o tarOrigin) kind() (string, error) {
	kind := ""
	err := eachEntry(o.file, func(_ int, header *tar.Header, _ io.Reader) error {
		switch entryName(header.Name) {
		case "manifest.json":
			kind = "manifest.json" // newer engines write both: this one is simpler
		case "index.json":
			if kind == "" {
				kind = "index.json"
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("image archive: %w", err)
	}
	if kind == "" {
		return "", fmt.Errorf("%s is not an image archive: it has neither manifest.json (docker save) nor index.json (OCI)", o.file)
	}
	return kind, nil
}

// unpackLayout extracts the regular files of an OCI archive.
func unpackLayout(archive, dir string, limit int64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return explain(err)
	}
	root, err := os.OpenRoot(dir) // whatever the names say, nothing gets out
	if err != nil {
		return err
	}
	defer root.Close()
	return eachEntry(archive, func(_ int, header *tar.Header, content io.Reader) error {
		name := entryName(header.Name)
		if header.Typeflag == tar.TypeDir {
			return root.MkdirAll(name, 0o755)
		}
		if header.Typeflag != tar.TypeReg || header.Size > limit {
			return nil
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return explain(err)
		}
		out, err := root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return explain(err)
		}
		defer out.Close()
		if _, err := io.Copy(out, content); err != nil {
			return explain(err)
		}
		return out.Close()
	})
}

// configDigest identifies an image by its configuration, which has the digests
// of all uncompressed layers: it is the same however the image is packed.
func configDigest(img v1.Image) (string, error) {
	digest, err := img.ConfigName()
	if err != nil {
		return "", fmt.Errorf("its configuration cannot be read: %w", err)
	}
	return digest.String(), nil
}

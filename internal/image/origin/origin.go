// Package origin fetches an image from where a reference points to: a registry, a Docker
// daemon, an OCI layout or an archive.
//
// It must not know where the image is kept.
package origin

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/image/rootfs"
	"tare/internal/image/store"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"tare/internal/base/bounded"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/client"
)

// Parse distinguishes the kinds of references.
func Parse(reference string) (Origin, error) {
	if reference == Own {
		return ownOrigin{}, nil
	}
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
		return nil, fmt.Errorf("image %q is not a reference: use NAME[:TAG], REGISTRY/NAME[:TAG], docker-daemon:NAME, oci:DIRECTORY[:TAG] or tar:FILE", reference)
	}
	return registryOrigin{ref}, nil
}

// registryOrigin is an image in a registry, with the credentials of `docker
// login`.
type registryOrigin struct{ ref name.Reference }

func (o registryOrigin) options(ctx context.Context) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithPlatform(Platform),
		remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("tare"),
	}
}

func (o registryOrigin) Resolve(ctx context.Context) (string, error) {
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

// fetch asks by digest, which the library holds against the bytes of the manifest, and
// those of the configuration and the layers against the manifest.
func (o registryOrigin) fetch(ctx context.Context, _, digest string) (v1.Image, error) {
	ref := o.ref
	if digest != "" {
		ref = ref.Context().Digest(digest)
	}
	img, err := remote.Image(ref, o.options(ctx)...)
	if err != nil {
		return nil, o.explain(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, o.explain(err)
	}
	return img, described("its configuration", manifest.Config.Size)
}

func (o registryOrigin) explain(err error) error {
	registry := o.ref.Context().RegistryStr()
	var answer *transport.Error
	if !errors.As(err, &answer) {
		if strings.Contains(err.Error(), "no child with platform") {
			return fmt.Errorf("registry %s has it, but not for %s", registry, Platform)
		}
		return &UnreachableError{"registry " + registry, silence{err}, "check the network and the name"}
	}
	switch answer.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("registry %s has no %s: check the spelling of name and tag", registry, o.ref.Name())
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("registry %s refuses %s: it does not exist, or needs a login (docker login %s): %w", registry, o.ref.Name(), registry, err)
	case http.StatusTooManyRequests:
		return &UnreachableError{"registry " + registry, err, "it limits how much is pulled: log in (docker login), or wait"}
	}
	if answer.StatusCode >= 500 {
		return &UnreachableError{"registry " + registry, err, "try again later"}
	}
	return fmt.Errorf("registry %s: %w", registry, err)
}

// silence is the error of a request that was not answered. Its text is the last cause,
// without the requests and addresses that were tried.
type silence struct{ error }

func (s silence) Error() string {
	var unknown *net.DNSError
	var call *os.SyscallError
	var dial *net.OpError
	var request *url.Error
	switch {
	case errors.As(s.error, &unknown):
		return unknown.Err
	case errors.As(s.error, &call):
		return call.Err.Error()
	case errors.As(s.error, &dial):
		return dial.Err.Error()
	case errors.As(s.error, &request):
		return request.Err.Error()
	}
	return s.error.Error()
}

func (s silence) Unwrap() error { return s.error }

// daemonOrigin is an image in the Docker daemon of DOCKER_HOST.
type daemonOrigin struct{ name string }

// EngineTimeout is how long a container engine may take for a request that it can answer
// soon. It is long, since many containers may be started at once on a busy machine.
const EngineTimeout = 2 * time.Minute

// with gives each request a time; 0 is none.
func (o daemonOrigin) with(timeout time.Duration, do func(*client.Client) error) error {
	engine, err := client.New(client.FromEnv, client.WithTimeout(timeout), client.WithResponseHook(bounded.Body))
	if err != nil {
		return fmt.Errorf("Docker daemon: %w: see DOCKER_HOST", err)
	}
	defer engine.Close()
	err = do(engine)
	var dial *net.OpError
	switch {
	case errdefs.IsNotFound(err):
		return fmt.Errorf("the Docker daemon has no image %s: see docker images, or docker pull it", o.name)
	case errors.Is(err, context.DeadlineExceeded):
		return &UnreachableError{"the Docker daemon", fmt.Errorf("no answer within %s", timeout), "look at its log, and restart it"}
	case client.IsErrConnectionFailed(err):
		if errors.As(err, &dial) { // without the advice of the client, which is in the fix
			err = dial
		}
		return &UnreachableError{"the Docker daemon", err, "start it (systemctl start docker), or see DOCKER_HOST"}
	}
	return err
}

// Resolve returns the ID with the daemon that says so: what a daemon saves need not have
// the bytes that its ID is the digest of, so the ID is worth nothing elsewhere.
func (o daemonOrigin) Resolve(ctx context.Context) (id string, err error) {
	err = o.with(EngineTimeout, func(engine *client.Client) error {
		found, err := engine.ImageInspect(ctx, o.name)
		id = "docker-daemon " + engine.DaemonHost() + " " + found.ID
		return err
	})
	return id, err
}

func (o daemonOrigin) fetch(ctx context.Context, work, _ string) (v1.Image, error) {
	saved := filepath.Join(work, "saved.tar")
	err := o.with(0, func(engine *client.Client) error {
		in, err := engine.ImageSave(ctx, []string{o.name})
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.OpenFile(saved, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return store.Explain(err)
		}
		defer out.Close()
		b, err := rootfs.NewBudget(work)
		if err != nil {
			return err
		}
		if err := b.Copy(out, rootfs.Cancelable(ctx, in)); err != nil {
			return fmt.Errorf("docker save: %w", err)
		}
		return store.Explain(out.Close())
	})
	if err != nil {
		return nil, err
	}
	return tarOrigin{saved}.open(ctx, work, false)
}

// tarOrigin is an archive of `docker save`, or an OCI layout in a tar.
type tarOrigin struct{ file string }

func (o tarOrigin) Resolve(ctx context.Context) (string, error) {
	// Of an OCI archive only the image's metadata is read.
	work, err := bounded.Temporary("tare-archive-")
	if err != nil {
		return "", store.Explain(err)
	}
	defer os.RemoveAll(work)
	img, err := o.open(ctx, work, true)
	if err != nil {
		return "", err
	}
	return configDigest(img)
}

func (o tarOrigin) fetch(ctx context.Context, work, _ string) (v1.Image, error) {
	return o.open(ctx, work, false)
}

// open returns the image. Of an OCI archive, only files that can be part of its
// description are unpacked if that is all that is asked for.
func (o tarOrigin) open(ctx context.Context, work string, description bool) (v1.Image, error) {
	docker, err := o.check(ctx)
	if err != nil {
		return nil, err
	}
	if docker {
		img, err := tarball.ImageFromPath(o.file, nil)
		if err != nil {
			return nil, fmt.Errorf("%s as docker save writes it: %w", o.file, err)
		}
		return img, nil
	}
	dir := filepath.Join(work, "layout")
	if err := unpackLayout(ctx, o.file, dir, description); err != nil {
		return nil, fmt.Errorf("OCI archive %s: %w", o.file, err)
	}
	path, err := layout.FromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("OCI archive %s: %w", o.file, err)
	}
	return openLayout(ctx, path, "", "OCI archive "+o.file, description)
}

// check returns whether the archive is one of `docker save`, and not an OCI layout;
// newer engines write both, and the former is simpler. It checks the sizes of what the
// former's reader reads as a whole.
func (o tarOrigin) check(ctx context.Context) (docker bool, err error) {
	b, err := rootfs.NewBudget(filepath.Dir(o.file))
	if err != nil {
		return false, err
	}
	sizes := map[string]int64{} // of regular files
	err = rootfs.Each(ctx, o.file, func(_ int, header *tar.Header, _ io.Reader) error {
		name, size := rootfs.EntryName(header.Name), header.Size
		if header.Typeflag != tar.TypeReg {
			size = math.MaxInt64
		}
		sizes[name] = max(sizes[name], size)
		return b.Entry(header)
	})
	if err != nil {
		return false, bounded.Cause(err)
	}
	if size, docker := sizes["manifest.json"]; docker {
		err := described("manifest.json", size)
		if err == nil {
			err = o.checkConfigs(sizes)
		}
		return true, err
	}
	if _, oci := sizes["index.json"]; !oci {
		return false, fmt.Errorf("%s is not an image archive: it has neither manifest.json (docker save) nor index.json (OCI)", o.file)
	}
	return false, nil
}

func (o tarOrigin) checkConfigs(sizes map[string]int64) error {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return bounded.Open(o.file) })
	if err != nil {
		return fmt.Errorf("%s as docker save writes it: manifest.json: %w", o.file, err)
	}
	for _, d := range manifest {
		if err := described(d.Config, sizes[rootfs.EntryName(d.Config)]); err != nil {
			return err
		}
	}
	return nil
}

// unpackLayout extracts the regular files of an OCI archive.
func unpackLayout(ctx context.Context, archive, dir string, description bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return store.Explain(err)
	}
	root, err := os.OpenRoot(dir) // whatever the names say, nothing gets out
	if err != nil {
		return err
	}
	defer root.Close()
	b, err := rootfs.NewBudget(dir)
	if err != nil {
		return err
	}
	if description {
		b.Limit(maxDescribed)
	}
	return rootfs.Each(ctx, archive, func(_ int, header *tar.Header, content io.Reader) error {
		name := rootfs.EntryName(header.Name)
		if header.Typeflag == tar.TypeDir {
			return root.MkdirAll(name, 0o755)
		}
		if header.Typeflag != tar.TypeReg || description && header.Size > int64(maxDescription) {
			return nil
		}
		if err := b.File(name, header.Size); err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return store.Explain(err)
		}
		out, err := root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return store.Explain(err)
		}
		defer out.Close()
		if _, err := io.Copy(out, rootfs.Cancelable(ctx, content)); err != nil {
			return store.Explain(err)
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

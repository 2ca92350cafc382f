package origin

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/image/rootfs"
	"tare/internal/image/store"
)

// layoutOrigin is an image in an OCI layout directory.
type layoutOrigin struct{ dir, tag string }

// layoutReference takes what follows the last colon as the tag, unless the colon
// belongs to the directory's name.
func layoutReference(rest string) layoutOrigin {
	if colon := strings.LastIndex(rest, ":"); colon > 0 && !strings.Contains(rest[colon:], "/") && !store.Exists(rest) {
		return layoutOrigin{rest[:colon], rest[colon+1:]}
	}
	return layoutOrigin{dir: rest}
}

func (o layoutOrigin) Resolve(ctx context.Context) (string, error) {
	img, err := o.open(ctx, "", true)
	if err != nil {
		return "", err
	}
	return configDigest(img)
}

func (o layoutOrigin) fetch(ctx context.Context, work, _ string) (v1.Image, error) {
	return o.open(ctx, work, false)
}

func (o layoutOrigin) open(ctx context.Context, _ string, description bool) (v1.Image, error) {
	path, err := layout.FromPath(o.dir)
	if err != nil {
		return nil, fmt.Errorf("%s is not an OCI layout: %w", o.dir, bounded.Cause(err))
	}
	return openLayout(ctx, path, o.tag, "OCI layout "+o.dir, description)
}

// mostIndexes is how many indexes can lead to an image: one of several platforms has two.
const mostIndexes = 4

// openLayout returns the image of a tag in an OCI layout. What it reads has its digest;
// the layers are compared with theirs unless only a description is asked for.
func openLayout(ctx context.Context, path layout.Path, tag, where string, description bool) (v1.Image, error) {
	failed := func(err error) (v1.Image, error) { return nil, fmt.Errorf("%s: %w", where, err) }
	if err := small(filepath.Join(string(path), "index.json")); err != nil {
		return failed(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		return failed(err)
	}
	for range mostIndexes {
		found, err := pickImage(index, tag, where)
		if err != nil {
			return nil, err
		}
		if err := intact(ctx, path, found.Digest, true); err != nil {
			return failed(err)
		}
		if !found.MediaType.IsIndex() {
			img, err := index.Image(found.Digest)
			if err == nil {
				err = checkParts(ctx, path, img, description)
			}
			if err != nil {
				return failed(err)
			}
			return img, nil
		}
		if index, err = index.ImageIndex(found.Digest); err != nil {
			return failed(err)
		}
		tag = ""
	}
	return failed(fmt.Errorf("more than %d indexes lead to the image", mostIndexes))
}

// checkParts compares the configuration and the layers with their digests.
func checkParts(ctx context.Context, path layout.Path, img v1.Image, description bool) error {
	parts, err := img.Manifest()
	if err != nil {
		return err
	}
	if err := intact(ctx, path, parts.Config.Digest, true); err != nil || description {
		return err
	}
	for _, layer := range parts.Layers {
		if err := intact(ctx, path, layer.Digest, false); err != nil {
			return err
		}
	}
	return nil
}

// intact compares a blob with its digest, and its size with the limit of what is read as
// a whole.
func intact(ctx context.Context, path layout.Path, digest v1.Hash, whole bool) error {
	name := filepath.Join(string(path), "blobs", digest.Algorithm, digest.Hex)
	if whole {
		if err := small(name); err != nil {
			return err
		}
	}
	file, err := bounded.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	sum, err := v1.Hasher(digest.Algorithm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(sum, rootfs.Cancelable(ctx, file)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest.Hex {
		return fmt.Errorf("its blob %s is damaged: its %s is %s", digest, digest.Algorithm, got)
	}
	return nil
}

// pickImage finds what an index has of a tag and of this host's platform.
func pickImage(index v1.ImageIndex, tag, where string) (*v1.Descriptor, error) {
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
		if wrongTag || d.Platform != nil && !d.Platform.Satisfies(Platform) {
			continue
		}
		fitting = append(fitting, d)
	}
	switch {
	case len(fitting) == 0 && tag != "":
		return nil, fmt.Errorf("%s has no image %s for %s; it has %s", where, tag, Platform, orNothing(tags))
	case len(fitting) == 0:
		return nil, fmt.Errorf("%s has no image for %s", where, Platform)
	case len(fitting) > 1:
		return nil, fmt.Errorf("%s has %d images: name one by its tag; it has %s", where, len(fitting), orNothing(tags))
	}
	return &fitting[0], nil
}

func orNothing(tags []string) string {
	if len(tags) == 0 {
		return "no tags"
	}
	return strings.Join(tags, ", ")
}

// small checks the size of a file that is read as a whole.
func small(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	size := info.Size()
	if !info.Mode().IsRegular() {
		size = math.MaxInt64
	}
	return described(filepath.Base(path), size)
}

// described checks the size of a part of an image's description.
func described(name string, size int64) error {
	if quantity.Bytes(size) > maxDescription {
		return fmt.Errorf("%s is not a regular file of at most %s", name, maxDescription)
	}
	return nil
}

// Sizes of what is read to learn what an image is; docs/images.md has them.
const (
	maxDescription = 4 * quantity.MiB
	maxDescribed   = quantity.GiB // of an archive, to find its description
)

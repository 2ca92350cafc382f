package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/base/crash"
	"tare/internal/image"
)

// Prepare implements oci.Manager: it imports the image and unpacks it into the snapshotter.
func (m *manager) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	c, err := dial(ctx, m.options.Address)
	if err != nil {
		return err
	}
	return errors.Join(m.load(ctx, c, img, progress), c.Close())
}

func (m *manager) load(ctx context.Context, c *client.Client, img *image.Image, progress func(string)) error {
	tag := img.EngineName()
	loaded, err := c.GetImage(ctx, tag)
	if absent(err) != nil {
		return m.explain("finding the image "+tag, err)
	}
	if err != nil {
		progress(fmt.Sprintf("loading %s into containerd", img.Name))
		if err := m.importImage(ctx, c, img, tag); err != nil {
			return m.explain("loading the image "+img.Name, err)
		}
		if loaded, err = c.GetImage(ctx, tag); err != nil {
			return m.explain("finding the loaded image "+tag, err)
		}
	}
	unpacked, err := loaded.IsUnpacked(ctx, snapshotter)
	if err == nil && !unpacked {
		err = loaded.Unpack(ctx, snapshotter)
	}
	return m.explain("unpacking the image "+img.Name, err)
}

func (m *manager) importImage(ctx context.Context, c *client.Client, img *image.Image, tag string) error {
	source, err := img.OCI(ctx)
	if err != nil {
		return err
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	archive, into := io.Pipe()
	crash.Go(func() { into.CloseWithError(tarball.Write(ref, source, into)) })
	defer archive.Close()
	_, err = c.Import(ctx, archive, client.WithImageLabels(map[string]string{image.Label: img.Digest}))
	return err
}

// forget removes the images that tare loaded, except those that are kept, and the namespace
// when nothing is left in it.
func forget(ctx context.Context, keep func(digest string) bool) (removed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	m := &manager{options: Options{Address: Address()}}
	c, err := dial(ctx, m.options.Address)
	if err != nil {
		return nil, nil // one that does not answer holds nothing that could be removed
	}
	defer c.Close()
	list, err := c.ListImages(ctx)
	if err != nil {
		return nil, m.explain("listing the images that tare loaded", err)
	}
	var problems []error
	for _, found := range list {
		digest := found.Labels()[image.Label]
		if digest == "" || keep(digest) {
			continue
		}
		if err := c.ImageService().Delete(ctx, found.Name(), images.SynchronousDelete()); absent(err) != nil {
			problems = append(problems, m.explain("removing the image "+found.Name(), err))
			continue
		}
		removed = append(removed, "image "+digest+" in containerd")
	}
	_ = c.NamespaceService().Delete(ctx, namespace) // refused while something is in it
	return removed, errors.Join(problems...)
}

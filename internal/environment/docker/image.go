package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/client"

	"tare/internal/base/bounded"
	"tare/internal/base/crash"
	"tare/internal/image"
)

// load puts the image into the engine unless it is there.
func (e *engine) load(ctx context.Context, img *image.Image, progress func(string)) error {
	tag := img.EngineName()
	_, err := e.api.ImageInspect(ctx, tag)
	if err == nil {
		return nil
	}
	if !notFound(err) {
		return e.explain("inspecting image "+tag, err)
	}
	progress(fmt.Sprintf("loading %s into the %s", img.Name, e.name))
	oci, err := img.OCI(ctx)
	if err != nil {
		return err
	}
	config, err := oci.ConfigFile()
	if err != nil {
		return fmt.Errorf("reading the configuration of %s: %w", img.Name, err)
	}
	labelled := config.Config.DeepCopy()
	if labelled.Labels == nil {
		labelled.Labels = map[string]string{}
	}
	labelled.Labels[image.Label] = img.Digest
	if oci, err = mutate.Config(oci, *labelled); err != nil {
		return fmt.Errorf("labelling %s: %w", img.Name, err)
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("naming %s: %w", img.Name, err)
	}
	archive, into := io.Pipe()
	crash.Go(func() { into.CloseWithError(tarball.Write(ref, oci, into)) })
	defer archive.Close()
	patient, err := e.brand.client(e.host, 0)
	if err != nil {
		return err
	}
	defer patient.Close()
	answer, err := patient.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return e.explain("loading image "+img.Name, err)
	}
	response, err := bounded.ReadAll(answer, bounded.Answer)
	answer.Close()
	if err != nil {
		return e.explain("loading image "+img.Name, err)
	}
	// An engine reports what went wrong in the body of a success.
	if _, err := e.api.ImageInspect(ctx, tag); err != nil {
		return e.explain(fmt.Sprintf("loading image %s (response %q)", img.Name, strings.TrimSpace(string(response))), err)
	}
	return nil
}

// RemoveImages removes from the engine at host the images that tare loaded,
// except those whose digest keep reports true for, and returns a line for each.
// An engine that does not answer has none.
func RemoveImages(ctx context.Context, host string, keep func(digest string) bool) ([]string, error) {
	e, err := brand{name: "container engine", start: theDocker.start}.at(host)
	if err != nil || e.unreachable(ctx) != nil {
		return nil, err
	}
	defer e.api.Close()
	list, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("label", image.Label)})
	if err != nil {
		return nil, e.explain("listing the images that tare loaded", err)
	}
	var removed []string
	var problems []error
	for _, found := range list.Items {
		digest := found.Labels[image.Label]
		if digest == "" || keep(digest) {
			continue
		}
		if _, err := e.api.ImageRemove(ctx, found.ID, client.ImageRemoveOptions{Force: true, PruneChildren: true}); err != nil && !notFound(err) {
			problems = append(problems, e.explain("removing image "+found.ID, err))
			continue
		}
		removed = append(removed, "image "+digest+" in "+host)
	}
	return removed, errors.Join(problems...)
}

package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Store keeps images and their forms in a folder, by digest. Several processes
// may use one at the same time.
//
//	images/HEX/         one image: image.json, rootfs.tar, and the forms made so far
//	recipes/KEY.json    which image a recipe became
//	references/KEY.json which image a reference became
//	fetched/KEY.tar     a pinned thing that a recipe fetches
//	kernels/NAME/       a kernel, taken out of its packages
//	guests/NAME         an initramfs around one agent and one kernel's modules
//	machines/NAME       what a machine keeps besides its image
//	locks/              one file a thing that is being made
type Store struct {
	folder string
}

// Open opens the store in a folder, making it if need be.
func Open(folder string) (*Store, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("image store %s: %w", folder, err)
	}
	for _, part := range []string{"images", "recipes", "references", "fetched", "kernels", "guests", "machines", "locks"} {
		if err := os.MkdirAll(filepath.Join(absolute, part), 0o755); err != nil {
			return nil, fmt.Errorf("image store %s: %w", folder, explain(err))
		}
	}
	return &Store{folder: absolute}, nil
}

// Get makes or finds the image of a source. progress hears a line for each
// thing that takes time.
func (s *Store) Get(ctx context.Context, src Source, progress func(string)) (*Image, error) {
	if progress == nil {
		progress = func(string) {}
	}
	switch {
	case src.Recipe != nil && src.Reference != "":
		return nil, fmt.Errorf("image: both a recipe and the reference %q are given: an image has one source", src.Reference)
	case src.Recipe != nil:
		return s.fromRecipe(ctx, *src.Recipe, progress)
	case src.Reference != "":
		return s.fromReference(ctx, src.Reference, progress)
	}
	return nil, fmt.Errorf("image: neither a recipe nor a reference is given")
}

// path of something in the store.
func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.folder}, parts...)...)
}

// short is the part of a digest that people read.
func short(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(12, len(hex))]
}

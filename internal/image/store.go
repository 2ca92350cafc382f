package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/linux/private"
)

// Store stores images and their forms in a directory, by digest. Several processes
// may use it at the same time.
//
//	images/HEX/         one image: image.json, rootfs.tar, and the forms made so far
//	recipes/KEY.json    the image that was built from a recipe
//	references/KEY.json the image that a reference resolved to
//	fetched/KEY.tar     a pinned dependency of a recipe
//	kernels/NAME/       a kernel, extracted from its packages
//	guests/NAME         an initramfs with one agent and one kernel's modules
//	machines/NAME       a machine's disk, besides its image, and the versions in it
//	locks/              one lock file per file that is being created
type Store struct {
	dir string
}

// Open opens the store in a directory, which it creates if necessary and closes to
// other users: an image keeps its set-user-ID programs and device nodes.
func Open(dir string) (*Store, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("image store %s: %w", dir, err)
	}
	if err := private.Directory(absolute); err != nil {
		return nil, fmt.Errorf("image store %s: %w", dir, explain(err))
	}
	for _, part := range []string{"images", "recipes", "references", "fetched", "kernels", "guests", "machines", "locks"} {
		if err := os.MkdirAll(filepath.Join(absolute, part), 0o755); err != nil {
			return nil, fmt.Errorf("image store %s: %w", dir, explain(err))
		}
	}
	return &Store{dir: absolute}, nil
}

// Existing opens the store in a directory to list its images. It creates nothing.
func Existing(dir string) *Store { return &Store{dir: dir} }

// Get returns the image of a source, and builds or fetches it if necessary.
// progress is called with a line for each step that takes time.
func (s *Store) Get(ctx context.Context, src Source, progress func(string)) (*Image, error) {
	if progress == nil {
		progress = func(string) {}
	}
	switch {
	case src.Recipe != nil && src.Reference != "":
		return nil, fmt.Errorf("image: both a recipe and the reference %q are given: an image has one source", src.Reference)
	case src.Recipe != nil:
		return s.fromRecipe(ctx, *src.Recipe, progress)
	case src.Engine && inDaemon(ctx, src.Reference):
		return s.fromReference(ctx, "docker-daemon:"+src.Reference, progress)
	case src.Reference != "":
		return s.fromReference(ctx, src.Reference, progress)
	}
	return nil, fmt.Errorf("image: it needs a recipe or a reference")
}

// path returns a path in the store.
func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// short returns a digest shortened for messages.
func short(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(12, len(hex))]
}

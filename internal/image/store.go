package image

import (
	"context"
	"fmt"
	"path/filepath"
	"tare/internal/image/origin"
	"tare/internal/image/recipe"
	"tare/internal/image/store"
)

// Store stores images and their forms in a directory, by digest. Several processes
// may use it at the same time.
//
//	images/HEX/         one image: image.json, rootfs.tar, and the forms made so far
//	recipes/KEY.json    the image that was built from a recipe
//	bases/KEY.tar       the root file system that recipes of one suite begin with
//	references/KEY.json the image that a reference resolved to
//	fetched/KEY.tar     a pinned dependency of a recipe
//	kernels/NAME/       a kernel, extracted from its packages
//	guests/NAME         an initramfs with one agent and one kernel's modules
//	machines/NAME       a machine's disk, besides its image, and the versions in it
//	locks/              one lock file per file that is being created
type Store struct{ files store.Directory }

// Open opens the store in a directory, which it creates if necessary and closes to
// other users: an image keeps its set-user-ID programs and device nodes.
func Open(dir string) (*Store, error) {
	opened, err := store.Open(dir, "images", "recipes", "references", "fetched", "bases", "kernels", "guests", "machines")
	if err != nil {
		return nil, err
	}
	return &Store{opened}, nil
}

// Existing opens the store in a directory to list its images. It creates nothing.
func Existing(dir string) *Store { return &Store{store.Existing(dir)} }

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
	case src.Engine && origin.InDaemon(ctx, src.Reference):
		return s.fromReference(ctx, "docker-daemon:"+src.Reference, progress)
	case src.Reference != "":
		return s.fromReference(ctx, src.Reference, progress)
	}
	return nil, fmt.Errorf("image: it needs a recipe or a reference")
}

func (s *Store) fromRecipe(ctx context.Context, r recipe.Recipe, progress func(string)) (*Image, error) {
	build, err := r.ForHost()
	if err != nil {
		return nil, err
	}
	key := build.Key
	name := recipeName + key[:6]
	path := s.files.Path("recipes", key+".json")
	if r := s.readRecord(path); r != nil {
		return s.image(*r), nil
	}
	img, err := s.build(ctx, build, path, name, func(line string) { progress(name + ": " + line) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return img, nil
}

func (s *Store) build(ctx context.Context, build recipe.Build, path, name string, progress func(string)) (*Image, error) {
	if err := build.Possible(); err != nil {
		return nil, err
	}
	unlock, err := s.files.Lock(ctx, "recipe-"+build.Key[:12])
	if err != nil {
		return nil, err
	}
	defer unlock()
	if r := s.readRecord(path); r != nil {
		return s.image(*r), nil
	}
	_, _ = s.Sweep() // make room; a build that cannot be swept is no reason not to build
	work := s.files.Path("images", ".building-"+build.Key[:12])
	if err := store.Discard(work); err != nil {
		return nil, err
	}
	defer store.Discard(work) //nolint:errcheck // what stays is removed with the store's leftovers
	digest, err := build.Make(ctx, s.files, work, progress)
	if err != nil {
		return nil, err
	}
	if err := s.adopt(filepath.Join(work, "done"), digest); err != nil {
		return nil, err
	}
	r := record{Digest: digest, Name: name, Env: recipe.Env, Dir: "/", Recipe: &build.Recipe}
	if err := s.writeRecord(path, r); err != nil {
		return nil, err
	}
	progress("built, " + store.Short(digest))
	return s.image(r), nil
}

// Package image provides one root file system, identified by its digest, in
// every form that an environment needs: a directory, an OCI image, an ext4 disk
// and, with a kernel, a bootable guest. All forms are made from the same tar,
// whose SHA-256 is the digest, so their content is the same.
//
// It must not know environments, workloads or studies.
package image

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"tare/internal/image/kernel"
	"tare/internal/image/origin"
	"tare/internal/image/recipe"
	"tare/internal/image/store"
)

// Source is the origin of an image: exactly one field is set.
type Source struct {
	Recipe *recipe.Recipe `yaml:"recipe" json:"recipe,omitempty"`
	// Reference is an OCI image: "debian:12" or "registry/name:tag" from a
	// registry, "docker-daemon:NAME", "oci:DIRECTORY[:TAG]", "tar:FILE".
	Reference string `yaml:"reference" json:"reference,omitempty"`
	// Engine takes what the Docker daemon has of the reference's name rather than ask the
	// registry, as services of an application are started.
	Engine bool `yaml:"-" json:"engine,omitempty"`
}

// Image is one root file system.
type Image struct {
	// Digest is the SHA-256 of the root file system's tar, "sha256:...".
	Digest string
	// Name is the short name in messages: "recipe 1a2b3c" or the reference.
	Name string
	// Env and Dir are the image's environment and working directory.
	Env []string
	Dir string
	// Config is how the image says that it is started; empty if it was built from a
	// recipe.
	Config origin.Config

	store     *Store
	boots     kernel.Choice // of a kernel
	ownKernel bool          // it boots with its own instead
}

// None stands for the image of instances with the files of their machine: it has no files,
// and the environment variables of an image that is made.
func None() *Image {
	return &Image{Name: "none: the files of the machine", Env: recipe.Env, Dir: "/"}
}

// path returns the path of a file in the image's directory of the store.
func (i *Image) path(name string) string {
	return i.store.files.Path("images", hexOf(i.Digest), name)
}

// Tar returns the root file system's tar, whose SHA-256 is the digest.
func (i *Image) Tar() string { return i.path("rootfs.tar") }

func (i *Image) check() error {
	if i.store == nil {
		return fmt.Errorf("image %s belongs to no store: get it with Store.Get", i.Name)
	}
	if !store.Exists(i.Tar()) {
		return fmt.Errorf("image %s (%s) is no longer in the store %s: it was removed; start again to rebuild it",
			i.Name, store.Short(i.Digest), filepath.Dir(filepath.Dir(i.path(""))))
	}
	return nil
}

// Guest returns the kernel and initramfs that boot this image's disk in a VM.
func (i *Image) Guest(ctx context.Context, agentProgram string, progress func(string)) (*kernel.Guest, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	choice, err := i.kernel(ctx)
	if err != nil {
		return nil, err
	}
	return kernel.NewGuest(ctx, i.store.files, choice, agentProgram, progress)
}

// kernel is the choice of the kernel that it boots with.
func (i *Image) kernel(ctx context.Context) (kernel.Choice, error) {
	if !i.ownKernel {
		return i.boots, nil
	}
	root, err := i.asRoot(ctx)
	return kernel.Choice{Name: i.Name, Root: root}, err
}

// Store returns the store that the image is in.
func (i *Image) Store() *Store { return i.store }

// recipeName begins the names of images that tare made, and of no reference.
const recipeName = "recipe "

// FromRecipe reports whether tare made the image from a recipe.
func (i *Image) FromRecipe() bool { return strings.HasPrefix(i.Name, recipeName) }

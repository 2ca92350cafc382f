// Package image provides one root file system, identified by its digest, in
// every form that an environment needs: a directory, an OCI image, an ext4 disk
// and, with a kernel, a bootable guest. All forms are made from the same tar,
// whose SHA-256 is the digest, so their content is the same.
//
// It must not know environments, workloads or studies.
package image

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Recipe describes a root file system of Debian or Ubuntu packages.
type Recipe struct {
	// Suite of the distribution; "" is the host's.
	Suite string `yaml:"suite" json:"suite,omitempty"`
	// Components are added to those of the host's sources of its distribution,
	// for this image only: contrib, non-free, universe.
	Components []string `yaml:"components" json:"components,omitempty"`
	Packages   []string `yaml:"packages" json:"packages,omitempty"`
	// Fetch are pinned dependencies that are not packages.
	Fetch []Fetch `yaml:"fetch" json:"fetch,omitempty"`
	Files []File  `yaml:"files" json:"files,omitempty"`
	// Commands are run by /bin/sh in the root file system, after the files are
	// installed; each must exit with 0.
	Commands []string `yaml:"commands" json:"commands,omitempty"`
}

// File is one file of a recipe.
type File struct {
	Path    string `yaml:"path" json:"path"`
	Mode    uint32 `yaml:"mode" json:"mode,omitempty"` // 0 is 0644
	Content string `yaml:"content" json:"content"`
	// From is a file of this machine with the content, from the directory of the file
	// that has the recipe; ReadFiles reads it.
	From string `yaml:"from" json:"-"`
}

// Source is the origin of an image: exactly one field is set.
type Source struct {
	Recipe *Recipe `yaml:"recipe" json:"recipe,omitempty"`
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
	Config Config

	store  *Store
	kernel Kernel // that it boots with
}

// path returns the path of a file in the image's directory of the store.
func (i *Image) path(name string) string {
	return i.store.path("images", hexOf(i.Digest), name)
}

// Tar returns the root file system's tar, whose SHA-256 is the digest.
func (i *Image) Tar() string { return i.path("rootfs.tar") }

// Packages returns the Debian packages, one "name version architecture" per
// line; "" if the image was not built from a recipe.
func (i *Image) Packages() string {
	if path := i.path("packages"); exists(path) {
		return readText(path)
	}
	return ""
}

// check returns an error if the image is not in the store.
func (i *Image) check() error {
	if i.store == nil {
		return fmt.Errorf("image %s belongs to no store: get it with Store.Get", i.Name)
	}
	if !exists(i.Tar()) {
		return fmt.Errorf("image %s (%s) is no longer in the store %s: it was removed; start again to rebuild it",
			i.Name, short(i.Digest), filepath.Dir(filepath.Dir(i.path(""))))
	}
	return nil
}

// Store returns the store that the image is in.
func (i *Image) Store() *Store { return i.store }

// recipeName begins the names of images that tare made, and of no reference.
const recipeName = "recipe "

// FromRecipe reports whether tare made the image from a recipe.
func (i *Image) FromRecipe() bool { return strings.HasPrefix(i.Name, recipeName) }

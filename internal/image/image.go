// Package image makes one root file system, known by its digest, in every form
// that an environment needs: a folder, an OCI image, an ext4 disk and, with a
// kernel, a bootable guest. The bytes are the same in all of them, because all
// of them are made from the same tar, whose SHA-256 is the digest.
//
// It must not know environments, workloads or studies.
package image

import (
	"fmt"
	"path/filepath"
)

// Recipe says how to make a root file system from Debian or Ubuntu packages.
type Recipe struct {
	// Suite of the distribution; "" is the host's own.
	Suite string `yaml:"suite" json:"suite,omitempty"`
	// Components are added to those that the host's sources of its distribution
	// name, for this image alone: contrib, non-free, universe.
	Components []string `yaml:"components" json:"components,omitempty"`
	Packages   []string `yaml:"packages" json:"packages,omitempty"`
	// Fetch are pinned things that are no packages.
	Fetch []Fetch `yaml:"fetch" json:"fetch,omitempty"`
	Files []File  `yaml:"files" json:"files,omitempty"`
	// Commands run by /bin/sh inside the root file system, after the files are
	// in place; each must exit with 0.
	Commands []string `yaml:"commands" json:"commands,omitempty"`
}

// File is one file of a recipe.
type File struct {
	Path    string `yaml:"path" json:"path"`
	Mode    uint32 `yaml:"mode" json:"mode,omitempty"` // 0 is 0644
	Content string `yaml:"content" json:"content"`
}

// Source is where an image comes from: exactly one of the two is set.
type Source struct {
	Recipe *Recipe `yaml:"recipe" json:"recipe,omitempty"`
	// Reference is an OCI image: "debian:12" or "registry/name:tag" from a
	// registry, "docker-daemon:NAME", "oci:FOLDER[:TAG]", "tar:FILE".
	Reference string `yaml:"reference" json:"reference,omitempty"`
}

// Image is one root file system.
type Image struct {
	// Digest is the SHA-256 of the root file system's tar, "sha256:...".
	Digest string
	// Name is the short name in messages: "recipe 1a2b3c" or the reference.
	Name string
	// Env and Dir are the image's own environment and working folder.
	Env []string
	Dir string

	store *Store
}

// path of something that belongs to the image, in its folder of the store.
func (i *Image) path(name string) string {
	return i.store.path("images", hexOf(i.Digest), name)
}

// Tar is the root file system's tar, whose SHA-256 is the digest.
func (i *Image) Tar() string { return i.path("rootfs.tar") }

// Packages are the Debian packages inside, one "name version architecture" a
// line; "" when the image was not made by a recipe.
func (i *Image) Packages() string {
	if path := i.path("packages"); exists(path) {
		return readText(path)
	}
	return ""
}

// check tells a removed or invented image from one that the store has.
func (i *Image) check() error {
	if i.store == nil {
		return fmt.Errorf("image %s belongs to no store: get it with Store.Get", i.Name)
	}
	if !exists(i.Tar()) {
		return fmt.Errorf("image %s (%s) is no longer in the store %s: somebody removed it; start again to make it anew",
			i.Name, short(i.Digest), filepath.Dir(filepath.Dir(i.path(""))))
	}
	return nil
}

// Store that the image is in.
func (i *Image) Store() *Store { return i.store }

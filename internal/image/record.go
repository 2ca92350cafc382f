package image

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/image/origin"
	"tare/internal/image/recipe"
	"tare/internal/image/store"
)

// record is the store's entry of a source: the image that it resolved to.
type record struct {
	Digest string   `json:"digest"`
	Name   string   `json:"name"`
	Env    []string `json:"env,omitempty"`
	Dir    string   `json:"dir,omitempty"`
	// Config of a reference; nil in a record of a version that did not keep it.
	Config *origin.Config `json:"config,omitempty"`
	// Source is the digest of what the reference pointed to, which what was fetched
	// has. Versions that did not compare the two wrote it as "source": their images are
	// fetched again.
	Source string `json:"verified,omitempty"`
	// Recipe is stored for users who want to know what an image is.
	Recipe *recipe.Recipe `json:"recipe,omitempty"`
}

// readRecord reads a record whose image is still in the store, nil if there is
// none.
func (s *Store) readRecord(path string) *record {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var r record
	if json.Unmarshal(text, &r) != nil || !store.Exists(s.image(r).Tar()) {
		return nil
	}
	return &r
}

// writeRecord is atomic, so that readers need no lock.
func (s *Store) writeRecord(path string, r record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // strings always marshal
	}
	return store.Replace(path, func(temporary string) error {
		if err := os.WriteFile(temporary, append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("image store: %w", store.Explain(err))
		}
		return nil
	})
}

func (s *Store) image(r record) *Image {
	i := &Image{Digest: r.Digest, Name: r.Name, Env: r.Env, Dir: r.Dir, store: s}
	if r.Config != nil {
		i.Config = *r.Config
	}
	return i
}

// adopt moves a finished tar, and the files next to it, into the store under its
// digest.
func (s *Store) adopt(work string, digest string) error {
	target := s.files.Path("images", hexOf(digest))
	if store.Exists(filepath.Join(target, "rootfs.tar")) {
		return nil // another source made the same bytes
	}
	err := os.Rename(work, target)
	if err != nil && store.Exists(filepath.Join(target, "rootfs.tar")) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("image store: %w", store.Explain(err))
	}
	return nil
}

func hexOf(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

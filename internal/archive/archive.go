// Package archive makes one file of a run, with a checksum of everything in it, and the
// directory of the run from such a file.
//
// It must not know what the files of a run mean. Whoever made an archive is not trusted: it
// is refused at the first byte that its index does not announce.
package archive

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"tare/internal/quantity"
	"tare/internal/visible"
)

// Format is the version of the archive.
const Format = 1

// The archive is a tar of regular files, compressed with zstd: the index first, then the
// files in its order.
const (
	indexName = "tare-archive.json"
	imagesDir = "images"
)

// What an archive may hold. docs/archives.md has the same figures.
const (
	maxIndex = 64 * quantity.MiB
	maxFiles = 1_000_000
	maxSize  = 256 * quantity.GiB
	maxName  = 4096 // the kernel's PATH_MAX
)

// Index says what is in an archive.
type Index struct {
	Format int    `json:"format"`
	Tare   string `json:"tare"` // the version that wrote it
	Run    string `json:"run"`  // the name of the run, and of the directory in the archive
	// Images are those of the run that the archive contains, by digest: what a run needs
	// that is to be made again with the same bytes.
	Images []Image `json:"images,omitempty"`
	Files  []File  `json:"files"`
}

// Image is a root file system in the archive, as images/HEX.tar, and how it is started.
type Image struct {
	Digest string          `json:"digest"`
	Name   string          `json:"name"`
	Env    []string        `json:"env,omitempty"`
	Dir    string          `json:"dir,omitempty"`
	Config json.RawMessage `json:"config,omitempty"`
}

// file is the path of an image in the archive.
func (i Image) file() string {
	return path.Join(imagesDir, strings.TrimPrefix(i.Digest, "sha256:")+".tar")
}

// File is one file of the archive.
type File struct {
	Path   string         `json:"path"`
	Size   quantity.Bytes `json:"size"`
	SHA256 string         `json:"sha256"`
}

var (
	digestRule = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	sumRule    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check refuses an index that no tare has written.
func (x Index) check() error {
	switch {
	case x.Format != Format:
		return fmt.Errorf("it has format %d, and this tare reads format %d: use tare %.100q", x.Format, Format, x.Tare)
	case !plain(x.Run) || x.Run == "." || strings.Contains(x.Run, "/") || x.Run == imagesDir:
		return fmt.Errorf("%.100q is not the name of a run", x.Run)
	case len(x.Files) > maxFiles:
		return fmt.Errorf("it has %d files, and at most %d are read", len(x.Files), maxFiles)
	}
	images := map[string]bool{}
	for _, i := range x.Images {
		if !digestRule.MatchString(i.Digest) || images[i.file()] {
			return fmt.Errorf("%.100q is not the digest of another image", i.Digest)
		}
		images[i.file()] = true
	}
	var sum quantity.Bytes
	seen := map[string]bool{}
	for _, f := range x.Files {
		within, name, _ := strings.Cut(f.Path, "/")
		switch {
		case !plain(f.Path):
			return fmt.Errorf("%.100q is not a path in a run", f.Path)
		case name == "" || within != x.Run && !images[f.Path]:
			return fmt.Errorf("%.100q is in no run and no image of the archive", f.Path)
		case seen[f.Path]:
			return fmt.Errorf("%.100q is there twice", f.Path)
		case f.Size < 0 || f.Size > maxSize-sum:
			return fmt.Errorf("its files have more than %s", maxSize)
		case !sumRule.MatchString(f.SHA256):
			return fmt.Errorf("%.100q has no checksum", f.Path)
		}
		seen[f.Path] = true
		sum += f.Size
	}
	for _, i := range x.Images {
		if !seen[i.file()] {
			return fmt.Errorf("image %.100q is not among its files", i.Digest)
		}
	}
	return nil
}

// plain reports whether a path leads below a directory and has no character that acts on
// a terminal.
func plain(path string) bool {
	return fs.ValidPath(path) && len(path) <= maxName && visible.Line(path) == path
}

// size is that of all files.
func (x Index) size() (sum quantity.Bytes) {
	for _, f := range x.Files {
		sum += f.Size
	}
	return sum
}

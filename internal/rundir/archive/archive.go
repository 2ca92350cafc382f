// Package archive makes one file of a run, with a checksum of everything in it, and the
// directory of the run from such a file.
//
// It must not know what the files of a run mean. The maker of an archive is not trusted: it
// is refused at the first byte that its index does not announce.
package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"tare/internal/base/quantity"
	"tare/internal/base/visible"
)

// Format is the version of the archive.
const Format = 1

// The archive is a tar of regular files, compressed with zstd: the index first, then the
// files in its order.
const (
	indexName = "tare-archive.json"
	imagesDir = "images"
)

// What an archive may hold. docs/how-to/archives.md has the same figures.
const (
	maxIndex  = 64 * quantity.MiB
	maxFiles  = 500_000 // and directories
	maxImages = 1000
	maxSize   = 256 * quantity.GiB
	maxName   = 4096 // the kernel's PATH_MAX
	maxDepth  = 64
	// maxValues is how many values an index may have. Three bytes of it can take a
	// hundred in memory.
	maxValues = 5 * maxFiles
	// blockSize is what a file or a directory takes on the disk at the least.
	blockSize = 4 * quantity.KiB
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

// parse reads an index that a tare has written.
func parse(text []byte) (x Index, err error) {
	if bytes.Count(text, []byte{'{'}) > maxFiles+maxImages*10 || bytes.Count(text, []byte{','}) > maxValues {
		return x, fmt.Errorf("it has too many values: at most %d files are read", maxFiles)
	}
	err = json.Unmarshal(text, &x)
	if mistyped := (*json.UnmarshalTypeError)(nil); errors.As(err, &mistyped) {
		err = fmt.Errorf("a value of the wrong type (%s) at byte %d", mistyped.Value, mistyped.Offset)
	}
	if err != nil {
		return x, fmt.Errorf("%s: %w", indexName, err)
	}
	return x, x.check()
}

// check refuses an index that no tare has written.
func (x Index) check() error {
	switch {
	case x.Format != Format:
		return fmt.Errorf("it has format %d, and this tare reads format %d: use tare %.100q", x.Format, Format, x.Tare)
	case !plain(x.Run) || x.Run == "." || strings.Contains(x.Run, "/") || x.Run == imagesDir:
		return fmt.Errorf("%.100q is not the name of a run", x.Run)
	case len(x.Images) > maxImages:
		return fmt.Errorf("it has %d images, and at most %d are read", len(x.Images), maxImages)
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
		case strings.Count(f.Path, "/") > maxDepth:
			return fmt.Errorf("%.100q is more than %d directories deep", f.Path, maxDepth)
		case f.Size < 0 || f.Size > maxSize-sum:
			return fmt.Errorf("its files have more than %s", maxSize)
		case !sumRule.MatchString(f.SHA256):
			return fmt.Errorf("%.100q has no checksum", f.Path)
		}
		seen[f.Path] = true
		sum += f.Size
	}
	directories := x.directories()
	if len(seen)+len(directories) > maxFiles {
		return fmt.Errorf("it has too many files and directories: at most %d are read", maxFiles)
	}
	for at := range directories {
		if seen[at] {
			return fmt.Errorf("%.100q is a file, and the directory of others", at)
		}
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

// directories are those of the files of the run, or more than may be.
func (x Index) directories() map[string]bool {
	all := map[string]bool{}
	for _, f := range x.Files {
		for above := path.Dir(f.Path); x.holds(above) && !all[above] && len(all) <= maxFiles; above = path.Dir(above) {
			all[above] = true
		}
	}
	return all
}

// holds reports whether a path is that of the run or below it, and not of an image.
func (x Index) holds(at string) bool {
	within, _, _ := strings.Cut(at, "/")
	return within == x.Run
}

// room is what the files of the run take on a disk, about.
func (x Index) room() quantity.Bytes {
	sum := quantity.Bytes(len(x.directories())) * blockSize
	for _, f := range x.Files {
		if x.holds(f.Path) {
			sum += f.Size + blockSize
		}
	}
	return sum
}

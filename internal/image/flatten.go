package image

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// place is one entry of one layer's tar.
type place struct{ layer, entry int }

// flatten writes what a stack of layers looks like from above as one tar, and
// returns its digest. Layers are tar files, the lowest first; upper ones hide
// lower ones by name or by OCI's whiteouts. The output is normal: numeric
// owners, times in whole seconds, extended attributes kept, nothing else. So
// the digest depends on the file system alone and not on who packed it.
//
// A hard link keeps its content when an upper layer replaces the file it was
// made to: the first name that is still visible then carries the bytes.
func flatten(layers []string, w io.Writer) (digest string, err error) {
	plan, err := planFlatten(layers)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(w, hash), 1<<20)
	out := tar.NewWriter(buffered)
	for i, layer := range layers {
		err := eachEntry(layer, func(n int, header *tar.Header, content io.Reader) error {
			return plan.emit(out, place{i, n}, header, content)
		})
		if err != nil {
			return "", err
		}
	}
	if err := out.Close(); err != nil {
		return "", fmt.Errorf("root file system: %w", explain(err))
	}
	if err := buffered.Flush(); err != nil {
		return "", fmt.Errorf("root file system: %w", explain(err))
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}

// flattenPlan says under which name each entry is written, if at all.
type flattenPlan struct {
	// carrier is the name under which an entry's bytes are written: its own, or
	// that of the first visible hard link to it.
	carrier map[place]string
	// link is what a visible hard link points to.
	link map[place]place
}

type layerEntry struct {
	at     place
	name   string
	folder bool
	source place // of a hard link; its own place otherwise
	linked bool
}

func planFlatten(layers []string) (*flattenPlan, error) {
	// From below: what each hard link's bytes are.
	current := map[string]place{}
	all := make([][]layerEntry, len(layers))
	hides := make([]hidden, len(layers))
	for i, layer := range layers {
		hides[i] = hidden{names: map[string]bool{}, below: map[string]bool{}}
		last := map[string]int{}
		err := eachEntry(layer, func(n int, header *tar.Header, _ io.Reader) error {
			name := entryName(header.Name)
			dir, base := path.Split(name)
			if base == ".wh..wh..opq" {
				hides[i].below[entryName(dir)] = true
				return nil
			}
			if gone, ok := strings.CutPrefix(base, ".wh."); ok {
				if strings.HasPrefix(gone, ".wh.") {
					return nil // bookkeeping of old union file systems
				}
				hides[i].names[dir+gone] = true
				hides[i].below[dir+gone] = true
				return nil
			}
			e := layerEntry{at: place{i, n}, name: name, folder: header.Typeflag == tar.TypeDir}
			e.source = e.at
			if header.Typeflag == tar.TypeLink {
				source, ok := current[entryName(header.Linkname)]
				if !ok {
					return fmt.Errorf("layer %d: %s is a hard link to %s, which does not exist", i+1, header.Name, header.Linkname)
				}
				e.source, e.linked = source, true
			}
			current[name] = e.source
			if before, twice := last[name]; twice {
				all[i][before].name = "" // a later entry of the same tar wins
			}
			last[name] = len(all[i])
			all[i] = append(all[i], e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}

	// From above: what is still visible.
	plan := &flattenPlan{carrier: map[place]string{}, link: map[place]place{}}
	above := hidden{names: map[string]bool{}, below: map[string]bool{}}
	seen := make([][]layerEntry, len(layers))
	for i := len(layers) - 1; i >= 0; i-- {
		for _, e := range all[i] {
			if e.name != "" && !above.hides(e.name) {
				seen[i] = append(seen[i], e)
			}
		}
		for _, e := range all[i] {
			if e.name == "" {
				continue
			}
			above.names[e.name] = true
			if !e.folder {
				above.below[e.name] = true
			}
		}
		above.add(hides[i])
	}
	for i := range seen {
		for _, e := range seen[i] {
			if !e.linked {
				plan.carrier[e.at] = e.name
			}
		}
	}
	for i := range seen {
		for _, e := range seen[i] {
			if !e.linked {
				continue
			}
			if _, carried := plan.carrier[e.source]; !carried {
				plan.carrier[e.source] = e.name // the bytes are written at the source's place
			} else {
				plan.link[e.at] = e.source
			}
		}
	}
	return plan, nil
}

func (p *flattenPlan) emit(out *tar.Writer, at place, header *tar.Header, content io.Reader) error {
	name, carries := p.carrier[at]
	source, isLink := p.link[at]
	if !carries && !isLink {
		return nil
	}
	if isLink {
		name = entryName(header.Name)
	}
	normal := &tar.Header{
		Format: tar.FormatPAX, Typeflag: header.Typeflag, Name: name, Linkname: header.Linkname,
		Mode: header.Mode & 0o7777, Uid: header.Uid, Gid: header.Gid, Size: header.Size,
		ModTime: header.ModTime.Truncate(1e9), Devmajor: header.Devmajor, Devminor: header.Devminor,
	}
	for key, value := range header.PAXRecords {
		if strings.HasPrefix(key, "SCHILY.xattr.") {
			if normal.PAXRecords == nil {
				normal.PAXRecords = map[string]string{}
			}
			normal.PAXRecords[key] = value
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		normal.Name += "/"
	case tar.TypeLink:
		normal.Linkname = p.carrier[source]
		normal.Size = 0
	case tar.TypeGNUSparse:
		normal.Typeflag = tar.TypeReg
	}
	if err := out.WriteHeader(normal); err != nil {
		return fmt.Errorf("root file system: %s: %w", name, explain(err))
	}
	if normal.Typeflag == tar.TypeReg {
		if _, err := io.Copy(out, content); err != nil {
			return fmt.Errorf("root file system: %s: %w", name, explain(err))
		}
	}
	return nil
}

// hidden is what layers hide of those below them.
type hidden struct {
	names map[string]bool // these themselves
	below map[string]bool // whatever lies under these
}

func (h hidden) hides(name string) bool {
	if h.names[name] {
		return true
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if dir == "." {
			return h.below["."] && name != "."
		}
		if h.below[dir] {
			return true
		}
	}
}

func (h hidden) add(other hidden) {
	for name := range other.names {
		h.names[name] = true
	}
	for name := range other.below {
		h.below[name] = true
	}
}

// entryName is the one spelling of an entry's path: relative, without "./",
// dots and a trailing slash. The root is ".".
func entryName(name string) string {
	return path.Clean(strings.TrimPrefix(path.Clean("/"+name), "/"))
}

// eachEntry calls f for the entries of a tar file that a file system can hold.
func eachEntry(file string, f func(n int, header *tar.Header, content io.Reader) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	entries := tar.NewReader(in) // a file, so that skipped content is never read
	for n := 0; ; n++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s is no tar file, or damaged, at entry %d: %w", file, n+1, err)
		}
		switch header.Typeflag {
		case tar.TypeReg, tar.TypeLink, tar.TypeSymlink, tar.TypeChar, tar.TypeBlock, tar.TypeDir, tar.TypeFifo, tar.TypeGNUSparse:
		default:
			continue
		}
		if err := f(n, header, entries); err != nil {
			return err
		}
	}
}

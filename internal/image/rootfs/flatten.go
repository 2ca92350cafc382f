// Package rootfs makes one root file system of layers: a normalized tar, within a budget,
// since the maker of the layers decides how much they hold.
//
// It must not know where layers come from, or which image they are of.
package rootfs

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/image/store"
)

// place is the position of an entry: a layer, and an index in its tar.
type place struct{ layer, entry int }

// Write writes the union of layers to a new file; see flatten.
func Write(ctx context.Context, path string, layers []string) (digest string, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return "", fmt.Errorf("root file system: %w", store.Explain(err))
	}
	defer file.Close()
	b, err := NewBudget(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	if digest, err = flatten(ctx, layers, file, b); err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("root file system: %w", store.Explain(err))
	}
	return digest, nil
}

// flatten writes the union of a stack of layers as one tar, and returns its
// digest. Layers are tar files, the lowest first; upper layers hide entries of
// lower ones by name or by OCI's whiteouts. The output is normalized: numeric
// owners, times in whole seconds, extended attributes, nothing else. So the
// digest depends only on the file system, not on how it was packed. If an upper
// layer replaces the file of a hard link, the first name that is still visible
// gets the content.
func flatten(ctx context.Context, layers []string, w io.Writer, b *Budget) (digest string, err error) {
	plan, err := planFlatten(ctx, layers, b)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(w, hash), 1<<20)
	out := tar.NewWriter(buffered)
	for i, layer := range layers {
		err := Each(ctx, layer, func(n int, header *tar.Header, content io.Reader) error {
			return plan.emit(out, place{i, n}, header, Cancelable(ctx, content))
		})
		if err != nil {
			return "", err
		}
	}
	if err := out.Close(); err != nil {
		return "", fmt.Errorf("root file system: %w", store.Explain(err))
	}
	if err := buffered.Flush(); err != nil {
		return "", fmt.Errorf("root file system: %w", store.Explain(err))
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}

// flattenPlan decides under which name each entry is written, if at all.
type flattenPlan struct {
	// carrier is the name under which an entry's content is written: its own, or
	// that of the first visible hard link to it.
	carrier map[place]string
	// link is what a visible hard link points to.
	link map[place]place
}

type layerEntry struct {
	at     place
	name   string
	dir    bool
	size   int64 // of the content, also of a hard link
	source place // of a hard link; its own place otherwise
	linked bool
}

// planFlatten reads no content. It takes what the layers hold from the budget.
func planFlatten(ctx context.Context, layers []string, b *Budget) (*flattenPlan, error) {
	all, hides, err := readLayers(ctx, layers, b)
	if err != nil {
		return nil, err
	}
	plan := &flattenPlan{carrier: map[place]string{}, link: map[place]place{}}
	seen := visible(all, hides)
	for _, e := range seen {
		if e.linked {
			continue
		}
		plan.carrier[e.at] = e.name
		if err := b.File(e.name, e.size); err != nil {
			return nil, err
		}
	}
	for _, e := range seen {
		if !e.linked {
			continue
		}
		if _, carried := plan.carrier[e.source]; !carried {
			plan.carrier[e.source] = e.name // the content is written at the source's place
			if err := b.File(e.name, e.size); err != nil {
				return nil, err
			}
		} else {
			plan.link[e.at] = e.source
		}
	}
	return plan, nil
}

// readLayers returns the entries of each layer, with the content of each hard link,
// and what each layer hides in the layers below. An entry that a later one of the
// same tar replaces has no name.
func readLayers(ctx context.Context, layers []string, b *Budget) (all [][]layerEntry, hides []hidden, err error) {
	current := map[string]layerEntry{}
	all, hides = make([][]layerEntry, len(layers)), make([]hidden, len(layers))
	for i, layer := range layers {
		hides[i] = hidden{names: map[string]bool{}, below: map[string]bool{}}
		last := map[string]int{}
		err := Each(ctx, layer, func(n int, header *tar.Header, _ io.Reader) error {
			if err := b.Entry(header); err != nil {
				return fmt.Errorf("layer %d: %w", i+1, err)
			}
			name := EntryName(header.Name)
			if hides[i].whiteout(name) {
				return nil
			}
			e := layerEntry{at: place{i, n}, name: name, dir: header.Typeflag == tar.TypeDir, size: header.Size}
			e.source = e.at
			if header.Typeflag == tar.TypeLink {
				source, ok := current[EntryName(header.Linkname)]
				if !ok {
					return fmt.Errorf("layer %d: %s is a hard link to %s, which does not exist", i+1, header.Name, header.Linkname)
				}
				e.source, e.size, e.linked = source.source, source.size, true
			}
			current[name] = e
			if before, twice := last[name]; twice {
				all[i][before].name = ""
			}
			last[name] = len(all[i])
			all[i] = append(all[i], e)
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return all, hides, nil
}

// visible returns the entries that no layer above hides, in the order of the layers.
func visible(all [][]layerEntry, hides []hidden) (seen []layerEntry) {
	above := hidden{names: map[string]bool{}, below: map[string]bool{}}
	for i, entries := range slices.Backward(all) {
		layer := lists.Filter(entries, func(e layerEntry) bool { return e.name != "" && !above.hides(e.name) })
		seen = append(layer, seen...)
		for _, e := range entries {
			if e.name == "" {
				continue
			}
			above.names[e.name] = true
			if !e.dir {
				above.below[e.name] = true
			}
		}
		above.add(hides[i])
	}
	return seen
}

func (p *flattenPlan) emit(out *tar.Writer, at place, header *tar.Header, content io.Reader) error {
	name, carries := p.carrier[at]
	source, isLink := p.link[at]
	if !carries && !isLink {
		return nil
	}
	if isLink {
		name = EntryName(header.Name)
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
		return fmt.Errorf("root file system: %s: %w", name, store.Explain(err))
	}
	if normal.Typeflag == tar.TypeReg {
		if _, err := io.Copy(out, content); err != nil {
			return fmt.Errorf("root file system: %s: %w", name, store.Explain(err))
		}
	}
	return nil
}

// hidden is the set of paths that layers hide in the layers below.
type hidden struct {
	names map[string]bool // these paths
	below map[string]bool // everything below these paths
}

// whiteout adds an entry if it is one of OCI's whiteouts, and reports whether it is.
func (h hidden) whiteout(name string) bool {
	dir, base := path.Split(name)
	if base == ".wh..wh..opq" {
		h.below[EntryName(dir)] = true
		return true
	}
	gone, ok := strings.CutPrefix(base, ".wh.")
	if ok && !strings.HasPrefix(gone, ".wh.") { // else metadata of old union file systems
		h.names[dir+gone], h.below[dir+gone] = true, true
	}
	return ok
}

func (h hidden) hides(name string) bool {
	if h.names[name] {
		return true
	}
	for dir := name; ; {
		slash := strings.LastIndexByte(dir, '/')
		if slash < 0 {
			return h.below["."] && name != "."
		}
		if dir = dir[:slash]; h.below[dir] {
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

// EntryName normalizes an entry's path: relative, without "./", dots and a
// trailing slash. The root is ".".
func EntryName(name string) string {
	return path.Clean(strings.TrimPrefix(path.Clean("/"+name), "/"))
}

// Each calls f for the entries of a tar file that a file system can hold.
func Each(ctx context.Context, file string, f func(n int, header *tar.Header, content io.Reader) error) error {
	in, err := bounded.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	entries := tar.NewReader(in) // a file, so that skipped content is never read
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s is not a tar file, or is damaged, at entry %d: %w", file, n+1, err)
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

// Verify returns an error for a root file system that is not packed as tare packs them: its names lead
// within the root, its links lead to what is there, and it is as large as it says.
func Verify(ctx context.Context, path, digest string) error {
	got, err := flatten(ctx, []string{path}, io.Discard, unwritten())
	if err != nil {
		return err
	}
	if got != digest {
		return fmt.Errorf("the data is not a root file system as tare packs it, which would have the digest %s, and not %s", store.Short(got), store.Short(digest))
	}
	return nil
}

// Cancelable ends a long copy with its context.
func Cancelable(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

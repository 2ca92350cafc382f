package image

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"tare/internal/base/bounded"
)

// diskOrigin is a disk of an installed system, raw or qcow2. The kernel never mounts it,
// since its drivers trust what a disk says: programs read a copy.
type diskOrigin struct{ file string }

func (o diskOrigin) resolve(context.Context) (string, error) {
	sum, err := bounded.Sum(o.file)
	return "sha256:" + sum, err
}

func (o diskOrigin) fetch(ctx context.Context, work string) (v1.Image, error) {
	format, err := o.format(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.fits(ctx, format, work); err != nil {
		return nil, err
	}
	raw := filepath.Join(work, "disk.raw")
	if _, err := (tool{argv: []string{"qemu-img", "convert", "-f", format, "-O", "raw", o.file, raw}}).run(ctx); err != nil {
		return nil, err
	}
	defer os.Remove(raw)
	root, err := rootPartition(ctx, raw)
	if err != nil {
		return nil, err
	}
	packed := filepath.Join(work, "disk.tar")
	sum, err := packExt(ctx, fmt.Sprintf("%s?offset=%d", raw, root.start), packed)
	if err != nil {
		return nil, err
	}
	return partial.UncompressedToImage(oneLayer{packed, v1.Hash{Algorithm: "sha256", Hex: sum}})
}

// format is the disk's, if it is the whole disk: parts of some formats are in other files,
// which the disk names.
func (o diskOrigin) format(ctx context.Context) (string, error) {
	text, err := tool{argv: []string{"qemu-img", "info", "--output=json", o.file}}.run(ctx)
	if err != nil {
		return "", err
	}
	var info struct {
		Format   string
		Backing  string `json:"backing-filename"`
		Specific struct {
			Data struct {
				File string `json:"data-file"`
			}
		} `json:"format-specific"`
		Encrypted bool
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return "", fmt.Errorf("qemu-img info: %w", err)
	}
	switch other := cmp.Or(info.Backing, info.Specific.Data.File); {
	case info.Format != "raw" && info.Format != "qcow2":
		return "", fmt.Errorf("its format is %s, not raw or qcow2: convert it (qemu-img convert -O qcow2)", info.Format)
	case other != "":
		return "", fmt.Errorf("a part of it is in another file, %s: make one file of both (qemu-img convert -O qcow2)", other)
	case info.Encrypted:
		return "", fmt.Errorf("it is encrypted: make a copy that is not (qemu-img convert)")
	}
	return info.Format, nil
}

// fits checks that a directory has space for the disk without its holes.
func (o diskOrigin) fits(ctx context.Context, format, directory string) error {
	text, err := tool{argv: []string{"qemu-img", "map", "--output=json", "-f", format, o.file}}.run(ctx)
	if err != nil {
		return err
	}
	var extents []struct {
		Length int64
		Data   bool
	}
	if err := json.Unmarshal([]byte(text), &extents); err != nil {
		return fmt.Errorf("qemu-img map: %w", err)
	}
	b, err := newBudget(directory)
	if err != nil {
		return err
	}
	for _, e := range extents {
		if !e.Data {
			continue
		}
		if err := b.file("its content", e.Length); err != nil {
			return err
		}
	}
	return nil
}

// partition is a part of a disk, or all of it.
type partition struct {
	start, size int64 // bytes
	content     string
}

const sectorSize = 512 // of partx, whatever the disk's is

// rootPartition is the largest with a file system, which has to be ext2, ext3 or ext4. A
// disk without partitions is one.
func rootPartition(ctx context.Context, raw string) (root partition, err error) {
	info, err := os.Stat(raw)
	if err != nil {
		return root, err
	}
	whole, err := probe(ctx, raw, 0, info.Size())
	if err != nil {
		return root, err
	}
	parts := []partition{{0, info.Size(), whole["TYPE"]}}
	if whole["PTTYPE"] != "" {
		if parts, err = partitions(ctx, raw); err != nil {
			return root, err
		}
	}
	var found []string
	for _, p := range parts {
		switch p.content {
		case "", "swap", "vfat", "iso9660":
			continue
		}
		found = append(found, p.content)
		if p.size > root.size {
			root = p
		}
	}
	switch {
	case len(found) == 0:
		return root, fmt.Errorf("no file system of an installed system is on it: name a disk with ext4")
	case !slices.Contains([]string{"ext2", "ext3", "ext4"}, root.content):
		return root, fmt.Errorf("its largest partition has %s, and only ext2, ext3 and ext4 can be read: %s", root.content, workaround)
	}
	return root, nil
}

func partitions(ctx context.Context, raw string) (list []partition, err error) {
	text, err := tool{argv: []string{"partx", "--raw", "--bytes", "--noheadings", "--output", "START,SIZE", raw}}.run(ctx)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return nil, fmt.Errorf("partx: unexpected line %q", line)
		}
		start, err := strconv.ParseInt(fields[0], 10, 50)
		size, wrong := strconv.ParseInt(fields[1], 10, 64)
		if err = errors.Join(err, wrong); err != nil {
			return nil, fmt.Errorf("partx: %w", err)
		}
		found, err := probe(ctx, raw, start*sectorSize, size)
		if err != nil {
			return nil, err
		}
		list = append(list, partition{start * sectorSize, size, found["TYPE"]})
	}
	return list, nil
}

// probe returns what blkid finds in a range of a file: TYPE of a file system or a
// container of some, PTTYPE of a partition table.
func probe(ctx context.Context, raw string, start, size int64) (map[string]string, error) {
	text, err := tool{argv: []string{"blkid", "--probe", "--output", "export", "--offset", fmt.Sprint(start), "--size", fmt.Sprint(size), raw}}.run(ctx)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 2 { // nothing is there
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[key] = value
	}
	return found, nil
}

// oneLayer is an image of one tar. Its digest is known, and nobody asks for it compressed.
type oneLayer struct {
	tar string
	sum v1.Hash
}

func (l oneLayer) RawConfigFile() ([]byte, error) {
	return json.Marshal(v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH,
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{l.sum}},
	})
}

func (l oneLayer) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

func (l oneLayer) LayerByDiffID(v1.Hash) (partial.UncompressedLayer, error) { return tarLayer(l), nil }

type tarLayer oneLayer

func (l tarLayer) DiffID() (v1.Hash, error)             { return l.sum, nil }
func (l tarLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.tar) }
func (l tarLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }

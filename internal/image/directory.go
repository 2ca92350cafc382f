package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"tare/internal/image/rootfs"
	"tare/internal/image/store"
	"tare/internal/image/tool"
	"tare/internal/linux/userns"
)

// Directory returns the unpacked root file system. It must not be written to. Root gets
// all of it. Another user gets it as root of a user namespace sees it: without device
// nodes, which the kernel lets nobody make there, and with the owners that are mapped.
func (i *Image) Directory(ctx context.Context) (string, error) {
	if err := i.check(); err != nil {
		return "", err
	}
	form, unpack := "folder", i.unpack
	if os.Geteuid() != 0 {
		// A directory with other owners would be of no use.
		ids := userns.Own()
		sum := sha256.Sum256([]byte(ids.String()))
		form += fmt.Sprintf("-%x", sum[:4])
		unpack = func(ctx context.Context, to string) error { return i.unpackMapped(ctx, to, ids) }
	}
	dir := i.path(form)
	err := i.store.files.Once(ctx, form+"-"+store.Short(i.Digest), dir, func(temporary string) error {
		if err := os.Mkdir(temporary, 0o755); err != nil {
			return store.Explain(err)
		}
		packed, err := os.Stat(i.Tar())
		if err != nil {
			return err
		}
		if err := rootfs.Room(temporary, packed.Size()); err != nil {
			return err
		}
		return unpack(ctx, temporary)
	})
	if err != nil {
		return "", fmt.Errorf("directory of image %s: %w", i.Name, err)
	}
	return dir, nil
}

// asRoot is the directory for what is made from its owners and device nodes.
func (i *Image) asRoot(ctx context.Context) (string, error) {
	if os.Geteuid() != 0 {
		return "", fmt.Errorf("image %s: a disk with its owners and device nodes needs root: run as root", i.Name)
	}
	return i.Directory(ctx)
}

// extract are the arguments of tar.
func (i *Image) extract(to string, more ...string) []string {
	return append([]string{
		"tar", "--extract", "--file", i.Tar(), "--directory", to,
		"--numeric-owner", "--same-permissions", "--xattrs", "--xattrs-include=*", "--delay-directory-restore",
	}, more...)
}

func (i *Image) unpack(ctx context.Context, to string) error {
	_, err := tool.Call{Argv: i.extract(to, "--same-owner")}.Run(ctx)
	return err
}

func (i *Image) unpackMapped(ctx context.Context, to string, ids userns.IDs) error {
	nodes, err := i.deviceNodes(ctx)
	if err != nil {
		return err
	}
	argv := i.extract(to, "--same-owner", "--anchored", "--no-wildcards")
	if ids.Alone != "" {
		argv = i.extract(to, "--no-same-owner", "--anchored", "--no-wildcards")
	}
	for _, name := range nodes {
		argv = append(argv, "--exclude="+name)
	}
	if _, err = (tool.Call{Argv: argv, Mapped: &ids}).Run(ctx); err != nil {
		return fmt.Errorf("unpacking it in a user namespace with the users %s: %w", ids, err)
	}
	return nil
}

// deviceNodes lists the image's device nodes, and hard links to them.
func (i *Image) deviceNodes(ctx context.Context) (names []string, err error) {
	nodes := map[string]bool{}
	err = rootfs.Each(ctx, i.Tar(), func(_ int, header *tar.Header, _ io.Reader) error {
		switch {
		case header.Typeflag == tar.TypeChar, header.Typeflag == tar.TypeBlock, header.Typeflag == tar.TypeLink && nodes[header.Linkname]:
			nodes[header.Name] = true
			names = append(names, header.Name)
		}
		return nil
	})
	return names, err
}

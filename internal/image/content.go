package image

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"tare/internal/image/rootfs"
	"tare/internal/image/tool"
	"tare/internal/linux/userns"
)

// Unpack puts what the image has in a directory into another one, an empty one, which gets
// its owner and mode. Without such a directory it does nothing.
func (i *Image) Unpack(ctx context.Context, directory, to string) error {
	if err := i.check(); err != nil {
		return err
	}
	name := strings.Trim(directory, "/")
	var found *tar.Header
	err := rootfs.Each(ctx, i.Tar(), func(_ int, header *tar.Header, _ io.Reader) error {
		if header.Typeflag == tar.TypeDir && rootfs.EntryName(header.Name) == name {
			found = header
		}
		return nil
	})
	if err != nil || found == nil {
		return err
	}
	one := tool.Call{Argv: i.extract(to, "--same-owner")}
	if os.Geteuid() != 0 {
		ids := userns.Own()
		if one.Mapped = &ids; ids.Alone != "" {
			one.Argv = i.extract(to, "--no-same-owner")
		}
	}
	one.Argv = append(one.Argv, "--anchored", "--no-wildcards", fmt.Sprintf("--strip-components=%d", strings.Count(name, "/")+1), "--", found.Name)
	if _, err = one.Run(ctx); err == nil && os.Geteuid() == 0 {
		err = os.Lchown(to, found.Uid, found.Gid)
	}
	if err == nil {
		err = os.Chmod(to, found.FileInfo().Mode())
	}
	if err != nil {
		err = fmt.Errorf("unpacking %s of image %s: %w", directory, i.Name, err)
	}
	return err
}

package image

import (
	"context"
	"fmt"
	"os"
)

// Directory returns the unpacked root file system. It must not be written to.
func (i *Image) Directory(ctx context.Context) (string, error) {
	if err := i.check(); err != nil {
		return "", err
	}
	dir := i.path("folder")
	err := i.store.once(ctx, "folder-"+short(i.Digest), dir, func(temporary string) error {
		if os.Geteuid() != 0 {
			return fmt.Errorf("unpacking a root file system with its owners and device nodes needs root: run as root")
		}
		if err := os.Mkdir(temporary, 0o755); err != nil {
			return explain(err)
		}
		_, err := tool{argv: []string{
			"tar", "--extract", "--file", i.Tar(), "--directory", temporary,
			"--numeric-owner", "--same-owner", "--same-permissions",
			"--xattrs", "--xattrs-include=*", "--delay-directory-restore",
		}}.run(ctx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("directory of image %s: %w", i.Name, err)
	}
	return dir, nil
}

package vmm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// EmptyFileSystem makes the file system that a guest mounts at /data, in a
// file that is mostly holes, and reads it as a template.
func EmptyFileSystem(ctx context.Context, file string, size int64) (*Template, error) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(file, size); err != nil {
		return nil, fmt.Errorf("making a file of %d bytes for the data disk: %w", size, err)
	}
	// The journal and the inode tables are holes, which read as zeros: they need
	// no writing, here or in the background of a guest that is being measured.
	if err := RunTool(ctx, "mke2fs", "-q", "-t", "ext4", "-F", "-m", "0", "-L", "data",
		"-E", "lazy_itable_init=1,lazy_journal_init=1,discard", file); err != nil {
		return nil, err
	}
	return ReadTemplate(file)
}

// RunTool runs a program that makes something, and quotes it where it fails.
func RunTool(ctx context.Context, name string, arguments ...string) error {
	said, err := exec.CommandContext(ctx, name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w: %s", name, strings.Join(arguments, " "), err, strings.TrimSpace(string(said)))
	}
	return nil
}

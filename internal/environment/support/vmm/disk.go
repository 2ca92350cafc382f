package vmm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// EmptyFileSystem creates the file system that a guest mounts at /data, in a
// sparse file, and reads it as a template.
func EmptyFileSystem(ctx context.Context, file string, size int64) (*Template, error) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(file, size); err != nil {
		return nil, fmt.Errorf("creating a file of %d bytes for the data disk: %w", size, err)
	}
	// The journal and the inode tables are holes, which read as zeros, so they
	// need not be initialized here, nor in the background during a measurement.
	if err := RunTool(ctx, "mke2fs", "-q", "-t", "ext4", "-F", "-m", "0", "-L", "data",
		"-E", "lazy_itable_init=1,lazy_journal_init=1,discard", file); err != nil {
		return nil, err
	}
	return ReadTemplate(file)
}

// RunTool runs a program. If it fails, the error has its output.
func RunTool(ctx context.Context, name string, arguments ...string) error {
	output, err := exec.CommandContext(ctx, name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w: %s", name, strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

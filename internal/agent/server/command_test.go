package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An image can have anything there.
func TestAUserIsLookedUpInFilesThatEnd(t *testing.T) {
	was := accounts
	t.Cleanup(func() { accounts = was })
	directory := t.TempDir()
	pipe, huge, endless := filepath.Join(directory, "pipe"), filepath.Join(directory, "huge"), filepath.Join(directory, "endless")
	for _, err := range []error{unix.Mkfifo(pipe, 0o600), os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 1<<40), os.Symlink("/dev/zero", endless)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		pipe: pipe + " is not a regular file", endless: endless + " is not a regular file", huge: huge + " has more than 64MiB",
		directory: "is a directory", filepath.Join(directory, "none"): "",
	} {
		accounts = []string{path}
		_, err := lookup("0")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, not %q", path, err, want)
		}
	}
}

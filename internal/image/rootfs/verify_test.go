package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/testing/imagetest"
	"tare/internal/testing/needs"
	"testing"

	"golang.org/x/sys/unix"
)

// It is on the disk when it is checked, and the check writes nothing.
func TestARootFileSystemThatFitsOnceIsReceived(t *testing.T) {
	needs.Root(t)
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	file, err := os.Create(filepath.Join(disk, "rootfs.tar"))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := flatten(t.Context(), []string{imagetest.Layer(t, t.TempDir(), "large="+strings.Repeat("x", 700<<10))}, file, plenty())
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), file.Name(), digest); err != nil {
		t.Error(err)
	}
}

package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMountPointIsMadeInTheRootAlone(t *testing.T) {
	host, image := t.TempDir(), t.TempDir()
	for _, made := range []error{
		os.MkdirAll(filepath.Join(image, "srv/private"), 0o755), os.Chmod(filepath.Join(image, "srv/private"), 0o710),
		os.Symlink(host, filepath.Join(image, "away")), os.WriteFile(filepath.Join(image, "file"), nil, 0o644),
		os.WriteFile(filepath.Join(host, "text"), nil, 0o644),
	} {
		if made != nil {
			t.Fatal(made)
		}
	}
	root := t.TempDir()
	for _, c := range []struct{ from, to, want string }{
		{host, "/work", ""},
		{host, "/srv/private/deep/er", ""},
		{host + "/text", "/srv/text", ""},
		{host, "/file/x", "/file is not a directory in the image"},
		{host, "/file", ""}, // in place of it
		{host, "/away/x", "mounting at /away/x: /away is a link in the image"},
		{host, "/away", "/away is a link in the image"},
	} {
		err := MountPoint(image, root, c.from, c.to)
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || c.want == "" && err != nil {
			t.Errorf("%s: %v", c.to, err)
		}
		from, _ := os.Stat(c.from)
		if at, err := os.Lstat(filepath.Join(root, c.to)); c.want == "" && (err != nil || at.IsDir() != from.IsDir()) {
			t.Errorf("%s: %v, %v", c.to, at, err)
		}
	}
	if info, err := os.Stat(filepath.Join(root, "srv/private")); err != nil || info.Mode().Perm() != 0o710 {
		t.Errorf("a directory on the way is %v, and 0710 in the image: %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(host); err != nil || len(entries) != 1 {
		t.Errorf("the mounted directory has %v: %v", entries, err)
	}
}

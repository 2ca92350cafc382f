package rootfs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testing/needs"
)

// smallImage is a directory with one of everything that a root file system holds.
func smallImage(t *testing.T) string {
	t.Helper()
	needs.Root(t)
	directory := t.TempDir()
	script := `
mkdir -p usr/bin etc var/lib/dpkg/info var/lib/redis var/cache/nginx proc opt tmp run
ln -s usr/bin bin
echo program > usr/bin/program
echo list > var/lib/dpkg/info/list
echo one > etc/one; ln etc/one opt/same; ln -s one etc/link; ln -s /nowhere etc/resolv.conf
chown 33:44 var/lib/redis; chmod 2750 var/lib/redis
echo suid > opt/suid; chown 0:5 opt/suid; chmod 4755 opt/suid
chmod 1777 tmp; mkfifo run/fifo; mknod opt/null c 1 3
touch -d 2001-02-03T04:05:06.7Z etc/one etc opt/suid; touch -h -d 2002-02-03 etc/link
`
	cmd := exec.Command("sh", "-e", "-c", script)
	cmd.Dir = directory
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := unix.Setxattr(filepath.Join(directory, "etc/one"), "trusted.tare", []byte("kept"), 0); err != nil {
		t.Logf("without extended attributes: %v", err)
	}
	return directory
}

func TestANewRootEqualsTheImageOutsideOfItsSharedDirectories(t *testing.T) {
	image, root := smallImage(t), filepath.Join(t.TempDir(), "root")
	binds, err := Fresh(image, root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{image + "/usr:/usr:ro", image + "/var/lib/dpkg:/var/lib/dpkg:ro"}
	if slices.Sort(binds); !slices.Equal(binds, want) {
		t.Errorf("binds %v, want %v", binds, want)
	}
	for _, path := range []string{"bin", "etc", "etc/one", "etc/link", "opt", "opt/suid", "opt/null", "var/lib/redis", "var/cache/nginx", "tmp", "run/fifo", "proc"} {
		var a, b syscall.Stat_t
		if err := syscall.Lstat(filepath.Join(image, path), &a); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Lstat(filepath.Join(root, path), &b); err != nil {
			t.Error(err)
			continue
		}
		if a.Mode != b.Mode || a.Uid != b.Uid || a.Gid != b.Gid || a.Rdev != b.Rdev || a.Ino == b.Ino {
			t.Errorf("%s is %+v in the image and %+v in the root", path, a, b)
		}
		if path != "etc" && a.Mtim != b.Mtim { // etc gets the host's resolv.conf
			t.Errorf("%s is of %v in the image and of %v in the root", path, a.Mtim, b.Mtim)
		}
	}
	for _, path := range []string{"usr/bin", "var/lib/dpkg/info"} {
		if _, err := os.Lstat(filepath.Join(root, path)); err == nil {
			t.Errorf("%s was copied although it is shared", path)
		}
	}
	var one, same syscall.Stat_t
	syscall.Stat(filepath.Join(root, "etc/one"), &one)
	syscall.Stat(filepath.Join(root, "opt/same"), &same)
	if one.Ino != same.Ino || one.Nlink != 2 {
		t.Errorf("hard links came apart: inodes %d and %d", one.Ino, same.Ino)
	}
	value := make([]byte, 10)
	if n, _ := unix.Getxattr(filepath.Join(image, "etc/one"), "trusted.tare", value); n > 0 {
		if n, err := unix.Getxattr(filepath.Join(root, "etc/one"), "trusted.tare", value); err != nil || string(value[:max(n, 0)]) != "kept" {
			t.Errorf("the attribute came as %q, %v", value[:max(n, 0)], err)
		}
	}
	if info, err := os.Lstat(filepath.Join(root, "etc/resolv.conf")); err == nil && !info.Mode().IsRegular() {
		t.Errorf("resolv.conf still is %v", info.Mode())
	}
	if hosts, _ := os.ReadFile(filepath.Join(root, "etc/hosts")); !strings.Contains(string(hosts), "localhost") {
		t.Errorf("hosts holds %q", hosts)
	}
	if at, _ := os.Stat(filepath.Join(image, "etc/one")); !at.ModTime().Equal(time.Date(2001, 2, 3, 4, 5, 6, 7e8, time.UTC)) {
		t.Error("the image was changed")
	}
}

func TestALinkOfTheImageLeadsNowhereOutOfTheRoot(t *testing.T) {
	for name, change := range map[string]func(string) error{"etc": HostNames, "data": Data} {
		host, root := t.TempDir(), t.TempDir()
		for _, to := range []string{host, "../" + filepath.Base(host)} {
			if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
			if err := change(root); err == nil || !strings.Contains(err.Error(), "it is a link to what the root "+root+" does not have") {
				t.Errorf("/%s is a link to %s: %v", name, to, err)
			}
			if err := os.Remove(filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := os.Stat(host); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("the link's target has mode %v: %v", info.Mode(), err)
		}
		if entries, err := os.ReadDir(host); err != nil || len(entries) > 0 {
			t.Errorf("the link's target has %v: %v", entries, err)
		}
		for _, to := range []string{"inside", "/inside", "../../inside"} {
			if err := errors.Join(os.MkdirAll(filepath.Join(root, "inside"), 0o755), os.RemoveAll(filepath.Join(root, name)), os.Symlink(to, filepath.Join(root, name))); err != nil {
				t.Fatal(err)
			}
			if err := change(root); err != nil {
				t.Errorf("/%s is a link within the root, to %s: %v", name, to, err)
			}
		}
	}
}

func TestARootThatShowsTheHostsHasNoDirectoryThatTheKernelProvides(t *testing.T) {
	root := t.TempDir()
	binds, err := Shown("/", root, false)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(binds, "/usr:/usr") || !slices.Contains(binds, "/etc:/etc") {
		t.Errorf("binds %v", binds)
	}
	for _, b := range binds {
		if b == "/proc:/proc" || b == "/sys:/sys" || b == "/dev:/dev" || b == "/data:/data" {
			t.Errorf("%s is bound", b)
		}
	}
}

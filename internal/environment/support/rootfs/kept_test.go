package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// changes are what programs do to their root, each a line of a shell.
var changes = []string{
	":",
	"echo more >> etc/one",
	"echo lines > etc/one; touch -d 2001-02-03T04:05:06.7Z etc/one", // with the time of before
	"rm opt/same",
	"mv opt/suid opt/moved; cp -p opt/moved opt/suid",
	"rm -r var/cache; mkdir -p var/cache/nginx",
	"rm -r opt; ln -s \"$OUTSIDE\" opt",
	"rm -r opt; echo file > opt",
	"ln -sfn two etc/link",
	"rm run/fifo; rm opt/null; mknod opt/null c 1 5",
	"chmod 700 var/lib/redis; chown 1:1 tmp; chmod 4777 opt/suid",
	": attributes",
	"mkdir -p new/deep; echo x > new/deep/file; ln etc/one new/linked",
	"echo x > usr/bin/new; mkdir proc/1",
	"echo 10.0.0.1 other > etc/hosts; rm etc/resolv.conf",
	"rm -r etc",
	"dd if=/dev/zero of=var/big bs=64k count=8 2>/dev/null",
}

// listing is everything that a program can see of a tree.
func listing(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	inodes := map[uint64]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var s syscall.Stat_t
		if err := syscall.Lstat(path, &s); err != nil {
			return err
		}
		below, _ := filepath.Rel(root, path)
		line := fmt.Sprintf("%o %d:%d %d %x", s.Mode, s.Uid, s.Gid, s.Nlink, s.Rdev)
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += " -> " + to
		case e.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if first, ok := inodes[s.Ino]; ok {
				line += " = " + first
			}
			inodes[s.Ino] = below
			line += " " + string(text)
		}
		if !slices.Contains([]string{".", "etc", "etc/hosts", "etc/resolv.conf"}, below) { // which have names of the host
			line += fmt.Sprint(" ", s.Mtim)
		}
		buffer := make([]byte, 256)
		if n, err := unix.Lgetxattr(path, "trusted.tare", buffer); err == nil {
			line += " trusted.tare " + string(buffer[:n])
		}
		all[below] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func change(t *testing.T, root, script string) (outside string) {
	t.Helper()
	outside = t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "OUTSIDE="+outside)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	if script == ": attributes" {
		for path, value := range map[string]string{"etc/one": "changed", "var": "new"} {
			if err := unix.Setxattr(filepath.Join(root, path), "trusted.tare", []byte(value), 0); err != nil {
				t.Logf("without extended attributes: %v", err)
			}
		}
	}
	return outside
}

// What one instance does to its root, the next one does not see.
func TestARootThatIsUsedAgainIsAsNew(t *testing.T) {
	image := smallImage(t)
	for _, script := range append(slices.Clone(changes), strings.Join(changes, "\n")) {
		roots := NewRoots(t.TempDir())
		plain, root := filepath.Join(t.TempDir(), "plain"), filepath.Join(t.TempDir(), "root")
		if _, err := Fresh(image, plain); err != nil {
			t.Fatal(err)
		}
		k, err := roots.Fresh(image, root)
		if err != nil {
			t.Fatal(err)
		}
		binds := slices.Sorted(slices.Values(k.Binds))
		for range 2 { // what was put back can be put back
			outside := change(t, root, script)
			roots.Keep(k, root)
			if _, err := os.Lstat(root); err == nil {
				t.Fatalf("after %q the root was not kept", script)
			}
			if k, err = roots.Fresh(image, root); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(listing(t, plain), listing(t, root)); diff != "" {
				t.Errorf("after %q: %s", script, diff)
			}
			if again := slices.Sorted(slices.Values(k.Binds)); !slices.Equal(again, binds) {
				t.Errorf("after %q the binds are %q, not %q", script, again, binds)
			}
			if _, err := os.Lstat(filepath.Join(outside, "kept")); err != nil {
				t.Errorf("%q reached beyond the root: %v", script, err)
			}
		}
	}
}

// The time of a change has the precision of the kernel's tick: on this file system always, on
// others before Linux 6.13 and, for the directory of what is removed in memory, after it.
func TestWhatIsChangedAtOnceIsPutBack(t *testing.T) {
	image, directory := smallImage(t), t.TempDir()
	if err := unix.Mount("tare", directory, "ramfs", 0, ""); err != nil {
		t.Skipf("mounting a ramfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
	_ = unix.Removexattr(filepath.Join(image, "etc/one"), "trusted.tare") // which a ramfs does not have
	roots, want := NewRoots(directory), map[string]string(nil)
	for i := range 20 {
		root := filepath.Join(directory, "root"+strconv.Itoa(i))
		k, err := roots.Fresh(image, root)
		if err != nil {
			t.Fatal(err)
		}
		cache := filepath.Join(root, "var/cache")
		if err := errors.Join(unix.Rmdir(cache+"/nginx"), unix.Rmdir(cache), unix.Mkdir(cache, 0o755)); err != nil {
			t.Fatal(err)
		}
		roots.Keep(k, root)
		if _, err = roots.Fresh(image, root); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			plain := filepath.Join(directory, "plain")
			if _, err := Fresh(image, plain); err != nil {
				t.Fatal(err)
			}
			want = listing(t, plain)
		}
		if diff := cmp.Diff(want, listing(t, root)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestWhatNobodyChangedIsNotCopiedAgain(t *testing.T) {
	image, root := smallImage(t), filepath.Join(t.TempDir(), "root")
	roots := NewRoots(t.TempDir())
	inodes := func() map[string]uint64 {
		all := map[string]uint64{}
		for path := range listing(t, root) {
			var s syscall.Stat_t
			if err := syscall.Lstat(filepath.Join(root, path), &s); err != nil {
				t.Fatal(err)
			}
			all[path] = s.Ino
		}
		delete(all, "etc/resolv.conf") // which is the host's of now
		return all
	}
	k, err := roots.Fresh(image, root)
	if err != nil {
		t.Fatal(err)
	}
	before := inodes()
	change(t, root, "echo x > etc/new")
	roots.Keep(k, root)
	if _, err := roots.Fresh(image, root); err != nil {
		t.Fatal(err)
	}
	if after := inodes(); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}

// A root that cannot be put back stays where it is, and the next one is a copy.
func TestNoMoreRootsAreKeptThanInstancesWillNeed(t *testing.T) {
	image, directory := smallImage(t), t.TempDir()
	roots := NewRoots(directory)
	var used []*Kept
	path := func(n int) string { return filepath.Join(directory, fmt.Sprint("instance-", n)) }
	for n := range mostKept + 1 {
		k, err := roots.Fresh(image, path(n))
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, k)
	}
	for n, k := range used {
		roots.Keep(k, path(n))
	}
	for n := range used {
		if _, err := os.Lstat(path(n)); (err == nil) != (n == mostKept) {
			t.Errorf("root %d of %d: %v", n, len(used), err)
		}
	}
}

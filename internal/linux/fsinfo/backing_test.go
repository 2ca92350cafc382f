package fsinfo

import (
	"os"
	"strings"
	"testing"
)

const mounts = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 27 0:27 / /tmp rw - tmpfs tmpfs rw
31 27 8:1 /srv /srv rw - xfs /dev/mapper/vg-srv rw
32 31 0:40 / /srv/a\040b rw - btrfs /dev/sdb2 rw
33 27 7:0 / /tmp/x rw - ext4 /dev/loop0 rw
34 27 7:1 / /tmp/x rw - ext2 /dev/loop1 rw
`

func TestThePathIsOnTheDeepestMountAboveIt(t *testing.T) {
	for path, want := range map[string]string{
		"/": "ext4 on vda", "/home/a": "ext4 on vda", "/tmp": "tmpfs", "/tmp/a": "tmpfs",
		"/srv/data": "xfs on mapper/vg-srv", "/srvs": "ext4 on vda",
		"/srv/a b/c": "btrfs on sdb2",
		"/tmp/x/y":   "ext2 on loop1", // the later mount covers the earlier
	} {
		if got := find(mounts, path); got != want {
			t.Errorf("%s is on %q, want %q", path, got, want)
		}
	}
	if got := find("no mounts\n", "/"); got != "" {
		t.Errorf("out of nothing comes %q", got)
	}
}

func TestADirectoryOfThisMachineHasAFileSystem(t *testing.T) {
	directory, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(directory)
	if got := Of(directory); got == "" {
		t.Error("the kernel does not say")
	}
	if got := Of("/proc"); !strings.HasPrefix(got, "proc") {
		t.Errorf("/proc is on %q", got)
	}
	if got := Of(directory + "/absent"); got != "" {
		t.Errorf("what is not there is on %q", got)
	}
}

package fsinfo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
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
	list, err := mountinfo.GetMountsFromReader(strings.NewReader(mounts), nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/": "ext4 on vda", "/home/a": "ext4 on vda", "/tmp": "tmpfs", "/tmp/a": "tmpfs",
		"/srv/data": "xfs on mapper/vg-srv", "/srvs": "ext4 on vda",
		"/srv/a b/c": "btrfs on sdb2",
		"/tmp/x/y":   "ext2 on loop1", // the later mount covers the earlier
	} {
		if got := find(list, path); got != want {
			t.Errorf("%s is on %q, want %q", path, got, want)
		}
	}
	if got := find(nil, "/"); got != "" {
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

func TestTheDiskBelowADirectoryIsAWholeDisk(t *testing.T) {
	sys := t.TempDir()
	for file, text := range map[string]string{"devices/vda/dev": "254:0\n", "devices/vda/vda1/dev": "254:1\n", "devices/vda/vda1/partition": "1\n"} {
		path := filepath.Join(sys, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	block := filepath.Join(sys, "dev/block")
	if err := os.MkdirAll(block, 0o755); err != nil {
		t.Fatal(err)
	}
	for number, device := range map[string]string{"254:0": "vda", "254:1": "vda/vda1"} {
		if err := os.Symlink(filepath.Join(sys, "devices", device), filepath.Join(block, number)); err != nil {
			t.Fatal(err)
		}
	}
	for device, want := range map[string]string{"254:1": "254:0", "254:0": "254:0", "7:3": "7:3"} {
		if got := WholeDisk(device, sys); got != want {
			t.Errorf("below %s lies %s, want %s", device, got, want)
		}
	}
	memory := []*mountinfo.Info{{Mountpoint: "/", FSType: "ext4", Source: "/dev/vda"}, {Mountpoint: "/dev/shm", FSType: "tmpfs", Source: "tmpfs"}}
	if disk, err := diskBelow("/dev/shm", memory, sys, 0); err == nil || !strings.Contains(err.Error(), "without a block device (tmpfs on /dev/shm)") {
		t.Errorf("memory lies on %q, %v", disk, err)
	}
}

package image

import (
	"archive/tar"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testing/needs"
)

// command runs a program that has to succeed.
func command(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

func needDiskTools(t *testing.T) {
	t.Helper()
	for _, program := range []string{"qemu-img", "mke2fs", "e2fsck", "debugfs", "blkid", "partx"} {
		needs.Program(t, program)
	}
}

// rawDisk makes a disk of 64 MiB with partitions, each from one MiB to another.
func rawDisk(t *testing.T, partitions ...[2]uint32) string {
	t.Helper()
	const perMiB = 1 << 20 / sectorSize
	table := make([]byte, sectorSize)
	for i, p := range partitions {
		entry := table[446+16*i:]
		entry[4] = 0x83
		binary.LittleEndian.PutUint32(entry[8:], p[0]*perMiB)
		binary.LittleEndian.PutUint32(entry[12:], (p[1]-p[0])*perMiB)
	}
	if len(partitions) > 0 {
		table[510], table[511] = 0x55, 0xaa
	}
	disk := filepath.Join(t.TempDir(), "disk.raw")
	if err := os.WriteFile(disk, table, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(disk, 64<<20); err != nil {
		t.Fatal(err)
	}
	return disk
}

// systemTree writes a tree with every kind of file.
func systemTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, err := range []error{
		os.Chmod(dir, 0o755),
		os.MkdirAll(filepath.Join(dir, "etc"), 0o755), os.MkdirAll(filepath.Join(dir, "usr/bin"), 0o755),
		os.WriteFile(filepath.Join(dir, "etc/hostname"), []byte("machine\n"), 0o644),
		os.Link(filepath.Join(dir, "etc/hostname"), filepath.Join(dir, "etc/same")),
		os.WriteFile(filepath.Join(dir, "usr/bin/su"), []byte(strings.Repeat("elf", 5000)), 0o755),
		os.Chown(filepath.Join(dir, "usr/bin/su"), 0, 70000), os.Chmod(filepath.Join(dir, "usr/bin/su"), 0o755|os.ModeSetuid),
		os.Symlink("usr/bin", filepath.Join(dir, "bin")),
		os.Symlink(strings.Repeat("far/", 30), filepath.Join(dir, "long")),
		os.WriteFile(filepath.Join(dir, "a \"name' ü"), nil, 0o600),
		unix.Mknod(filepath.Join(dir, "etc/zero"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))),
		unix.Mknod(filepath.Join(dir, "etc/fifo"), unix.S_IFIFO|0o600, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheRootOfADiskIsItsLargestFileSystem(t *testing.T) {
	needs.Root(t)
	needDiskTools(t)
	raw, tree := rawDisk(t, [2]uint32{1, 9}, [2]uint32{10, 60}), systemTree(t)
	command(t, "mke2fs", "-q", "-t", "ext2", "-E", "offset=1048576", raw, "8M")
	command(t, "mke2fs", "-q", "-t", "ext4", "-E", "offset=10485760", "-d", tree, raw, "50M")
	qcow := filepath.Join(t.TempDir(), "disk.qcow2")
	command(t, "qemu-img", "convert", "-c", "-O", "qcow2", raw, qcow)

	bare := rawDisk(t)
	command(t, "mke2fs", "-q", "-t", "ext3", "-d", tree, bare, "64M")
	command(t, "debugfs", "-w", "-R", "sif /etc/hostname links_count 7", bare) // e2fsck repairs the copy
	want := map[string]string{
		"./": "5 0755 0:0", "etc/": "5 0755 0:0", "usr/": "5 0755 0:0", "usr/bin/": "5 0755 0:0",
		"etc/hostname": "0 0644 0:0 machine\n", "etc/same": "1 0644 0:0 etc/hostname",
		"usr/bin/su": "0 4755 0:70000 " + strings.Repeat("elf", 5000),
		"bin":        "2 0777 0:0 usr/bin", "long": "2 0777 0:0 " + strings.Repeat("far/", 30),
		"a \"name' ü": "0 0600 0:0 ", "etc/zero": "3 0644 0:0 1:5", "etc/fifo": "6 0600 0:0",
	}
	for _, disk := range []string{raw, qcow, bare} {
		s := openStore(t)
		img, err := s.machineRoot(t.Context(), System{Disk: disk}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := entries(t, img.Tar()); !maps.Equal(got, want) {
			t.Errorf("%s has\n%q, not\n%q", disk, got, want)
		}
		if left, _ := filepath.Glob(s.path("images", ".*")); len(left) > 0 {
			t.Errorf("%s is left", left)
		}
		again, err := s.machineRoot(t.Context(), System{Disk: disk}, nil, func(line string) { t.Errorf("it is read again: %s", line) })
		if err != nil || again.Digest != img.Digest {
			t.Errorf("the second time it is %v, %v", again, err)
		}
	}
}

// entries describes each entry of a tar.
func entries(t *testing.T, file string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := eachEntry(t.Context(), file, func(_ int, h *tar.Header, content io.Reader) error {
		text := fmt.Sprintf("%c %04o %d:%d", h.Typeflag, h.Mode, h.Uid, h.Gid)
		switch h.Typeflag {
		case tar.TypeReg:
			data, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			text += " " + string(data)
		case tar.TypeLink, tar.TypeSymlink:
			text += " " + h.Linkname
		case tar.TypeChar:
			text += fmt.Sprintf(" %d:%d", h.Devmajor, h.Devminor)
		}
		if h.ModTime.IsZero() || h.ModTime.Unix() == 0 {
			t.Errorf("%s has no time", h.Name)
		}
		found[h.Name] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestADiskThatCannotBeReadIsRefusedByWhatIsOnIt(t *testing.T) {
	needDiskTools(t)
	raw := func(offset int64, content string, partitions ...[2]uint32) string {
		disk := rawDisk(t, partitions...)
		f, err := os.OpenFile(disk, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte(content), offset); err != nil {
			t.Fatal(err)
		}
		return disk
	}
	converted := func(format string, more ...string) string {
		disk := filepath.Join(t.TempDir(), "disk."+format)
		command(t, append(append([]string{"qemu-img", "create", "-q", "-f", format}, more...), disk, "64M")...)
		return disk
	}
	home := rawDisk(t)
	command(t, "mke2fs", "-q", "-t", "ext4", home, "64M")
	boot := raw(20<<20, "LUKS\xba\xbe\x00\x01"+strings.Repeat("\x00", 160)+"0a1b2c3d-0000-4000-8000-000000000000", [2]uint32{1, 9}, [2]uint32{20, 60})
	command(t, "mke2fs", "-q", "-t", "ext4", "-E", "offset=1048576", boot, "8M")
	for disk, want := range map[string]string{
		converted("vmdk"): "its format is vmdk, not raw or qcow2",
		converted("qcow2", "-o", "data_file="+filepath.Join(t.TempDir(), "data")): "a part of it is in another file, /",
		converted("qcow2", "-F", "raw", "-b", home):                               "a part of it is in another file, " + home,
		rawDisk(t):                            "no file system of an installed system is on it",
		rawDisk(t, [2]uint32{1, 9}):           "no file system of an installed system is on it",
		home:                                  "has no /etc or no /usr",
		boot:                                  "its largest partition has crypto_LUKS, and only ext2, ext3 and ext4 can be read: import its files",
		filepath.Join(t.TempDir(), "nothing"): "no such file",
	} {
		_, err := openStore(t).machineRoot(t.Context(), System{Disk: disk}, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), disk) {
			t.Errorf("%s: got %v, want %q", disk, err, want)
		}
	}
}

func TestADiskBootsWithItsOwnKernelUnlessAnotherIsNamed(t *testing.T) {
	for kernel, want := range map[string]bool{"": true, kernelOfImage: true, CloudKernel: false, "/boot/vmlinuz": false} {
		if got := (System{Disk: "disk.raw", Kernel: kernel}).ownKernel(); got != want {
			t.Errorf("kernel %q: own is %v", kernel, got)
		}
	}
	disk := file(t, t.TempDir(), "disk.raw")
	for want, s := range map[string]System{
		"suite: nothing is taken from trixie, since disk:": {Disk: disk, Suite: "trixie"},
		"leave disk: or reference: out":                    {Disk: disk, Reference: "debian:12"},
		"is not a file: name the disk":                     {Disk: filepath.Dir(disk)},
		"disk: stat " + disk + ".no: no such file":         {Disk: disk + ".no"},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", s, err, want)
		}
	}
	if err := (System{Disk: disk, Suite: "trixie", Kernel: StockKernel}).Validate(); err != nil {
		t.Error(err)
	}
	if got := slices.Sorted(maps.Keys(System{Disk: disk}.Words())); !slices.Equal(got, []string{"disk"}) {
		t.Errorf("its words are %q", got)
	}
}

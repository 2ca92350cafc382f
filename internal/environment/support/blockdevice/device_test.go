package blockdevice

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

func TestANameThatIsNotADeviceIsRejected(t *testing.T) {
	for path, ok := range map[string]bool{
		"/dev/sdb": true, "/dev/mapper/vg-data": true, "/dev/disk/by-id/x": true,
		"/srv/disk": false, "/dev/../etc/passwd": false, "/dev/sdb,readonly=on": false, "/dev/a b": false, "sdb": false,
	} {
		if err := Valid(path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestOnlyABlankDeviceOrOneOfTaresIsWrittenOver(t *testing.T) {
	needs.Program(t, "mke2fs")
	device := testenv.LoopDevice(t, 64<<20)
	if err := Check(device); err != nil {
		t.Fatalf("a blank one: %v", err)
	}
	if err := Format(t.Context(), device); err != nil {
		t.Fatal(err)
	}
	if err := Format(t.Context(), device); err != nil {
		t.Fatalf("one of tare's own: %v", err)
	}
	if output, err := exec.Command("mke2fs", "-q", "-F", "-t", "ext4", "-L", "precious", device).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for what, try := range map[string]func() error{
		"checking": func() error { return Check(device) }, "formatting": func() error { return Format(t.Context(), device) },
		"writing": func() error { return Write("/dev/null", device) },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), `an ext4 file system with the label "precious"`) {
			t.Errorf("%s one with somebody's files: %v", what, err)
		}
	}
	if err := os.WriteFile(device, bytes.Repeat([]byte("key"), 1<<19), 0); err != nil {
		t.Fatal(err)
	}
	if err := Check(device); err == nil || !strings.Contains(err.Error(), "data other than an ext4 file system") {
		t.Errorf("one with something else: %v", err)
	}
	if err := Check("/dev/null"); err == nil || !strings.Contains(err.Error(), "is not a block device") {
		t.Errorf("no block device: %v", err)
	}
}

func TestADeviceIsOneInstancesAtATime(t *testing.T) {
	device, directory := testenv.LoopDevice(t, 64<<20), t.TempDir()
	if err := Mount(t.Context(), device, directory); err != nil {
		t.Fatal(err)
	}
	defer Unmount(directory)
	if entries, err := os.ReadDir(directory); err != nil || len(entries) > 0 {
		t.Errorf("fresh it holds %v, %v", entries, err)
	}
	if err := Mount(t.Context(), device, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("a second instance: %v", err)
	}
	if err := Unmount(directory); err != nil {
		t.Error(err)
	}
	if err := Unmount(directory); err != nil {
		t.Errorf("again: %v", err)
	}
	held, err := Hold(device)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(device); err == nil {
		t.Error("one that is held is taken")
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if err := Check(device); err != nil {
		t.Errorf("one that was given back: %v", err)
	}
}

func TestADiskArrivesWholeWithItsHoles(t *testing.T) {
	device := testenv.LoopDevice(t, 8<<20)
	disk := filepath.Join(t.TempDir(), "disk")
	f, err := os.Create(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := make([]byte, 4<<20)
	for _, at := range []int64{1 << 20, 3<<20 + 4096} {
		copy(want[at:], "something")
		if _, err := f.WriteAt([]byte("something"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(int64(len(want))); err != nil {
		t.Fatal(err)
	}
	// What was there before must not shine through the holes.
	old := bytes.Repeat([]byte{1}, len(want)-2<<20)
	to, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err == nil {
		_, err = to.WriteAt(old, 2<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	to.Close()
	if err := Write(disk, device); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy")
	if err := Copy(disk, file); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{device, file} {
		got, err := os.ReadFile(path)
		if err != nil || len(got) < len(want) || !bytes.Equal(got[:len(want)], want) {
			t.Errorf("%s holds other bytes (%d, %v)", path, len(got), err)
		}
	}
	if err := os.Truncate(disk, 9<<20); err != nil {
		t.Fatal(err)
	}
	if err := Write(disk, device); err == nil || !strings.Contains(err.Error(), "the device has 8388608 bytes") {
		t.Errorf("a disk that is too large: %v", err)
	}
}

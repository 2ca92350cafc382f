package kernel

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/image/store"
)

// file writes a file of a tree.
func file(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestANameOfAKernelIsAPackageOfTheDistribution(t *testing.T) {
	for _, c := range []struct {
		distribution, name string
		want               []string
	}{
		{"debian", "", []string{"linux-image-cloud-amd64", "linux-image-amd64"}},
		{"debian", Cloud, []string{"linux-image-cloud-amd64"}},
		{"debian", Stock, []string{"linux-image-amd64"}},
		{"ubuntu", "", []string{"linux-image-virtual", "linux-image-kvm", "linux-image-generic"}},
		{"ubuntu", Stock, []string{"linux-image-generic"}},
	} {
		if got := kernelPackages(c.distribution, "amd64", c.name); !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %q", c.distribution, c.name, got)
		}
	}
}

// versionedBzImage is a bzImage whose header names a version.
func versionedBzImage(version string) []byte {
	image := fakeBzImage([]byte("not compressed"))
	at := len(image)
	binary.LittleEndian.PutUint16(image[offVersion:], uint16(at-0x200))
	return append(append(image, version...), 0)
}

func TestABzImageNamesItsRelease(t *testing.T) {
	if got, err := kernelRelease(versionedBzImage("6.12.9-amd64 (builder@host) #1 SMP")); err != nil || got != "6.12.9-amd64" {
		t.Errorf("got %q, %v", got, err)
	}
	for want, image := range map[string][]byte{
		"not a bzImage": []byte("MZ"), "names no version": fakeBzImage(nil), `names the version "../up (x)"`: versionedBzImage("../up (x)"),
	} {
		if _, err := kernelRelease(image); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTheKernelOfAnImageIsFoundWithItsModules(t *testing.T) {
	for name, c := range map[string]struct{ kernel, modules string }{
		"in boot, as Debian has it":  {"boot/vmlinuz-6.1", "usr/lib/modules/6.1"},
		"beside its modules":         {"usr/lib/modules/6.2/vmlinuz", "usr/lib/modules/6.2"},
		"in a root without /usr/lib": {"lib/modules/6.3/vmlinuz", "lib/modules/6.3"},
	} {
		dir := t.TempDir()
		kernel := file(t, dir, c.kernel)
		file(t, dir, c.modules, "kernel", "ext4.ko")
		at, modules, err := findKernelInside(dir)
		if err != nil || at != kernel || modules != filepath.Join(dir, c.modules) {
			t.Errorf("%s: %s, %s, %v", name, at, modules, err)
		}
	}
	for name, kernels := range map[string][]string{
		"Alpine's, named by what it is for":         {"boot/vmlinuz-lts"},
		"Arch's, with a copy beside its modules":    {"boot/vmlinuz-linux", "usr/lib/modules/6.6.5-0-lts/vmlinuz"},
		"Fedora's, beside one to rescue the system": {"boot/vmlinuz-6.6.5-0-lts", "boot/vmlinuz-0-rescue-4f1c"},
	} {
		dir := t.TempDir()
		for _, kernel := range kernels {
			if err := os.WriteFile(file(t, dir, kernel), versionedBzImage("6.6.5-0-lts (builder@host) #1"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file(t, dir, "usr/lib/modules/6.6.5-0-lts/kernel/fs/ext4.ko.xz")
		at, modules, err := findKernelInside(dir)
		if err != nil || at != filepath.Join(dir, kernels[0]) || modules != filepath.Join(dir, "usr/lib/modules/6.6.5-0-lts") {
			t.Errorf("%s: %s, %s, %v", name, at, modules, err)
		}
	}
	dir := t.TempDir()
	for _, want := range []string{"has 0 kernels", "without its modules", "has 2 kernels (/boot/vmlinuz-*, /lib/modules/*/vmlinuz), not one: boot/vmlinuz-6.1 boot/vmlinuz-6.2"} {
		if _, _, err := findKernelInside(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		file(t, dir, map[bool]string{true: "boot/vmlinuz-6.1", false: "boot/vmlinuz-6.2"}[want == "has 0 kernels"])
	}
	for link, to := range map[string]string{"boot": "", "boot/vmlinuz-6.4": "vmlinuz-6.4"} {
		outside, dir := t.TempDir(), t.TempDir()
		file(t, outside, "vmlinuz-6.4")
		file(t, dir, "lib/modules/6.4/kernel/ext4.ko")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, to), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		if at, _, err := findKernelInside(dir); err == nil {
			t.Errorf("the link %s led out of the image, to %s", link, at)
		}
	}
}

// A machine that contains guests has no package sources.
func TestTheKernelThatAStoreWasGivenIsThatOfAllGuestsWithoutAnother(t *testing.T) {
	kept, err := store.Open(t.TempDir(), "kernels/some")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{Given: "some", "some/version": "6.1.0 (6.1.1-1)"} {
		if err := os.WriteFile(kept.Path("kernels", file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Choice{}.Find(t.Context(), kept, nil)
	if err != nil || found.Dir != kept.Path("kernels", "some") || found.Version != "6.1.0 (6.1.1-1)" {
		t.Errorf("%+v, %v", found, err)
	}
}

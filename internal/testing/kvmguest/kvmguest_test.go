package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/image/debian"
	"tare/internal/image/kernel"
	"tare/internal/image/store"
	"tare/internal/image/tool"
	"tare/internal/linux/kvm"
	"tare/internal/testing/gobuild"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// QEMU's software emulation implements AMD's virtualization, so that a guest has a KVM
// that works, slowly. What KVM demands of its users differs between kernels.
func TestAWorkingKVMIsUsableUnderEachKernel(t *testing.T) {
	g := newGuests(t)
	for _, suite := range suites(t) {
		t.Run(suite, func(t *testing.T) {
			if host, err := debian.Host(); err == nil && suite == host.Suite {
				needs.LongForm(t, "a guest that runs under this kernel's KVM, in a machine, says it too")
			}
			got := g.boot(t, suite, "max")
			if !got.Probe.Usable || got.Problem != "" {
				t.Errorf("under Linux %s KVM is not usable: %s (%s)", got.Kernel, got.Probe.Reason, got.Problem)
			}
		})
	}
}

func TestAProcessorWithoutVirtualizationHasNoKVM(t *testing.T) {
	got := newGuests(t).boot(t, suites(t)[0], "max,svm=off")
	if want := kvm.Device + " does not exist: "; got.Probe.Present || got.Probe.Usable || !strings.HasPrefix(got.Probe.Reason, want) {
		t.Errorf("the probe says %q, not %q", got.Probe.Reason, want)
	}
	if !strings.Contains(got.Problem, "loading kvm_amd.ko") {
		t.Errorf("the module was loaded: %q", got.Problem)
	}
}

// suites are releases with kernels that differ.
func suites(t *testing.T) []string {
	t.Helper()
	distribution, err := debian.Host()
	needs.Working(t, "the distribution's kernels", err)
	if distribution.ID == "debian" {
		return []string{"bookworm", "trixie", "sid"}
	}
	return []string{distribution.Suite}
}

// guests have a program as their first process.
type guests struct {
	program string
	kept    store.Directory
}

func newGuests(t *testing.T) guests {
	t.Helper()
	needs.Network(t)
	needs.Program(t, "qemu-system-x86_64", "apt-get", "go")
	kept, err := store.Open(testenv.Images(), "kernels")
	if err != nil {
		t.Fatal(err)
	}
	g := guests{filepath.Join(t.TempDir(), "kvmguest"), kept}
	if err := gobuild.Build(g.program, "."); err != nil {
		t.Fatal(err)
	}
	return g
}

// boot boots a guest with the kernel of a release and a processor, and returns what its
// program says.
func (g guests) boot(t *testing.T, suite, processor string) (a answer) {
	t.Helper()
	found, err := kernel.Choice{Suite: suite}.Find(t.Context(), g.kept, func(line string) { t.Log(line) })
	if failed := (*tool.Error)(nil); errors.As(err, &failed) { // apt
		needs.Working(t, "the distribution's mirror, for a kernel of "+suite, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(g.program)
	if err != nil {
		t.Fatal(err)
	}
	initramfs := filepath.Join(t.TempDir(), "initramfs")
	if err := kernel.WriteInitramfs(initramfs, program, filepath.Join(found.Dir, "modules"), []string{"kvm_amd"}); err != nil {
		t.Fatal(err)
	}
	const limit = 10 * time.Minute // of a machine that does much else
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	began := time.Now()
	// With icount the guest's time passes with its instructions, so that the load of the
	// machine makes no KVM slow.
	output, err := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg", "-icount", "shift=0,sleep=off", "-machine", "q35", "-cpu", processor, "-m", "512M",
		"-kernel", filepath.Join(found.Dir, "bzImage"), "-initrd", initramfs, "-append", "console=ttyS0 quiet panic=-1 mitigations=off",
		"-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot").CombinedOutput()
	if err != nil {
		t.Fatalf("after %v: %v\n%s", time.Since(began), err, output)
	}
	_, line, said := bytes.Cut(output, []byte(mark))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if err := json.Unmarshal(line, &a); err != nil || !said {
		t.Fatalf("no answer after %v: %v\n%s", time.Since(began), err, output)
	}
	t.Logf("Linux %s on %s, after %v: %+v", a.Kernel, processor, time.Since(began).Round(time.Millisecond), a)
	return a
}

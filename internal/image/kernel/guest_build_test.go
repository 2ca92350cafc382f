package kernel

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"tare/internal/image/store"
	"tare/internal/testing/imagetest"
	"tare/internal/testing/needs"
	"testing"

	"github.com/cavaliergopher/cpio"
)

func TestAGuestIsTheDistributionsKernelAndTheAgent(t *testing.T) {
	needs.Network(t)
	needs.Program(t, "apt-get")
	directory := t.TempDir()
	source := filepath.Join(directory, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { select {} }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(directory, "agent")
	build := exec.Command("go", "build", "-o", agent, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	store := imagetest.Must(store.Open(t.TempDir()))
	guest, err := NewGuest(t.Context(), store, Choice{}, agent, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", guest)
	if runtime.GOARCH == "amd64" {
		if _, err := vmlinux(imagetest.Must(os.ReadFile(guest.Kernel))); err != nil {
			t.Error(err)
		}
		if guest.Vmlinux == "" || !pvhEntry(imagetest.Must(os.ReadFile(guest.Vmlinux))) {
			t.Errorf("no PVH entry in %q", guest.Vmlinux)
		}
	}

	var order []string
	in := cpio.NewReader(bytes.NewReader(imagetest.Must(os.ReadFile(guest.Initramfs))))
	for {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch header.Name {
		case "modules/order":
			order = strings.Fields(string(imagetest.Must(io.ReadAll(in))))
		case "init":
			if !bytes.Equal(imagetest.Must(io.ReadAll(in)), imagetest.Must(os.ReadFile(agent))) {
				t.Error("/init is not the agent")
			}
		}
	}
	t.Log(order)
	if bus, pci := slices.Index(order, "virtio.ko"), slices.Index(order, "virtio_pci.ko"); pci >= 0 && bus > pci {
		t.Errorf("virtio_pci comes before virtio: %v", order)
	}

	again, err := NewGuest(t.Context(), store, Choice{}, agent, func(line string) { t.Errorf("it was there, and yet: %s", line) })
	if err != nil || *again != *guest {
		t.Errorf("the second time: %+v, %v", again, err)
	}
}

func TestAnAgentThatNeedsLibrariesIsRefused(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	needs.Working(t, "a dynamically linked program", err)
	for path, want := range map[string]string{shell: "dynamically linked", "/etc/os-release": "is not an ELF executable", "/absent": "no such file"} {
		if _, err := NewGuest(t.Context(), imagetest.Must(store.Open(t.TempDir())), Choice{}, path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

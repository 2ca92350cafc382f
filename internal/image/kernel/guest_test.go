package kernel

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"tare/internal/testing/imagetest"
	"tare/internal/testing/needs"
	"testing"

	"github.com/cavaliergopher/cpio"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
	"pgregory.net/rapid"
)

// compressors make a payload as the kernel's build does.
var compressors = map[string]func(io.Writer) io.WriteCloser{
	"none": nil,
	"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"xz":   func(w io.Writer) io.WriteCloser { return imagetest.Must(xz.NewWriter(w)) },
	"zstd": func(w io.Writer) io.WriteCloser { return imagetest.Must(zstd.NewWriter(w)) },
	"lzma": func(w io.Writer) io.WriteCloser { return imagetest.Must(lzma.NewWriter(w)) },
	"lz4": func(w io.Writer) io.WriteCloser {
		out := lz4.NewWriter(w)
		if err := out.Apply(lz4.LegacyOption(true)); err != nil {
			panic(err)
		}
		return out
	},
}

func pack(plain []byte, with func(io.Writer) io.WriteCloser) []byte {
	if with == nil {
		return plain
	}
	var packed bytes.Buffer
	out := with(&packed)
	imagetest.Must(out.Write(plain))
	if err := out.Close(); err != nil {
		panic(err)
	}
	return packed.Bytes()
}

func fakeBzImage(payload []byte) []byte {
	const setupSectors, gap = 3, 100
	img := make([]byte, (setupSectors+1)*512+gap)
	img[offSetupSectors] = setupSectors
	copy(img[offMagic:], "HdrS")
	binary.LittleEndian.PutUint16(img[offProtocol:], 0x020f)
	binary.LittleEndian.PutUint32(img[offPayload:], gap)
	binary.LittleEndian.PutUint32(img[offPayloadLength:], uint32(len(payload)))
	return append(append(img, payload...), "whatever follows"...)
}

func TestTheKernelComesOutOfEveryCompression(t *testing.T) {
	plain := append([]byte(elf.ELFMAG), bytes.Repeat([]byte("kernel text "), 100_000)...)
	for name, with := range compressors {
		for _, appended := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, size appended %v", name, appended), func(t *testing.T) {
				payload := pack(plain, with)
				if appended {
					if with == nil {
						t.Skip("only compressed payloads carry their size")
					}
					payload = binary.LittleEndian.AppendUint32(payload, uint32(len(plain)))
				}
				got, err := vmlinux(fakeBzImage(payload))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, plain) {
					t.Errorf("%d bytes came out, not the %d that went in", len(got), len(plain))
				}
			})
		}
	}
}

func TestTheFilterForX86ProgramsIsUndone(t *testing.T) {
	needs.Program(t, "xz")
	program := imagetest.Must(os.ReadFile("/proc/self/exe"))[:1<<20]
	command := exec.Command("xz", "--stdout", "--check=crc32", "--x86", "--lzma2=preset=1")
	command.Stdin = bytes.NewReader(program)
	packed, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(binary.LittleEndian.AppendUint32(packed, uint32(len(program))), maxUnpacked)
	if err != nil || !bytes.Equal(got, program) {
		t.Errorf("%d bytes came out, not the %d that went in: %v", len(got), len(program), err)
	}
}

func TestWhatIsNoKernelIsRefused(t *testing.T) {
	good := fakeBzImage(pack([]byte(elf.ELFMAG+"kernel"), compressors["gzip"]))
	broken := func(change func([]byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return b
	}
	for want, img := range map[string][]byte{
		"not a bzImage":        []byte("MZ"),
		"boot protocol 2.4":    broken(func(b []byte) { b[offProtocol] = 4 }),
		"payload is at":        broken(func(b []byte) { binary.LittleEndian.PutUint32(b[offPayloadLength:], 1<<30) }),
		"unknown compression":  fakeBzImage([]byte("not compressed at all")),
		"it begins with 23 21": fakeBzImage(pack([]byte("#!/bin/sh\n"), compressors["gzip"])),
		"zstd: ":               fakeBzImage(pack(bytes.Repeat([]byte("x"), 1<<16), compressors["zstd"])[:20]),
	} {
		if _, err := vmlinux(img); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestWhatUnpacksToMoreThanTheLimitIsRefused(t *testing.T) {
	const limit = 1 << 16
	for name, with := range compressors {
		if with == nil {
			continue
		}
		for _, size := range []int{limit, limit + 1} {
			payload := binary.LittleEndian.AppendUint32(pack(make([]byte, size), with), uint32(size))
			plain, err := unpack(payload, limit)
			if size <= limit && (err != nil || len(plain) != size) {
				t.Errorf("%s: %d bytes: %d came out: %v", name, size, len(plain), err)
			}
			if size > limit && (err == nil || !strings.Contains(err.Error(), "more than 65536 bytes")) {
				t.Errorf("%s: %d bytes: %d came out: %v", name, size, len(plain), err)
			}
		}
	}
}

func TestModulesComeAfterWhatTheyNeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// m0 needs nothing; every other one some with lower numbers.
		n := rapid.IntRange(1, 12).Draw(t, "modules")
		modules := map[string]*module{}
		var names []string
		for i := range n {
			m := &module{name: fmt.Sprintf("m%d", i)}
			for j := range i {
				if rapid.Bool().Draw(t, "needs") {
					m.needs = append(m.needs, fmt.Sprintf("m%d", j))
				}
			}
			m.needs = append(m.needs, "built_in")
			modules[m.name] = m
			names = append(names, m.name)
		}
		wanted := rapid.Permutation(names).Draw(t, "wanted")
		order, err := orderModules(append(wanted, "absent"), func(name string) (*module, error) { return modules[name], nil })
		if err != nil {
			t.Fatal(err)
		}
		if len(order) != n {
			t.Fatalf("%d modules of %d are in the order", len(order), n)
		}
		var loaded []string
		for _, m := range order {
			for _, need := range m.needs {
				if modules[need] != nil && !slices.Contains(loaded, need) {
					t.Fatalf("%s comes before %s, which it needs", m.name, need)
				}
			}
			loaded = append(loaded, m.name)
		}
	})
}

func TestModulesThatNeedEachOtherAreAnError(t *testing.T) {
	_, err := orderModules([]string{"a"}, func(name string) (*module, error) {
		return &module{name: name, needs: []string{map[string]string{"a": "b", "b": "a"}[name]}}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "a → b → a") {
		t.Errorf("got %v", err)
	}
}

func TestNeedsAreReadFromAModulesOwnWords(t *testing.T) {
	info := "license=GPL\x00depends=virtio,virtio-ring\x00softdep=pre: crc32c post: other\x00name=x\x00"
	if diff := cmp.Diff([]string{"virtio", "virtio_ring", "crc32c"}, moduleNeeds([]byte(info))); diff != "" {
		t.Error(diff)
	}
	if got := moduleNeeds([]byte("depends=\x00")); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	for file, want := range map[string]string{"/a/virtio-rng.ko": "virtio_rng", "ext4.ko.xz": "ext4", "x.ko.zst": "x"} {
		if got := moduleName(file); got != want {
			t.Errorf("%s: got %s", file, got)
		}
	}
}

func TestTheInitramfsHoldsTheAgentAndTheModulesInOrder(t *testing.T) {
	var archive bytes.Buffer
	err := writeInitramfs(&archive, []byte("agent"), []module{{name: "virtio", content: []byte("v")}, {name: "virtio_pci", content: []byte("vp")}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	in := cpio.NewReader(&archive)
	for {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode.IsDir() {
			got[header.Name] = "directory"
			continue
		}
		got[header.Name] = fmt.Sprintf("%o %s", header.Mode.Perm(), imagetest.Must(io.ReadAll(in)))
	}
	want := map[string]string{
		"dev": "directory", "proc": "directory", "sys": "directory", "run": "directory", "tmp": "directory", "mnt": "directory", "modules": "directory",
		"modules/virtio.ko": "644 v", "modules/virtio_pci.ko": "644 vp", "modules/order": "644 virtio.ko\nvirtio_pci.ko\n", "init": "755 agent",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +:\n%s", diff)
	}
}

func TestKernelPackagesAreFollowedToTheKernelAndItsModules(t *testing.T) {
	next, modules := kernelParts([]string{"linux-image-6.1.0-56-cloud-amd64"})
	if next != "linux-image-6.1.0-56-cloud-amd64" || modules != nil {
		t.Errorf("Debian's newest: got %s, %v", next, modules)
	}
	next, modules = kernelParts([]string{"kmod", "linux-base", "initramfs-tools", "<linux-initramfs-tool>", "linux-modules-6.8.0-57-generic"})
	if next != "" || len(modules) != 1 || modules[0] != "linux-modules-6.8.0-57-generic" {
		t.Errorf("Ubuntu's kernel: got %s, %v", next, modules)
	}
	const release = "7.2.13+deb14-cloud-amd64"
	next, parts := kernelParts([]string{"linux-base", "initramfs-tools", "linux-base-" + release, "linux-binary-" + release, "linux-modules-" + release})
	if next != "" || !slices.Equal(parts, []string{"linux-binary-" + release, "linux-modules-" + release}) {
		t.Errorf("a newer Debian's kernel: got %s, %v", next, parts)
	}
	if got := (debPackage{"linux-image-unsigned-6.8.0-57-generic", "6.8.0-57.59"}).kernelRelease(); got != "6.8.0-57-generic" {
		t.Errorf("release: got %s", got)
	}
}

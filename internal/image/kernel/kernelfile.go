package kernel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"tare/internal/base/bounded"
	"tare/internal/image/store"
	"tare/internal/image/tool"
)

// offVersion is where a bzImage says at which offset, less 0x200, its version is.
const offVersion = 0x20e

// kernelRelease reads from a bzImage what uname -r prints in a guest that runs it.
func kernelRelease(bzImage []byte) (string, error) {
	if len(bzImage) < setupHeaderEnd || string(bzImage[offMagic:offMagic+4]) != "HdrS" {
		return "", errors.New("it is not a bzImage: the setup header's magic HdrS is absent")
	}
	at := 0x200 + int(binary.LittleEndian.Uint16(bzImage[offVersion:]))
	if at == 0x200 || at >= len(bzImage) {
		return "", errors.New("its setup header names no version")
	}
	text, _, _ := bytes.Cut(bzImage[at:min(len(bzImage), at+256)], []byte{0})
	release, _, _ := strings.Cut(string(text), " ")
	if release == "" || release == "." || strings.ContainsAny(release, "/\x00") || !fs.ValidPath(release) {
		return "", fmt.Errorf("its setup header names the version %q", text)
	}
	return release, nil
}

// kernelFile takes a kernel from a bzImage and a directory with its modules.
func kernelFile(ctx context.Context, kept store.Directory, file, modules string, progress func(string)) (*kernel, error) {
	if runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("kernel %s: a kernel from a file has to be a bzImage, which %s has not: name a packaged one (cloud, stock)", file, runtime.GOARCH)
	}
	content, err := bounded.ReadFile(file, maxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", file, bounded.Cause(err))
	}
	release, err := kernelRelease(content)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", file, err)
	}
	sum := sha256.New()
	sum.Write(content)
	if modules != "" {
		// /lib/modules/RELEASE has them in kernel, beside indexes and links to sources.
		if below := filepath.Join(modules, "kernel"); store.Exists(below) {
			modules = below
		}
		if err := sumTree(sum, modules); err != nil {
			return nil, fmt.Errorf("modules of kernel %s: %w", file, err)
		}
	}
	k := &kernel{Dir: kept.Path("kernels", fmt.Sprintf("file_%x", sum.Sum(nil)[:12])), Version: release + " (" + filepath.Base(file) + ")"}
	return k, kept.Once(ctx, "kernel", k.Dir, func(temporary string) error {
		progress("taking the guest kernel " + k.Version)
		if err := os.MkdirAll(temporary, 0o755); err != nil {
			return store.Explain(err)
		}
		if err := os.WriteFile(filepath.Join(temporary, "bzImage"), content, 0o644); err != nil {
			return store.Explain(err)
		}
		to := filepath.Join(temporary, "modules")
		if modules == "" {
			err = os.Mkdir(to, 0o755)
		} else {
			_, err = tool.Call{Argv: []string{"cp", "--recursive", "--no-dereference", modules, to}}.Run(ctx)
		}
		if err == nil {
			err = unpackKernel(temporary)
		}
		if err != nil {
			return store.Explain(err)
		}
		return store.Explain(os.WriteFile(filepath.Join(temporary, "version"), []byte(k.Version), 0o644))
	})
}

// sumTree adds what tells a tree of files from another one, without their content.
func sumTree(to io.Writer, tree string) error {
	return filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintf(to, "%s %d %d\n", strings.TrimPrefix(path, tree), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
}

// kernelInside takes the kernel that the root file system of an image has.
func kernelInside(ctx context.Context, kept store.Directory, root, image string, progress func(string)) (*kernel, error) {
	file, modules, err := findKernelInside(root)
	if err != nil {
		return nil, fmt.Errorf("kernel: image: image %s %w", image, err)
	}
	return kernelFile(ctx, kept, file, modules, progress)
}

// findKernelInside finds the one kernel of a root file system, and its modules.
func findKernelInside(dir string) (file, modules string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	var found []string
	for _, pattern := range []string{"boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz", "lib/modules/*/vmlinuz"} {
		if len(found) == 0 {
			found, _ = fs.Glob(root.FS(), pattern)
			// Fedora and its kin have another one to rescue the system with.
			found = slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(path.Base(f), "vmlinuz-0-rescue") })
		}
	}
	if len(found) != 1 {
		return "", "", fmt.Errorf("has %d kernels (/boot/vmlinuz-*, /lib/modules/*/vmlinuz), not one: %s; use an image with one kernel, or name another one (kernel: cloud, or the path of a file)",
			len(found), strings.Join(found, " "))
	}
	if modules = modulesInside(root, found[0]); modules == "" {
		return "", "", fmt.Errorf("has the kernel /%s without its modules: there is no directory of its release in /usr/lib/modules or /lib/modules", found[0])
	}
	// Neither leads out of the root.
	if _, err := root.Stat(found[0]); err != nil {
		return "", "", fmt.Errorf("has the kernel /%s, which cannot be read there: %w", found[0], err)
	}
	if file, err = filepath.EvalSymlinks(filepath.Join(dir, found[0])); err != nil {
		return "", "", err
	}
	return file, filepath.Join(dir, modules), nil
}

// modulesInside is where a root has the modules of a kernel; "" where it has none. The name
// of the kernel or of its directory is its release, except where a distribution names it by
// what it is for (vmlinuz-lts in Alpine, vmlinuz-linux in Arch): then the kernel says it.
func modulesInside(root *os.Root, kernel string) string {
	release, below := strings.CutPrefix(path.Base(kernel), "vmlinuz-")
	if !below {
		release = path.Base(path.Dir(kernel))
	}
	releases := []string{release}
	// A pipe in an image would have no writer.
	if info, err := root.Stat(kernel); err != nil || !info.Mode().IsRegular() {
		// The name alone says it.
	} else if file, err := root.Open(kernel); err == nil {
		defer file.Close()
		begin, _ := io.ReadAll(io.LimitReader(file, headerRead))
		if itself, err := kernelRelease(begin); err == nil {
			releases = append(releases, itself)
		}
	}
	for _, release := range releases {
		for _, in := range []string{"usr/lib/modules", "lib/modules"} {
			if _, err := root.Stat(path.Join(in, release)); err == nil {
				return path.Join(in, release)
			}
		}
	}
	return ""
}

// headerRead is how much of a kernel is read for its release: the setup code, which has it,
// is at most 64 sectors long.
const headerRead = 64 << 10

// Package kernel makes what boots a guest: a kernel, from packages, a file or a root file
// system, and an initramfs with the agent and the kernel's modules.
//
// It must not know images.
package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tare/internal/image/debian"
	"tare/internal/image/store"
	"tare/internal/image/tool"
)

// kernel is a distribution's kernel, unpacked in the store: bzImage, vmlinux (if
// it has a PVH entry point) and modules/.
type kernel struct {
	Dir     string
	Version string // uname -r prints the first word
}

// Choice is that of the guests' kernel. The zero value is the host's release's
// newest one for virtual machines.
type Choice struct {
	Suite string // release of the host's distribution; "" is the host's
	// Name is Cloud, Stock or the path of a bzImage; "" is the first of
	// the two that the release has.
	Name    string
	Modules string // directory with the modules of a bzImage; "" where it needs none
	// Root is the root file system of the image of this Name, which has the kernel; "" where
	// it comes from elsewhere.
	Root string
}

// The distributions' kernels: for virtual machines, and for all machines.
const (
	Cloud = "cloud"
	Stock = "stock"
)

// kernelPackages are the distributions' packages of the newest kernel of a name, in the
// order in which they are tried.
func kernelPackages(distribution, architecture, name string) []string {
	of := map[string][]string{
		Cloud: {"linux-image-cloud-" + architecture}, Stock: {"linux-image-" + architecture},
	}
	if distribution == "ubuntu" {
		of = map[string][]string{Cloud: {"linux-image-virtual", "linux-image-kvm"}, Stock: {"linux-image-generic"}}
	}
	if name == "" {
		return append(of[Cloud], of[Stock]...)
	}
	return of[name]
}

// Given is the file of a store's kernels that names the one of the zero Choice, for a
// machine that has no package sources.
const Given = "given"

// Find returns the kernel of a choice.
func (c Choice) Find(ctx context.Context, kept store.Directory, progress func(string)) (*kernel, error) {
	name := store.ReadText(kept.Path("kernels", Given))
	switch {
	case c == Choice{} && name != "":
		dir := kept.Path("kernels", name)
		return &kernel{Dir: dir, Version: store.ReadText(filepath.Join(dir, "version"))}, nil
	case c.Root != "":
		return kernelInside(ctx, kept, c.Root, c.Name, progress)
	case strings.Contains(c.Name, "/"):
		return kernelFile(ctx, kept, c.Name, c.Modules, progress)
	}
	return packagedKernel(ctx, kept, c, progress)
}

// packagedKernel finds the newest kernel that apt knows and extracts it from its
// packages. It is not installed, so the host's boot loader is not affected. If
// apt fails, the kernel is used that the same choice gave last.
func packagedKernel(ctx context.Context, kept store.Directory, choice Choice, progress func(string)) (*kernel, error) {
	distro, err := debian.Host()
	if err != nil {
		return nil, err
	}
	choice.Suite = cmp.Or(choice.Suite, distro.Suite)
	last := kept.Path("kernels", "last-"+cmp.Or(choice.Suite, "host")+cmp.Or("-"+choice.Name, ""))
	k, err := aptKernel(ctx, kept, distro, choice, progress)
	if err == nil {
		if name := filepath.Base(k.Dir); store.ReadText(last) != name {
			err = store.Explain(os.WriteFile(last, []byte(name), 0o644))
		}
		return k, err
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if name := store.ReadText(last); name != "" && store.Exists(kept.Path("kernels", name, "version")) {
		k := &kernel{Dir: kept.Path("kernels", name), Version: store.ReadText(kept.Path("kernels", name, "version"))}
		progress(fmt.Sprintf("guest kernel %s from the store, since apt has none: %v", k.Version, err))
		return k, nil
	}
	return nil, fmt.Errorf("kernel for guests: %w", err)
}

func aptKernel(ctx context.Context, kept store.Directory, distro debian.Distribution, choice Choice, progress func(string)) (*kernel, error) {
	a, done, err := debian.NewApt(ctx, kept, distro, choice.Suite)
	if err != nil {
		return nil, err
	}
	defer done()
	for updated := false; ; updated = true {
		packages, err := findKernelOnce(ctx, kept, a, distro, choice, progress)
		if err != nil {
			return nil, err
		}
		main := packages[0]
		k := &kernel{
			Dir:     kept.Path("kernels", main.Name+"_"+strings.NewReplacer(":", "%3a", "/", "%2f").Replace(main.Version)),
			Version: fmt.Sprintf("%s (%s)", main.kernelRelease(), main.Version),
		}
		err = kept.Once(ctx, "kernel", k.Dir, func(temporary string) error {
			progress("fetching the guest kernel " + k.Version)
			return fetchKernel(ctx, a, temporary, packages, k.Version)
		})
		if err == nil || updated || ctx.Err() != nil {
			return k, err
		}
		// Kernels are replaced often, and mirrors delete old ones: package lists
		// of last week may name files that are gone.
		if updateErr := a.Update(ctx, progress); updateErr != nil {
			return nil, err
		}
	}
}

// debPackage is a version of a package.
type debPackage struct{ Name, Version string }

// kernelRelease is the output of uname -r in a guest that runs this package.
func (p debPackage) kernelRelease() string {
	release := strings.TrimPrefix(p.Name, "linux-image-")
	return strings.TrimPrefix(release, "unsigned-")
}

// findKernelOnce caches apt's answer until apt's lists or settings change, since
// apt takes seconds.
func findKernelOnce(ctx context.Context, kept store.Directory, a debian.Apt, distro debian.Distribution, choice Choice, progress func(string)) ([]debPackage, error) {
	type answer struct {
		Stamp    string
		Packages []debPackage
	}
	path := kept.Path("kernels", "newest-"+choice.Suite+"-"+choice.Name+".json")
	var known answer
	if json.Unmarshal([]byte(store.ReadText(path)), &known) == nil && known.Stamp == debian.Stamp() && len(known.Packages) > 0 {
		return known.Packages, nil
	}
	packages, err := findKernel(ctx, a, distro, choice, progress)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer{debian.Stamp(), packages})
	if err != nil {
		panic(err) // strings always marshal
	}
	unlock, err := kept.Lock(ctx, "kernel")
	if err != nil {
		return nil, err
	}
	defer unlock()
	return packages, store.Replace(path, func(temporary string) error {
		return store.Explain(os.WriteFile(temporary, text, 0o644))
	})
}

// findKernel queries apt for the package of the kernel (the first one
// returned) and those with its parts. It updates apt's lists if they have no
// kernel.
func findKernel(ctx context.Context, a debian.Apt, distro debian.Distribution, choice Choice, progress func(string)) ([]debPackage, error) {
	names := kernelPackages(distro.ID, debian.Architecture(), choice.Name)
	for attempt := 0; ; attempt++ {
		for _, name := range names {
			packages, err := resolveKernel(ctx, a, name)
			if err != nil || packages != nil {
				return packages, err
			}
		}
		if attempt > 0 {
			return nil, fmt.Errorf("%s %s has none of %s, not even after apt-get update: check the suite and the kernel, and that %[1]s's main component is among the package sources (apt-cache policy)",
				distro.ID, choice.Suite, strings.Join(names, ", "))
		}
		if err := a.Update(ctx, progress); err != nil {
			return nil, fmt.Errorf("apt knows none of %s in %s %s, and updating its lists failed: check the suite: %w", strings.Join(names, ", "), distro.ID, choice.Suite, err)
		}
	}
}

// resolveKernel follows a metapackage to the package with the kernel. If it
// returns neither packages nor an error, apt does not know the metapackage.
func resolveKernel(ctx context.Context, a debian.Apt, name string) ([]debPackage, error) {
	for range 4 { // generic → version → signed or unsigned: never deeper
		depends, err := a.Depends(ctx, name)
		var failed *tool.Error
		if errors.As(err, &failed) {
			return nil, nil // "No packages found"
		}
		if err != nil {
			return nil, err
		}
		next, parts := kernelParts(depends)
		if next != "" && next != name {
			name = next
			continue
		}
		packages := []debPackage{}
		for _, n := range append([]string{name}, parts...) {
			version, err := a.Candidate(ctx, n)
			if err != nil {
				return nil, err
			}
			if version == "" {
				return nil, nil // named by others, but not to be had
			}
			packages = append(packages, debPackage{n, version})
		}
		return packages, nil
	}
	return nil, fmt.Errorf("%s does not lead to a package with a kernel: see apt-cache depends %s", name, name)
}

// kernelParts returns, from a kernel package's dependencies, the kernel package
// that it stands for, if any, and the packages that have parts of it: Ubuntu and newer
// Debians have one with modules, and these also one with the kernel itself.
func kernelParts(depends []string) (next string, parts []string) {
	for _, d := range depends {
		switch {
		case strings.HasPrefix(d, "linux-image-") && next == "":
			next = d
		case strings.HasPrefix(d, "linux-modules-") && !strings.HasPrefix(d, "linux-modules-extra-"), strings.HasPrefix(d, "linux-binary-"):
			parts = append(parts, d)
		}
	}
	return next, parts
}

// fetchKernel downloads and unpacks the packages into a new kernel directory.
func fetchKernel(ctx context.Context, a debian.Apt, dir string, packages []debPackage, version string) error {
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return store.Explain(err)
	}
	// Apt downloads as user _apt if it can; it only warns if that user cannot
	// write to the directory.
	for _, p := range packages {
		if _, err := a.Run(ctx, work, "apt-get", "-q", "download", p.Name+"="+p.Version); err != nil {
			return err
		}
	}
	debs, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil || len(debs) == 0 {
		return fmt.Errorf("apt-get download of %v put no package into %s", packages, work)
	}
	tree := filepath.Join(work, "tree")
	for _, deb := range debs {
		if _, err := (tool.Call{Argv: []string{"dpkg-deb", "-x", deb, tree}}).Run(ctx); err != nil {
			return err
		}
	}
	kernels, _ := filepath.Glob(filepath.Join(tree, "boot", "vmlinu[xz]-*"))
	if len(kernels) == 0 { // the package's scripts, which are not run, copy it to /boot
		kernels, _ = filepath.Glob(filepath.Join(tree, "usr/lib/modules", "*", "vmlinu[xz]"))
	}
	if len(kernels) != 1 {
		return fmt.Errorf("packages %v hold %d files /boot/vmlinuz-* or /usr/lib/modules/*/vmlinuz, not one", packages, len(kernels))
	}
	if err := os.Rename(kernels[0], filepath.Join(dir, "bzImage")); err != nil {
		return err
	}
	modules := ""
	for _, candidate := range []string{"lib/modules", "usr/lib/modules"} {
		if found, _ := filepath.Glob(filepath.Join(tree, candidate, "*", "kernel")); len(found) > 0 {
			modules = found[0]
		}
	}
	if modules == "" {
		return fmt.Errorf("packages %v hold no /lib/modules/*/kernel", packages)
	}
	if err := os.Rename(modules, filepath.Join(dir, "modules")); err != nil {
		return err
	}
	if runtime.GOARCH == "amd64" {
		if err := unpackKernel(dir); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "version"), []byte(version), 0o644)
}

func unpackKernel(dir string) error {
	packed, err := os.ReadFile(filepath.Join(dir, "bzImage"))
	if err != nil {
		return err
	}
	plain, err := vmlinux(packed)
	if err != nil {
		return err
	}
	if !pvhEntry(plain) {
		return nil
	}
	return store.Explain(os.WriteFile(filepath.Join(dir, "vmlinux"), plain, 0o644))
}

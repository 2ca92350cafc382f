package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"
)

// kernel is a distribution's kernel, unpacked in the store: bzImage, vmlinux (if
// it has a PVH entry point) and modules/.
type kernel struct {
	dir     string
	version string
}

// kernelPackages are the distributions' packages of the newest kernel for
// virtual machines, in the order in which they are tried.
func kernelPackages(distribution, architecture string) []string {
	if distribution == "ubuntu" {
		return []string{"linux-image-virtual", "linux-image-kvm", "linux-image-generic"}
	}
	return []string{"linux-image-cloud-" + architecture, "linux-image-" + architecture}
}

// kernel finds the newest kernel that apt knows and extracts it from its
// packages. It is not installed, so the host's boot loader is not affected. If
// apt fails, the newest kernel in the store is used.
func (s *Store) kernel(ctx context.Context, progress func(string)) (*kernel, error) {
	k, err := s.aptKernel(ctx, progress)
	if err == nil || ctx.Err() != nil {
		return k, err
	}
	if k := s.newestKernel(); k != nil {
		progress(fmt.Sprintf("guest kernel %s from the store, since apt has none: %v", k.version, err))
		return k, nil
	}
	return nil, fmt.Errorf("kernel for guests: %w", err)
}

func (s *Store) aptKernel(ctx context.Context, progress func(string)) (*kernel, error) {
	distro, err := hostDistribution()
	if err != nil {
		return nil, err
	}
	for updated := false; ; updated = true {
		packages, err := s.findKernelOnce(ctx, distro, progress)
		if err != nil {
			return nil, err
		}
		main := packages[0]
		k := &kernel{
			dir:     s.path("kernels", main.Name+"_"+safeName(main.Version)),
			version: fmt.Sprintf("%s (%s)", main.kernelRelease(), main.Version),
		}
		err = s.once(ctx, "kernel", k.dir, func(temporary string) error {
			progress("fetching the guest kernel " + k.version)
			return fetchKernel(ctx, temporary, packages, k.version)
		})
		if err == nil || updated || ctx.Err() != nil {
			return k, err
		}
		// Kernels are replaced often, and mirrors delete old ones: package lists
		// of last week may name files that are gone.
		if updateErr := updateLists(ctx, progress); updateErr != nil {
			return nil, err
		}
	}
}

// newestKernel returns the kernel that was added to the store last, or nil.
func (s *Store) newestKernel() *kernel {
	found, _ := filepath.Glob(s.path("kernels", "*", "version"))
	sort.Slice(found, func(i, j int) bool { return modified(found[i]).Before(modified(found[j])) })
	if len(found) == 0 {
		return nil
	}
	newest := found[len(found)-1]
	version, err := os.ReadFile(newest)
	if err != nil {
		return nil
	}
	return &kernel{dir: filepath.Dir(newest), version: string(version)}
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
func (s *Store) findKernelOnce(ctx context.Context, distro distribution, progress func(string)) ([]debPackage, error) {
	type answer struct {
		Stamp    string
		Packages []debPackage
	}
	path := s.path("kernels", "newest.json")
	var known answer
	if json.Unmarshal([]byte(readText(path)), &known) == nil && known.Stamp == aptStamp() && len(known.Packages) > 0 {
		return known.Packages, nil
	}
	packages, err := findKernel(ctx, distro, progress)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer{aptStamp(), packages})
	if err != nil {
		panic(err) // strings always marshal
	}
	unlock, err := s.lock(ctx, "kernel")
	if err != nil {
		return nil, err
	}
	defer unlock()
	return packages, replace(path, func(temporary string) error {
		return explain(os.WriteFile(temporary, text, 0o644))
	})
}

// aptStamp changes with everything that determines which kernel is the newest.
func aptStamp() string {
	stamp := debArchitecture()
	for _, path := range []string{"/var/lib/apt/lists", "/etc/apt", "/etc/apt/sources.list.d", "/etc/apt/preferences.d"} {
		stamp += " " + modified(path).UTC().Format(time.RFC3339Nano)
	}
	return stamp
}

// findKernel queries apt for the package with the kernel (the first one
// returned) and those with its modules. It updates apt's lists if they have no
// kernel.
func findKernel(ctx context.Context, distro distribution, progress func(string)) ([]debPackage, error) {
	names := kernelPackages(distro.id, debArchitecture())
	for attempt := 0; ; attempt++ {
		for _, name := range names {
			packages, err := resolveKernel(ctx, name)
			if err != nil || packages != nil {
				return packages, err
			}
		}
		if attempt > 0 {
			return nil, fmt.Errorf("apt knows none of %s, not even after apt-get update: check that %s's main component is among the package sources (apt-cache policy)",
				strings.Join(names, ", "), distro.id)
		}
		if err := updateLists(ctx, progress); err != nil {
			return nil, fmt.Errorf("apt knows none of %s, and updating its lists failed: %w", strings.Join(names, ", "), err)
		}
	}
}

func updateLists(ctx context.Context, progress func(string)) error {
	progress("fetching apt's package lists (apt-get update)")
	_, err := tool{argv: []string{"apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", "update"}}.run(ctx)
	return err
}

// resolveKernel follows a metapackage to the package with the kernel. If it
// returns neither packages nor an error, apt does not know the metapackage.
func resolveKernel(ctx context.Context, name string) ([]debPackage, error) {
	for range 4 { // generic → version → signed or unsigned: never deeper
		depends, err := aptDepends(ctx, name)
		var failed *toolError
		if errors.As(err, &failed) {
			return nil, nil // "No packages found"
		}
		if err != nil {
			return nil, err
		}
		next, modules := kernelParts(depends)
		if next != "" && next != name {
			name = next
			continue
		}
		packages := []debPackage{}
		for _, n := range append([]string{name}, modules...) {
			version, err := aptCandidate(ctx, n)
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
// that it stands for, if any, and the packages with modules (Ubuntu has separate
// ones).
func kernelParts(depends []string) (next string, modules []string) {
	for _, d := range depends {
		switch {
		case strings.HasPrefix(d, "linux-image-") && next == "":
			next = d
		case strings.HasPrefix(d, "linux-modules-") && !strings.HasPrefix(d, "linux-modules-extra-"):
			modules = append(modules, d)
		}
	}
	return next, modules
}

func aptDepends(ctx context.Context, name string) ([]string, error) {
	out, err := tool{argv: []string{"apt-cache", "depends", "--important", name}}.run(ctx)
	if err != nil {
		return nil, err
	}
	var depends []string
	for _, line := range strings.Split(out, "\n") {
		if _, on, ok := strings.Cut(line, "Depends: "); ok {
			depends = append(depends, strings.TrimSpace(on))
		}
	}
	return depends, nil
}

// aptCandidate returns the version that apt would install, or "".
func aptCandidate(ctx context.Context, name string) (string, error) {
	out, err := tool{argv: []string{"apt-cache", "policy", name}}.run(ctx)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(out, "\n") {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok && version != "(none)" {
			return version, nil
		}
	}
	return "", nil
}

// fetchKernel downloads and unpacks the packages into a new kernel directory.
func fetchKernel(ctx context.Context, dir string, packages []debPackage, version string) error {
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return explain(err)
	}
	// Apt downloads as user _apt if it can; it only warns if that user cannot
	// write to the directory.
	for _, p := range packages {
		download := tool{argv: []string{"apt-get", "-q", "download", p.Name + "=" + p.Version}, dir: work}
		if _, err := download.run(ctx); err != nil {
			return err
		}
	}
	debs, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil || len(debs) == 0 {
		return fmt.Errorf("apt-get download of %v put no package into %s", packages, work)
	}
	tree := filepath.Join(work, "tree")
	for _, deb := range debs {
		if _, err := (tool{argv: []string{"dpkg-deb", "-x", deb, tree}}).run(ctx); err != nil {
			return err
		}
	}
	kernels, _ := filepath.Glob(filepath.Join(tree, "boot", "vmlinu[xz]-*"))
	if len(kernels) != 1 {
		return fmt.Errorf("packages %v hold %d files /boot/vmlinuz-*, not one", packages, len(kernels))
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
	return explain(os.WriteFile(filepath.Join(dir, "vmlinux"), plain, 0o644))
}

// safeName replaces characters of a package's version that a path should not
// have.
func safeName(version string) string {
	return strings.NewReplacer(":", "%3a", "/", "%2f").Replace(version)
}

func modified(path string) time.Time {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || info == nil {
		return time.Time{}
	}
	return info.ModTime()
}

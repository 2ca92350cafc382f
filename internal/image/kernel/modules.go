package kernel

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// guestModules are what a guest may need before its root file system is mounted,
// and for its stream to the host. All are loaded on every machine type: a driver
// without its device does no harm. Modules that are built into the kernel, or
// missing, are left out.
var guestModules = []string{
	"virtio_pci", "virtio_mmio", // the two buses: q35 and microvm
	"virtio_blk", "virtio_net", "virtio_console", "virtio_rng",
	"vmw_vsock_virtio_transport",
	"crc32c_generic", "ext4", "overlay",
	"af_packet",
}

// module is a kernel module, ready to be loaded.
type module struct {
	name    string // as the kernel knows it: virtio_rng, though its file is virtio-rng.ko
	content []byte // unpacked
	needs   []string
}

// moduleName returns the kernel's name for a module's file.
func moduleName(file string) string {
	base, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(base, "-", "_")
}

// collectModules reads the requested modules and their dependencies from a
// /lib/modules/VERSION tree, each after its dependencies. The dependencies are
// read from the modules, since a package that was only unpacked has no
// modules.dep.
func collectModules(tree string, wanted []string) ([]module, error) {
	files := map[string]string{}
	err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Contains(entry.Name(), ".ko") {
			files[moduleName(path)] = path
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kernel modules: %w", err)
	}
	return orderModules(wanted, func(name string) (*module, error) {
		path, ok := files[name]
		if !ok {
			return nil, nil
		}
		return readModule(path)
	})
}

// orderModules returns the requested modules and their dependencies in an order
// in which they can be loaded. find returns nil for a module that is built into
// the kernel, or missing.
func orderModules(wanted []string, find func(name string) (*module, error)) ([]module, error) {
	var order []module
	seen := map[string]bool{}
	var path []string
	var add func(name string) error
	add = func(name string) error {
		if slices.Contains(path, name) {
			return fmt.Errorf("kernel modules depend on each other in a cycle: %s", strings.Join(append(path, name), " → "))
		}
		if seen[name] {
			return nil
		}
		m, err := find(name)
		if err != nil || m == nil {
			seen[name] = true
			return err
		}
		path = append(path, name)
		for _, need := range m.needs {
			if err := add(need); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		seen[name] = true
		order = append(order, *m)
		return nil
	}
	for _, name := range wanted {
		if err := add(name); err != nil {
			return nil, err
		}
	}
	return order, nil
}

func readModule(path string) (*module, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("kernel module: %w", err)
	}
	if content, err = unpack(content, maxUnpacked); err != nil {
		return nil, fmt.Errorf("kernel module %s: %w", path, err)
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("kernel module %s: %w", path, err)
	}
	m := &module{name: moduleName(path), content: content}
	section := file.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("kernel module %s has no .modinfo section", path)
	}
	info, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("kernel module %s: %w", path, err)
	}
	m.needs = moduleNeeds(info)
	return m, nil
}

// moduleNeeds reads the dependencies (depends=) and the optional ones that must
// be loaded before (softdep=pre:) from a .modinfo section.
func moduleNeeds(info []byte) []string {
	var needs []string
	for _, field := range strings.Split(string(info), "\x00") {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "depends":
			needs = append(needs, strings.FieldsFunc(value, func(r rune) bool { return r == ',' })...)
		case "softdep":
			before, _, _ := strings.Cut(value, "post:")
			if _, pre, ok := strings.Cut(before, "pre:"); ok {
				needs = append(needs, strings.Fields(pre)...)
			}
		}
	}
	for i, need := range needs {
		needs[i] = strings.ReplaceAll(need, "-", "_")
	}
	return needs
}

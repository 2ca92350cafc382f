package kernel

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"strings"
	"tare/internal/image/store"

	"github.com/cavaliergopher/cpio"
)

// WriteInitramfs writes a file with an initramfs: a static program as /init, and the
// named modules of a kernel's tree with those that they need.
func WriteInitramfs(path string, program []byte, tree string, names []string) error {
	modules, err := collectModules(tree, names)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("initramfs: %w", store.Explain(err))
	}
	defer file.Close()
	if err := writeInitramfs(file, program, modules); err != nil {
		return err
	}
	return file.Close()
}

// writeInitramfs writes a guest's initramfs: the agent as /init, the modules
// under /modules with their order in /modules/order, and empty directories as
// mount points. It is not compressed, since decompression costs an emulated
// guest more than reading. The kernel creates /dev/console.
func writeInitramfs(w io.Writer, agent []byte, modules []module) error {
	archive := cpio.NewWriter(w)
	inode := int64(0)
	put := func(name string, mode cpio.FileMode, content []byte) error {
		inode++
		header := &cpio.Header{Name: name, Mode: mode, Size: int64(len(content)), Links: 1, Inode: inode}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("initramfs: %s: %w", name, err)
		}
		if _, err := archive.Write(content); err != nil {
			return fmt.Errorf("initramfs: %s: %w", name, store.Explain(err))
		}
		return nil
	}
	for _, dir := range []string{"dev", "proc", "sys", "run", "tmp", "mnt", "modules"} {
		if err := put(dir, cpio.TypeDir|0o755, nil); err != nil {
			return err
		}
	}
	var order strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&order, "%s.ko\n", m.name)
		if err := put("modules/"+m.name+".ko", cpio.TypeReg|0o644, m.content); err != nil {
			return err
		}
	}
	if err := put("modules/order", cpio.TypeReg|0o644, []byte(order.String())); err != nil {
		return err
	}
	if err := put("init", cpio.TypeReg|0o755, agent); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("initramfs: %w", store.Explain(err))
	}
	return nil
}

// checkStatic rejects a program that needs a dynamic linker: an initramfs has
// none, and the kernel would only report that there is no working init.
func checkStatic(path string, program []byte) error {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("agent program %s is not an ELF executable: %w", path, err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("agent program %s is dynamically linked, and a guest's first file system has no libraries: build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}

package firecracker

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment"
)

// program writes an executable of 64 bits, whose only segment names its interpreter.
func program(t *testing.T, interpreter string) string {
	t.Helper()
	header := elf.Header64{Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT)}
	header.Ehsize = uint16(binary.Size(header))
	segment := elf.Prog64{Type: uint32(elf.PT_INTERP), Filesz: uint64(len(interpreter) + 1)}
	if interpreter != "" {
		header.Phoff, header.Phnum, header.Phentsize = uint64(header.Ehsize), 1, uint16(binary.Size(segment))
		segment.Off = header.Phoff + uint64(header.Phentsize)
	}
	var file bytes.Buffer
	for _, part := range []any{header, segment, []byte(interpreter + "\x00")} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "firecracker")
	if err := os.WriteFile(path, file.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// The jailer says "No such file or directory" where the dynamic linker is missing.
func TestAJailNeedsAStaticFirecracker(t *testing.T) {
	const linker = "/lib64/ld-linux-x86-64.so.2"
	script := filepath.Join(t.TempDir(), "firecracker")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, program, jailer, reason string
		state                         environment.State
	}{
		{"static", program(t, ""), "jailer", "is statically linked", environment.Usable},
		{"dynamic", program(t, linker), "jailer", "firecracker is dynamically linked, and a jail has no " + linker, environment.Missing},
		{"a script", script, "jailer", "firecracker is no program that a jail could run: ", environment.Missing},
		{"dynamic, without a jail", program(t, linker), "", "not needed without this option; ", environment.Usable},
	} {
		o := defaults()
		o.Program, o.Jailer = c.program, c.jailer
		for _, r := range requirements(o) {
			if r.What != "a static Firecracker, for the option jailer" {
				continue
			}
			f := r.Check(t.Context())
			if f.State != c.state || !strings.Contains(f.Reason, c.reason) || (f.State == environment.Missing) != strings.Contains(f.Fix.String(), musl) {
				t.Errorf("%s: %+v", c.name, f)
			}
			c.state = ""
		}
		if c.state != "" {
			t.Errorf("%s: it is not checked", c.name)
		}
	}
}

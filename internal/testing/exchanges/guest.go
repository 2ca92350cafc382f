package exchanges

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// kernel returns a kernel that does nothing: it halts its CPU, with interrupts off.
// It runs for as long as its VMM does, even where KVM is slow. It has the entry
// points of both VMMs: of 64 bits, and of PVH, of 32 bits.
func kernel() []byte {
	const address, header, segment, note, size = 1 << 24, 64, 56, 20, 0x200
	code := []byte{0xfa, 0xf4, 0xeb, 0xfd} // cli; hlt; jmp to the hlt
	var file bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&file, binary.LittleEndian, v) // to memory
		}
	}
	put(elf.Header64{
		Ident:   [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_EXEC),
		Machine: uint16(elf.EM_X86_64),
		Version: uint32(elf.EV_CURRENT), Entry: address, Phoff: header, Ehsize: header, Phentsize: segment, Phnum: 2, Shentsize: 64,
	})
	const notes = header + 2*segment
	put(elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: size, Vaddr: address, Paddr: address, Filesz: size, Memsz: size, Align: size})
	put(elf.Prog64{Type: uint32(elf.PT_NOTE), Flags: uint32(elf.PF_R), Off: notes, Vaddr: address, Paddr: address, Filesz: note, Memsz: note, Align: 4})
	const physical32Entry = 18 // XEN_ELFNOTE_PHYS32_ENTRY
	put(uint32(4), uint32(4), uint32(physical32Entry), []byte("Xen\x00"), uint32(address))
	put(make([]byte, size-file.Len()), code)
	return append(file.Bytes(), make([]byte, 2*size-file.Len())...)
}

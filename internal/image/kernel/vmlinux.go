package kernel

import (
	"bytes"
	"cmp"
	"compress/bzip2"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz/lzma"
	"github.com/xi2/xz"
)

// The x86 boot protocol's setup header, by offset in the file
// (Documentation/arch/x86/boot.rst of the kernel).
const (
	offSetupSectors  = 0x1f1
	offMagic         = 0x202 // "HdrS"
	offProtocol      = 0x206
	offPayload       = 0x248 // from the start of the protected-mode part
	offPayloadLength = 0x24c
	setupHeaderEnd   = 0x250
)

// maxUnpacked is the most that a kernel or a module may unpack to, ten times the
// size of Debian's kernel for clouds: a damaged file cannot fill the memory.
const maxUnpacked = 512 << 20

// maxDictionary is the memory for the window of an xz stream: twice that of xz -9, with
// which kernels are built.
const maxDictionary = 128 << 20

// vmlinux extracts the ELF kernel from a bzImage.
func vmlinux(bzImage []byte) ([]byte, error) {
	if len(bzImage) < setupHeaderEnd || string(bzImage[offMagic:offMagic+4]) != "HdrS" {
		return nil, fmt.Errorf("not a bzImage: the setup header's magic HdrS is absent")
	}
	le := binary.LittleEndian
	if protocol := le.Uint16(bzImage[offProtocol:]); protocol < 0x0208 {
		return nil, fmt.Errorf("bzImage of boot protocol %d.%d: the payload's place is known from 2.8 on", protocol>>8, protocol&0xff)
	}
	setup := uint64(bzImage[offSetupSectors])
	setup = cmp.Or(setup, 4)
	start := (setup+1)*512 + uint64(le.Uint32(bzImage[offPayload:]))
	end := start + uint64(le.Uint32(bzImage[offPayloadLength:]))
	if start >= end || end > uint64(len(bzImage)) || end-start < 8 {
		return nil, fmt.Errorf("bzImage says that its payload is at %d to %d, but it has %d bytes", start, end, len(bzImage))
	}
	payload := bzImage[start:end]
	plain, err := unpack(payload, maxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("payload of the bzImage: %w", err)
	}
	if !bytes.HasPrefix(plain, []byte(elf.ELFMAG)) {
		return nil, fmt.Errorf("payload of the bzImage is not an ELF file: it begins with % x", plain[:min(4, len(plain))])
	}
	return plain, nil
}

// unpack decompresses by the format that the first bytes indicate. It ignores
// what follows the compressed stream: the kernel's build appends the
// uncompressed size, four bytes, to most formats. More than limit bytes are an
// error.
func unpack(packed []byte, limit int64) ([]byte, error) {
	in := bytes.NewReader(packed)
	magic := func(s string) bool { return bytes.HasPrefix(packed, []byte(s)) }
	switch {
	case magic("\x1f\x8b"):
		r, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		r.Multistream(false)
		return readNamed("gzip", r, limit)
	case magic("\xfd7zXZ\x00"):
		r, err := xz.NewReader(in, maxDictionary)
		if err != nil {
			return nil, fmt.Errorf("xz: %w", err)
		}
		r.Multistream(false)
		return upToAppendedSize("xz", r, packed, limit)
	case magic("\x28\xb5\x2f\xfd"):
		r, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(maxUnpacked))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		defer r.Close()
		return upToAppendedSize("zstd", r, packed, limit)
	case magic("\x02\x21\x4c\x18"):
		return upToAppendedSize("lz4", lz4.NewReader(in), packed, limit)
	case magic("BZh"):
		return upToAppendedSize("bzip2", bzip2.NewReader(in), packed, limit)
	case magic("\x5d\x00\x00"):
		r, err := lzma.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("lzma: %w", err)
		}
		return upToAppendedSize("lzma", r, packed, limit)
	case magic(elf.ELFMAG):
		return packed, nil
	}
	return nil, fmt.Errorf("unknown compression: it begins with % x", packed[:min(6, len(packed))])
}

func readNamed(format string, r io.Reader, limit int64) ([]byte, error) {
	plain, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case int64(len(plain)) > limit:
		return nil, fmt.Errorf("%s: it unpacks to more than %d bytes", format, limit)
	case err != nil:
		return plain, fmt.Errorf("%s: %w after %d bytes", format, err, len(plain))
	}
	return plain, nil
}

// upToAppendedSize reads to the end, or to the size in the last four bytes if
// the decoder fails on them.
func upToAppendedSize(format string, r io.Reader, packed []byte, limit int64) ([]byte, error) {
	plain, err := readNamed(format, r, limit)
	if err != nil && len(plain) > 0 && uint64(len(plain)) == uint64(binary.LittleEndian.Uint32(packed[len(packed)-4:])) {
		return plain, nil
	}
	return plain, err
}

// pvhEntry reports whether an ELF kernel has the note with its PVH entry point,
// without which a machine without firmware cannot boot it.
func pvhEntry(kernel []byte) bool {
	const physicalEntry32 = 18 // XEN_ELFNOTE_PHYS32_ENTRY
	file, err := elf.NewFile(bytes.NewReader(kernel))
	if err != nil {
		return false
	}
	for _, program := range file.Progs {
		if program.Type != elf.PT_NOTE {
			continue
		}
		notes, err := io.ReadAll(program.Open())
		if err != nil {
			return false
		}
		for len(notes) >= 12 {
			name := file.ByteOrder.Uint32(notes)
			size := file.ByteOrder.Uint32(notes[4:])
			kind := file.ByteOrder.Uint32(notes[8:])
			notes = notes[12:]
			padded := uint64(name+3)&^3 + uint64(size+3)&^3
			if uint64(len(notes)) < padded {
				return false
			}
			if kind == physicalEntry32 && bytes.HasPrefix(notes, []byte("Xen\x00")) {
				return true
			}
			notes = notes[padded:]
		}
	}
	return false
}

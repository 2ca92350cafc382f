package kernel

import (
	"strings"
	"tare/internal/testing/fuzzing"
	"testing"
)

// FuzzKernel: what is taken for a compressed kernel is unpacked within a bound.
func FuzzKernel(f *testing.F) {
	for _, magic := range []string{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x03\x00", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "\x02\x21\x4c\x18", "BZh9", "\x5d\x00\x00", "\x7fELF"} {
		f.Add([]byte(magic + strings.Repeat("\x00", 40)))
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		const limit = 1 << 16
		fuzzing.Allocates(t, 1<<30, func() {
			if plain, err := unpack(packed, limit); err == nil && len(plain) > max(limit, len(packed)) {
				t.Errorf("%d bytes", len(plain))
			}
		})
	})
}

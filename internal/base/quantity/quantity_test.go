package quantity

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBytesReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]Bytes{
		"512MiB": 512 << 20, "1.5GB": 1500000000, "4096": 4096, "0": 0, "10 kB": 10000, "2GiB": 2 << 30, "7B": 7,
		"64k": 64 << 10, "64K": 64 << 10, "32M": 32 << 20, "512m": 512 << 20, "4G": 4 << 30, "1T": 1 << 40, "64 KiB": 64 << 10, "1.5KB": 1500,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "12 parsecs", "1e30GB", "NaN", "64kib", "10%", "4Mbit", "k"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d; want an error", text, got)
		}
	}
}

func TestSharesReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]Share{"2%": .02, "0.02": .02, "50 %": .5, "0": 0} {
		if got, err := ParseShare(text); err != nil || got != want {
			t.Errorf("ParseShare(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	if _, err := ParseShare("two"); err == nil {
		t.Error("a word is no share")
	}
	if got := Share(.02).String(); got != "2%" {
		t.Errorf("a share prints as %q", got)
	}
}

func TestMarshalledQuantitiesReadBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Range(0, 1<<52).Draw(t, "bytes"))
		text, _ := b.MarshalText()
		if back, err := ParseBytes(string(text)); err != nil || back != b {
			t.Fatalf("%d came back as %d, %v", b, back, err)
		}
		s := Share(rapid.Float64Range(-10, 10).Draw(t, "share"))
		text, _ = s.MarshalText()
		if back, err := ParseShare(string(text)); err != nil || back != s {
			t.Fatalf("%v came back as %v, %v", s, back, err)
		}
	})
}

package term

import (
	"slices"
	"strings"
	"testing"
)

func TestLinesBreakAtSpacesAlone(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"needs the device /dev/kvm here", []string{"needs the device", "/dev/kvm here"}},
		{"at unix:///var/run/docker.sock: ok", []string{"at", "unix:///var/run/docker.sock:", "ok"}},
		{"a so-called re-try-again-later", []string{"a so-called", "re-try-again-later"}},
		{"  fix: modprobe kvm_intel", []string{"  fix: modprobe", "kvm_intel"}},
		{"two  spaces\nand a line", []string{"two  spaces", "and a line"}},
		{"undo by `tare rm a-long-name` or so", []string{"undo by", "`tare rm a-long-name`", "or so"}},
		{"`wc -l --a-long one...`: ended", []string{"`wc -l --a-long", "one...`: ended"}},
		{"it`s one mark alone here", []string{"it`s one mark", "alone here"}},
		{"\x1b[1mbold words are\x1b[0m as wide", []string{"\x1b[1mbold words are\x1b[0m as", "wide"}},
	} {
		if got := Wrap(c.text, 17); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, strings.Join(got, "|"), strings.Join(c.want, "|"))
		}
	}
}

package rootfs

import (
	"io"
	"strings"
	"tare/internal/base/quantity"
	"tare/internal/testing/imagetest"
	"testing"
)

// plenty is a budget that no test exceeds.
func plenty() *Budget {
	return &Budget{size: quantity.GiB, names: quantity.GiB, entries: maxEntries, why: "the test"}
}

func TestLayersAreHeldToTheirBudget(t *testing.T) {
	directory := t.TempDir()
	small := imagetest.Layer(t, directory, "a=1", "b=22")
	linked := imagetest.Layer(t, directory, "a=333", "b==a", "c==a")
	long := imagetest.Layer(t, directory, strings.Repeat("d/", maxName/2)+"e=1")
	for _, c := range []struct {
		what   string
		b      Budget
		layers []string
		want   string
	}{
		{"fits exactly", Budget{size: 3, names: 2, entries: 2}, []string{small}, ""},
		{"a hidden file takes no space", Budget{size: 3, names: 4, entries: 4}, []string{small, small}, ""},
		{"a link has no content of its own", Budget{size: 3, names: 5, entries: 3}, []string{linked}, ""},
		{"a link to a replaced file carries its content", Budget{size: 4, names: 9, entries: 9}, []string{linked, imagetest.Layer(t, directory, "a=7")}, ""},
		{"and pays for it", Budget{size: 3, names: 9, entries: 9}, []string{linked, imagetest.Layer(t, directory, "a=7")}, "b has 3B, which is too much"},
		{"content", Budget{size: 2, names: 9, entries: 9}, []string{small}, "b has 2B, which is too much"},
		{"files of all layers", Budget{size: 9, names: 9, entries: 3}, []string{small, small}, "layer 2: it has too many files"},
		{"names", Budget{size: 9, names: 1, entries: 9}, []string{small}, "too many files"},
		{"one name", *plenty(), []string{long}, "more than 4096 bytes"},
	} {
		_, err := flatten(t.Context(), c.layers, io.Discard, &c.b)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

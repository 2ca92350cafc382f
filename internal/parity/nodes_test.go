package parity

import (
	"fmt"
	"slices"
	"testing"
)

func TestFactsInWhichNodesDifferAreListedWithTheirNodes(t *testing.T) {
	on := func(node, environment, text string) Fingerprint {
		f := print(environment, text)
		f.Node = node
		return f
	}
	differ := func(a, b Fingerprint) (facts []string) {
		for key, x := range a.Facts {
			if y := b.Facts[key]; x.Missing == "" && y.Missing == "" && x != y {
				facts = append(facts, key)
			}
		}
		return facts
	}
	pairs := [][]Fingerprint{
		{on("n1", "runc", "node[kernel] = 6.1\nkernel.release = 6.1\nlibc = musl"), on("n2", "runc", "node[kernel] = 6.8\nkernel.release = 6.8\nlibc = musl"), on("n3", "runc", "node[kernel] = 6.8\nkernel.release = 6.8\nlibc = musl")},
		{on("n1", "gvisor", "node[kernel] = 6.1\nkernel.release = 4.4\nlibc = musl"), on("n2", "gvisor", "node[kernel] = 6.8\nkernel.release = 4.4\nlibc = ?no server"), on("n3", "gvisor", "node[kernel] = 6.8\nkernel.release = 4.4\nlibc = musl")},
		nil,
	}
	n := AcrossNodes(pairs, differ)
	var got []string
	for _, f := range n.Differ {
		got = append(got, fmt.Sprint(f))
	}
	want := []string{
		"{node[kernel] [runc gvisor] [{6.8 [n2 n3]} {6.1 [n1]}]}",
		"{kernel.release [runc] [{6.8 [n2 n3]} {6.1 [n1]}]}",
	}
	if !slices.Equal(got, want) || !slices.Equal(n.Names, []string{"n1", "n2", "n3"}) {
		t.Errorf("%v: %q", n.Names, got)
	}
}

package model

import (
	"testing"

	"tare/internal/papers/published"
	"tare/internal/study"
)

func TestWhatIsInsideAMachineIsComparedWithItsLike(t *testing.T) {
	mine := study.Environment{Name: "mine", Kind: "docker", Inside: &study.Environment{Name: "vm", Kind: "qemu"}}
	for inside, want := range map[string]bool{"qemu": true, "vsphere": false, "": false} {
		if got := fits(mine, published.Environment{Kind: "docker", Inside: inside}); got != want {
			t.Errorf("docker in a machine of qemu, and one published inside %q: %t", inside, got)
		}
	}
	mine.Inside = nil
	if !fits(mine, published.Environment{Kind: "docker"}) || fits(mine, published.Environment{Kind: "docker", Inside: "qemu"}) {
		t.Error("docker on the host is not told from docker in a machine")
	}
}

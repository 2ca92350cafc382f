package model

import (
	"testing"

	"tare/internal/papers/published"
	"tare/internal/study"
)

func TestWhatIsInsideAMachineIsComparedWithItsLike(t *testing.T) {
	mine := study.Environment{Name: "mine", Kind: "docker", Inside: &study.Environment{Name: "vm", Kind: "qemu"}}
	for inside, want := range map[string]bool{"qemu": true, "vsphere": false, "": false} {
		if _, got := differences(mine, published.Environment{Kind: "docker", Inside: inside}, nil); got != want {
			t.Errorf("docker in a machine of qemu, and one published inside %q: %t", inside, got)
		}
	}
	mine.Inside.System.Suite = "trixie"
	if _, fits := differences(mine, published.Environment{Kind: "docker", Inside: "qemu"}, nil); fits {
		t.Error("a system that the study chose stands for one that was published")
	}
	mine.Inside = nil
	_, same := differences(mine, published.Environment{Kind: "docker"}, nil)
	if _, other := differences(mine, published.Environment{Kind: "docker", Inside: "qemu"}, nil); !same || other {
		t.Error("docker on the host is not told from docker in a machine")
	}
}

package netns

import (
	"errors"
	"net"
	"os"
	"testing"

	"tare/internal/testing/needs"
)

func TestWhatIsDoneInANamespaceIsNotSeenOutside(t *testing.T) {
	needs.Root(t)
	outside, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	space, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer space.Close()
	oops := errors.New("oops")
	err = Within(space, func() error {
		if inside, err := os.Readlink(own); err != nil || inside == outside {
			t.Errorf("inside is %s, outside is %s (%v)", inside, outside, err)
		}
		interfaces, err := net.Interfaces()
		if err != nil || len(interfaces) != 1 || interfaces[0].Name != "lo" {
			t.Errorf("it has the interfaces %v (%v)", interfaces, err)
		}
		return oops
	})
	if err != oops {
		t.Errorf("what was done inside failed with %v", err)
	}
	for range 20 {
		if now, err := os.Readlink(own); err != nil || now != outside {
			t.Fatalf("outside became %s (%v)", now, err)
		}
	}
}

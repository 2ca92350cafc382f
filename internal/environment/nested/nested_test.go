package nested

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"testing"

	"tare/internal/environment"
)

// versioned is an environment of which only the versions are asked.
type versioned struct {
	environment.Environment
	versions map[string]string
}

func (v versioned) Versions(context.Context) map[string]string { return maps.Clone(v.versions) }

// Run with -race: instances start in parallel.
func TestInstancesThatStartInParallelLearnTheVersionsOnce(t *testing.T) {
	e := &nested{Nesting: Nesting{Environment: versioned{versions: map[string]string{"qemu": "10"}}}}
	inner := versioned{versions: map[string]string{"docker": "28"}}
	var started sync.WaitGroup
	for range 8 {
		started.Go(func() {
			e.learnVersions(t.Context(), inner)
			if got := e.Versions(t.Context()); got["docker"] != "28" || got["qemu"] != "10" {
				t.Errorf("the versions are %v", got)
			}
		})
	}
	started.Wait()
	e.learnVersions(t.Context(), versioned{versions: map[string]string{"docker": "another"}})
	if got := e.Versions(t.Context())["docker"]; got != "28" {
		t.Errorf("a later instance changed the version to %s", got)
	}
}

func TestAnInnerInstanceWithoutANetworkUsesTheMachinesAddress(t *testing.T) {
	for options, want := range map[string]bool{
		`{"network": "host"}`: true, `{"network": "loopback"}`: true,
		`{"network": "bridge"}`: false, `{"network": ""}`: false, `{}`: false, `null`: false,
	} {
		if got := Shares(json.RawMessage(options)); got != want {
			t.Errorf("%s: %t", options, got)
		}
	}
}

func TestPathsNameWhatLiesInnermostFirst(t *testing.T) {
	for _, c := range []struct{ inner, outer, want string }{
		{"overlay2", "ext4 on virtio-blk", "overlay2 in vm, then ext4 on virtio-blk"},
		{"", "ext4 on virtio-blk", "ext4 on virtio-blk"},
		{"overlay2", "", "overlay2 in vm"},
		{"", "", ""},
	} {
		if got := through(c.inner, c.outer, "vm"); got != c.want {
			t.Errorf("%q in %q: %q", c.inner, c.outer, got)
		}
	}
}

func TestWordsOfAScriptAreTakenAsTheyStand(t *testing.T) {
	if got := quote(`a 'b' $c`); got != `'a '\''b'\'' $c'` {
		t.Errorf("%s", got)
	}
}

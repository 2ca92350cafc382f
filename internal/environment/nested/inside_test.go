package nested

import (
	"encoding/json"
	"testing"
)

func TestWhoeverHasNoNetworkOfHisOwnIsReachedAtTheMachinesAddress(t *testing.T) {
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

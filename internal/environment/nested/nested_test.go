package nested

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tare/internal/environment"
)

// versioned is an environment of which only the versions and the label are asked.
type versioned struct {
	environment.Environment
	versions map[string]string
	label    string
}

func (v versioned) Label() string { return v.label }

func (v versioned) Versions(context.Context) map[string]string { return maps.Clone(v.versions) }

// Run with -race: instances start in parallel.
func TestInstancesThatStartInParallelLearnTheVersionsOnce(t *testing.T) {
	e := &nested{Nesting: Nesting{Environment: versioned{versions: map[string]string{"qemu": "10"}}}}
	inner := versioned{versions: map[string]string{"docker": "28"}}
	var started sync.WaitGroup
	for range 8 {
		started.Go(func() {
			if err := e.learn(t.Context(), inner); err != nil {
				t.Error(err)
			}
			if got := e.Versions(t.Context()); got["docker"] != "28" || got["qemu"] != "10" {
				t.Errorf("the versions are %v", got)
			}
		})
	}
	started.Wait()
	if err := e.learn(t.Context(), versioned{versions: map[string]string{"docker": "another"}}); err != nil {
		t.Error(err)
	}
	if got := e.Versions(t.Context())["docker"]; got != "28" {
		t.Errorf("a later instance changed the version to %s", got)
	}
}

func TestARunThatFindsTheDiskPreparedKnowsTheVersionsOnIt(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "disk")
	outer := Nesting{Environment: versioned{versions: map[string]string{"qemu": "10"}}}
	preparing := &nested{Nesting: outer, known: &known{Versions: map[string]string{"docker": "28"}}}
	preparing.keep(disk)
	later := &nested{Nesting: outer, system: "Debian GNU/Linux 13 (trixie)"}
	later.keep(disk)
	want := map[string]string{"qemu": "10", "docker": "28", "system": "Debian GNU/Linux 13 (trixie)"}
	if got := later.Versions(t.Context()); !maps.Equal(got, want) {
		t.Errorf("the versions are %v", got)
	}
	if got := later.facts(); got["provider[docker version]"] != "28" || got["machine.system"] != want["system"] {
		t.Errorf("the facts are %v", got)
	}
	other := &nested{Nesting: outer}
	if other.keep(disk + "-of-an-earlier-tare"); other.known != nil {
		t.Errorf("a disk without versions gives %v", other.known)
	}
}

func TestTheLabelSaysWhatEmulatesWhat(t *testing.T) {
	for _, c := range []struct {
		guests             bool
		inner, outer, want string
		emulated           bool
	}{
		{false, "", "", "", false},
		{false, "", "tcg", "tcg", true},
		{true, "", "", "kvm in kvm", false},
		{true, "", "tcg", "kvm in tcg", true},
		{true, "tcg", "", "tcg in kvm", true},
		{true, "tcg", "tcg", "tcg in tcg", true},
	} {
		e := &nested{Nesting: Nesting{Environment: versioned{label: c.outer}, Needs: environment.Needs{Guests: c.guests}}}
		if got := e.Label(); got != c.outer {
			t.Errorf("before anything ran in the machine the label is %q", got)
		}
		if err := e.learn(t.Context(), versioned{label: c.inner}); err != nil {
			t.Error(err)
		}
		if got := e.Label(); got != c.want || environment.Emulated(got) != c.emulated {
			t.Errorf("%+v: %q, %t", c, got, environment.Emulated(got))
		}
	}
}

// Where the probe of KVM says something else than before, values would have the wrong label.
func TestAGuestThatIsNotRunAsTheLabelSaysIsRefused(t *testing.T) {
	e := &nested{Nesting: Nesting{Kind: "qemu", Outer: "vm"}, known: &known{}}
	err := e.learn(t.Context(), versioned{label: "tcg"})
	if err == nil || !strings.Contains(err.Error(), "qemu in vm runs under tcg now, and under kvm when") {
		t.Error(err)
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

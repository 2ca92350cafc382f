package debian

import (
	"context"
	"path/filepath"
	"strings"
	"tare/internal/image/store"
	"tare/internal/testing/imagetest"
	"tare/internal/testing/needs"
	"testing"
)

func TestAReleasesAptIsApartFromTheHosts(t *testing.T) {
	needs.Program(t, "apt-get")
	distro, err := Host()
	needs.Working(t, "a distribution with apt", err)
	a, done, err := NewApt(t.Context(), imagetest.Must(store.Open(t.TempDir())), distro, distro.Suite)
	if err != nil || a.options != nil {
		t.Errorf("the host's own release: %q, %v", a.options, err)
	}
	done()
	s := imagetest.Must(store.Open(t.TempDir()))
	a, done, err = NewApt(t.Context(), s, distro, "trixie-or-another")
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Dir(strings.TrimPrefix(a.options[1], "Dir::Etc::SourceList="))
	if list := store.ReadText(filepath.Join(work, "sources.list")); !strings.Contains(list, " trixie-or-another main") || strings.Contains(list, " "+distro.Suite+" ") {
		t.Errorf("its sources are %s", list)
	}
	if version, err := a.Candidate(context.Background(), "apt"); err != nil || version != "" {
		t.Errorf("before it has lists it knows apt %q, %v", version, err)
	}
	done()
	if store.Exists(work) {
		t.Errorf("%s is left", work)
	}
}

package origin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestAStopSignalIsReadAsEnginesDo(t *testing.T) {
	for given, want := range map[string]string{"": "", "SIGINT": "SIGINT", "term": "SIGTERM", "3": "SIGQUIT", "SIGRTMIN+3": "37", "rtmax": "64"} {
		c, err := newConfig(v1.Config{StopSignal: given})
		if err != nil || c.StopSignal != want {
			t.Errorf("%q: %+v, %v; want %q", given, c, err, want)
		}
	}
	for _, given := range []string{"999", "SIGNOTHING", "-1", "0"} {
		if _, err := newConfig(v1.Config{StopSignal: given}); err == nil || !strings.Contains(err.Error(), given) {
			t.Errorf("%q: %v", given, err)
		}
	}
}

func TestAnImageThatNobodyDescribesHasAnErrorOfItsOwn(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	if _, err := Describe(t.Context(), "docker-daemon:a"); !errors.Is(err, ErrSilent) {
		t.Error(err)
	}
	if _, err := Describe(t.Context(), "tar:/nowhere.tar"); err == nil || errors.Is(err, ErrSilent) {
		t.Error(err)
	}
}

func TestATagIsWhatFollowsTheLastColonUnlessTheDirectoryHasIt(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a:b")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	for rest, want := range map[string]layoutOrigin{
		"layout":       {"layout", ""},
		"layout:tag":   {"layout", "tag"},
		"/x:y/layout":  {"/x:y/layout", ""},
		"/x:y/f:1.0":   {"/x:y/f", "1.0"},
		odd:            {odd, ""},
		odd + ":three": {odd, "three"},
	} {
		if got := layoutReference(rest); got != want {
			t.Errorf("%s: got %+v, want %+v", rest, got, want)
		}
	}
}

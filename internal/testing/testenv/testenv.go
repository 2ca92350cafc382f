// Package testenv has what tests with real instances need: a store of images that all
// tests share, a small image, an owner whose clean-up is checked, and reasons to skip.
//
// It must not know any kind of environment. Only tests import it.
package testenv

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tare/internal/agent"
	_ "tare/internal/agent/program"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/testing/needs"
)

// Images is the directory of the store that all tests share: $TARE_TEST_IMAGES, else one
// below the directory for temporary files. It is kept for the next test run.
func Images() string {
	if directory := os.Getenv("TARE_TEST_IMAGES"); directory != "" {
		return directory
	}
	return filepath.Join(os.TempDir(), "tare-test-images")
}

// Recipe is the smallest image: the distribution's essential packages.
func Recipe() recipe.Recipe { return recipe.Recipe{} }

// Get finds or makes the small image, without a test.
func Get(ctx context.Context, progress func(string)) (*image.Image, error) {
	store, err := image.Open(Images())
	if err != nil {
		return nil, err
	}
	recipe := Recipe()
	return store.Get(ctx, image.Source{Recipe: &recipe}, progress)
}

// Image is the small image.
func Image(t testing.TB) *image.Image {
	t.Helper()
	needs.Program(t, "mmdebstrap")
	img, err := Get(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// Owner opens an owner in a home and closes it at the end of the test, which fails if
// anything is left.
func Owner(t testing.TB, home string) *cleanup.Owner {
	t.Helper()
	o, err := cleanup.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// OnlyOwner is the id of the only living owner of a home.
func OnlyOwner(t testing.TB, home string) string {
	t.Helper()
	alive, err := cleanup.Alive(home)
	if err != nil || len(alive) != 1 {
		t.Fatalf("the owners in %s are %q (%v)", home, alive, err)
	}
	return alive[0]
}

var theAgent = sync.OnceValue(func() error {
	directory, err := os.MkdirTemp("", "tare-agent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	_, err = agent.WriteBinary(directory)
	return err
})

// NeedsAgent skips a test in a binary without the agent's program.
func NeedsAgent(t testing.TB) {
	t.Helper()
	needs.Working(t, "the agent's program", theAgent())
}

// NeedsKind skips a test if a kind does not work here with these options, with the first
// requirement that is not met.
func NeedsKind(t testing.TB, kind string, options any) {
	t.Helper()
	needs.Real(t)
	if state, findings := environment.Check(t.Context(), kind, options); state == environment.Missing {
		last := findings[len(findings)-1]
		t.Skipf("needs %s: %s", last.What, last.Reason)
	}
}

// Package testenv is what tests with real instances stand on: one
// store of images for all test programs, a small image that is made once, an
// owner that must leave nothing, and the reasons to skip.
//
// It must not know any kind of environment. Only tests import it.
package testenv

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"tare/internal/agent"
	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/image"
)

// Images is the folder of the store that all tests share: $TARE_TEST_IMAGES,
// else one below the folder for temporary files that stays, so that the second
// run of the tests makes nothing anew.
func Images() string {
	if folder := os.Getenv("TARE_TEST_IMAGES"); folder != "" {
		return folder
	}
	return filepath.Join(os.TempDir(), "tare-test-images")
}

// Recipe is the smallest image: the distribution's essential packages.
func Recipe() image.Recipe { return image.Recipe{} }

// Get finds or makes the small image; for processes that are not tests
// themselves.
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
	NeedsPrograms(t, "mmdebstrap")
	img, err := Get(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// Owner opens one in a home and closes it at the end of the test, which fails
// if anything still stood then.
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

// OnlyOwner is the id of the one that is alive in a home.
func OnlyOwner(t testing.TB, home string) string {
	t.Helper()
	alive, err := cleanup.Alive(home)
	if err != nil || len(alive) != 1 {
		t.Fatalf("the owners in %s are %q (%v)", home, alive, err)
	}
	return alive[0]
}

// NeedsRoot skips a test of anybody else.
func NeedsRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: instances have a root file system and a cgroup of their own")
	}
}

// NeedsPrograms skips a test without these on the PATH.
func NeedsPrograms(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s: %v", name, err)
		}
	}
}

var theAgent = sync.OnceValue(func() error {
	folder, err := os.MkdirTemp("", "tare-agent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	_, err = agent.WriteBinary(folder)
	return err
})

// NeedsAgent skips a test that was built without the agent's program.
func NeedsAgent(t testing.TB) {
	t.Helper()
	if err := theAgent(); err != nil {
		t.Skip("needs the agent's program: " + err.Error())
	}
}

// NeedsKind skips a test where a kind of environment does not work with these
// options, with the first requirement that does not hold.
func NeedsKind(t testing.TB, kind string, options any) {
	t.Helper()
	if state, findings := environment.Check(t.Context(), kind, options); state == environment.Missing {
		last := findings[len(findings)-1]
		t.Skipf("needs %s: %s", last.What, last.Reason)
	}
}

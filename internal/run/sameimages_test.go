package run

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/image"
)

// A run that is made again has the images of the first one: from the store of the
// machine, also where their source is gone, or from what was received with the run.
func TestARunThatIsMadeAgainHasTheSameImage(t *testing.T) {
	once := "{blocks: 1, fresh: block, rounds: 1}"
	home, p := t.TempDir(), plan(t, "[{use: ./echo.yaml}]", once, two)
	first := execute(t, t.Context(), Options{Home: home, Plan: p})
	was := first.Run.Manifest.AllImages()
	source := strings.TrimPrefix(p.Image.Reference, "tar:")
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	if again := execute(t, t.Context(), Options{Home: home, Plan: p, Images: was}); again.Failed != 0 || again.Run.Manifest.Image != was[""] {
		t.Errorf("again: %d failed, image %v, and it was %v", again.Failed, again.Run.Manifest.Image, was[""])
	}

	elsewhere := t.TempDir()
	store, err := image.Open(Images(elsewhere))
	if err != nil {
		t.Fatal(err)
	}
	made, err := image.Existing(Images(home)).Stored(was[""].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Receive(t.Context(), *made, func() (io.Reader, error) { return os.Open(made.Tar()) }); err != nil {
		t.Fatal(err)
	}
	if again := execute(t, t.Context(), Options{Home: elsewhere, Plan: p, Images: was}); again.Failed != 0 || again.Run.Manifest.Image != was[""] {
		t.Errorf("elsewhere: %d failed, image %v, and it was %v", again.Failed, again.Run.Manifest.Image, was[""])
	}

	other := plan(t, "[{use: ./echo.yaml}]", once, two)
	nowhere := Options{Home: t.TempDir(), Plan: other, Images: was}
	nowhere.Directory = filepath.Join(nowhere.Home, "run")
	_, err = Execute(t.Context(), nowhere)
	if bad := (*InputError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "its source gives sha256:") {
		t.Errorf("the error for another image is %v", err)
	}
}

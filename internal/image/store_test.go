package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/image/recipe"
	"tare/internal/image/store"
	"testing"
)

func TestASourceIsExactlyOneThing(t *testing.T) {
	for want, source := range map[string]Source{
		"a recipe or a reference":         {},
		"both a recipe and the reference": {Recipe: &recipe.Recipe{}, Reference: "x"},
	} {
		if _, err := openStore(t).Get(t.Context(), source, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSweepTakesWhatNobodyWorksOn(t *testing.T) {
	s := openStore(t)
	image := strings.Repeat("ab", 32)
	for _, half := range []string{"images/.building-0123456789ab/tmp", "images/.pulling-0123456789ab", "images/" + image + "/.making-folder/etc",
		"images/" + image + "/.making-disk.ext4", "kernels/.making-linux_1", "kernels/.apt-trixie/lists", "guests/.making-linux_1-0123456789ab"} {
		if err := os.MkdirAll(s.files.Path(half), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := s.files.Lock(t.Context(), "disk-"+image[:12])
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	swept, err := s.Sweep()
	if err != nil || len(swept) != 6 {
		t.Errorf("swept %d, not 6: %v, %v", len(swept), swept, err)
	}
	if !store.Exists(s.files.Path("images", image, ".making-disk.ext4")) {
		t.Error("what somebody works on was swept")
	}
}

func TestAnImageIsNamedByAUniquePrefixOfTwelveDigits(t *testing.T) {
	s := openStore(t)
	one, two, other := strings.Repeat("ab", 32), strings.Repeat("ab", 31)+"cd", strings.Repeat("ac", 32)
	for _, hex := range []string{one, two, other} {
		if err := os.MkdirAll(s.files.Path("images", hex), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{
		"": "write at least 12 digits of the digest; candidates: sha256:a", "sha256:": "write at least 12 digits", "sha256:ff": "there is no image \"sha256:ff\" in the store",
		"sha256:acacacacaca": "write at least 12 digits of the digest; candidates: sha256:" + other, other: "there is no image",
		"sha256:abababababab": "2 images begin with it; candidates: sha256:",
	} {
		found, err := s.Find(prefix)
		if named := (*PrefixError)(nil); !errors.As(err, &named) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %q", prefix, found, err, want)
		}
	}
	if got, err := s.Find("sha256:" + other[:PrefixDigits]); err != nil || got.Digest != "sha256:"+other {
		t.Error(got, err)
	}
	if got, err := s.Find("sha256:" + two); err != nil || got.Digest != "sha256:"+two {
		t.Error(got, err)
	}
}

func TestADiskHasRoomForMoreThanItsContent(t *testing.T) {
	const mib = 1 << 20
	for content, want := range map[int64]int64{0: 257 * mib, 100 * mib: 387 * mib, 1000 * mib: 1557 * mib} {
		if got := diskSize(content); got != want {
			t.Errorf("%d MiB: %d MiB, want %d", content/mib, got/mib, want/mib)
		}
	}
}

func TestNoOtherUserReachesTheImages(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "store")
	for range 2 { // the second time, an older tare has made it
		if _, err := Open(directory); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(directory); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := os.Chmod(directory, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	absent := filepath.Join(t.TempDir(), "absent")
	if list, err := Existing(absent).List(); err != nil || len(list) > 0 || store.Exists(absent) {
		t.Errorf("a list of nothing: %v, %v", list, err)
	}
}

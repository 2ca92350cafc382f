package cli

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/image"
	"tare/internal/image/origin"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/rundir/archive"
)

// rootFS is a root file system with one file, as tare packs it.
func rootFS(t *testing.T, content string) (data []byte, digest string) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: "file", Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), "sha256:" + hex.EncodeToString(sum[:])
}

// packedImages is an archive of a run and of images with these contents.
func packedImages(t *testing.T, contents ...string) (path string, digests []string) {
	t.Helper()
	store, err := image.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	var images []*image.Image
	for _, content := range contents {
		data, digest := rootFS(t, content)
		made := image.Image{Digest: digest, Name: "test", Env: []string{"A=" + content}, Config: origin.Config{Cmd: []string{content}}}
		img, err := store.Receive(t.Context(), made, func() (io.Reader, error) { return bytes.NewReader(data), nil })
		if err != nil {
			t.Fatal(err)
		}
		images, digests = append(images, img), append(digests, digest)
	}
	directory := reportedRun(t, t.TempDir())
	path = filepath.Join(t.TempDir(), "run.zst")
	err = archive.Create(path, func(w io.Writer) error {
		return archive.Write(t.Context(), w, "test", "r", directory, rundir.Passing, images)
	})
	if err != nil {
		t.Fatal(err)
	}
	return path, digests
}

// What an archive has besides is not stored: it would stay for ever.
func TestOnlyImagesThatARunNamesAndTheMachineLacksAreTakenFromAnArchive(t *testing.T) {
	path, digests := packedImages(t, "wanted", "other")
	app := &App{Stdout: io.Discard, Stderr: io.Discard, Home: t.TempDir(), Version: "test"}
	t.Cleanup(func() {
		for _, end := range app.atEnd {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := app.find(path); err != nil {
		t.Fatal(err)
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, format) }
	for range 2 { // the second time it is here
		if err := app.receiveImages(t.Context(), path, map[string]rundir.ImageFacts{"": {Digest: digests[0]}}, say); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := image.Existing(run.Images(app.Home)).List()
	if got := lists.Map(entries, func(e image.Entry) string { return e.Digest }); err != nil || !slices.Equal(got, digests[:1]) {
		t.Errorf("the store has %v, %v", got, err)
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "image: taking ") {
		t.Errorf("it said %q", said)
	}
	img, err := image.Existing(run.Images(app.Home)).Stored(digests[0])
	if err != nil || !slices.Equal(img.Env, []string{"A=wanted"}) || !slices.Equal(img.Config.Cmd, []string{"wanted"}) {
		t.Errorf("the image is %+v, %v", img, err)
	}
}

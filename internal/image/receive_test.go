package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/image/rootfs"
	"tare/internal/testing/imagetest"
	"testing"
)

// received is what a store says to a root file system under a digest; "" for its own.
func received(t *testing.T, ctx context.Context, data []byte, digest string) (*Image, error) {
	t.Helper()
	top := t.TempDir()
	store, err := Open(filepath.Join(top, "store"))
	if err != nil {
		t.Fatal(err)
	}
	if digest == "" {
		sum := sha256.Sum256(data)
		digest = "sha256:" + hex.EncodeToString(sum[:])
	}
	img, err := store.Receive(ctx, Image{Digest: digest, Name: "theirs"}, func() (io.Reader, error) { return bytes.NewReader(data), nil })
	if err != nil {
		for _, pattern := range []string{"images/*", "images/.*", "references/*"} {
			if left, _ := filepath.Glob(filepath.Join(top, "store", pattern)); len(left) > 0 {
				t.Errorf("the store has %v", left)
			}
		}
	}
	return img, err
}

// What somebody else packed is unpacked by root later.
func TestARootFileSystemThatTareDidNotPackIsNotReceived(t *testing.T) {
	layer := func(entries ...string) []byte {
		data, err := os.ReadFile(imagetest.Layer(t, t.TempDir(), entries...))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	flat := func(entries ...string) []byte {
		file := filepath.Join(t.TempDir(), "rootfs.tar")
		if _, err := rootfs.Write(t.Context(), file, []string{imagetest.Layer(t, t.TempDir(), entries...)}); err != nil {
			t.Fatal(err)
		}
		return imagetest.Must(os.ReadFile(file))
	}
	sound := flat("etc/", "etc/passwd=root", "usr->etc", "same==etc/passwd")
	if img, err := received(t, t.Context(), sound, ""); err != nil {
		t.Errorf("a sound one: %v", err)
	} else if got, err := os.ReadFile(img.Tar()); err != nil || !bytes.Equal(got, sound) {
		t.Errorf("what is stored differs: %v", err)
	}
	for name, c := range map[string]struct {
		data         []byte
		digest, want string
	}{
		"another digest":               {sound, "sha256:" + strings.Repeat("0", 64), "the data has the digest"},
		"no digest":                    {sound, "sha256:../../x", "is not a digest"},
		"cut off":                      {sound[:700], "", "is not a tar file, or is damaged"},
		"no tar":                       {[]byte(strings.Repeat("hello", 1000)), "", "is not a tar file, or is damaged"},
		"an empty file":                {nil, "", "not a root file system as tare packs it"},
		"data after the end":           {append(bytes.Clone(sound), make([]byte, 512)...), "", "not a root file system as tare packs it"},
		"a path above":                 {layer("../../etc/passwd=x"), "", "not a root file system as tare packs it"},
		"an absolute path":             {layer("/etc/passwd=x"), "", "not a root file system as tare packs it"},
		"a link out":                   {layer("a==../../etc/passwd"), "", "which does not exist"},
		"an absolute link":             {layer("a==/etc/shadow"), "", "which does not exist"},
		"a link to the same":           {layer("a=x", "b==/a"), "", "not a root file system as tare packs it"},
		"a file twice":                 {layer("a=x", "a=y"), "", "not a root file system as tare packs it"},
		"a whiteout":                   {layer("a=x", ".wh.b="), "", "not a root file system as tare packs it"},
		"the name of its owner":        {layer("a=x"), "", "not a root file system as tare packs it"},
		"a name that is much too long": {layer(strings.Repeat("a/", 3000) + "b=x"), "", "more than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := received(t, t.Context(), c.data, c.digest); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := received(t, ctx, sound, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("after Ctrl-C: %v", err)
	}
}

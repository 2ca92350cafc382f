package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/image/origin"
	"tare/internal/testing/imagetest"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// forged is an image with the configuration of another one: its own layers are not those
// that the configuration names.
type forged struct{ own, genuine v1.Image }

func (f forged) RawConfigFile() ([]byte, error)      { return f.genuine.RawConfigFile() }
func (f forged) MediaType() (types.MediaType, error) { return types.DockerManifestSchema2, nil }
func (f forged) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	return f.own.LayerByDigest(h)
}

func (f forged) RawManifest() ([]byte, error) {
	m := imagetest.Must(f.own.Manifest()).DeepCopy()
	m.Config = imagetest.Must(f.genuine.Manifest()).Config
	return json.Marshal(m)
}

// withLayer is an image of one layer that is compressed.
func withLayer(t *testing.T, entries ...string) v1.Image {
	t.Helper()
	layer := imagetest.Must(tarball.LayerFromFile(imagetest.Layer(t, t.TempDir(), entries...)))
	return imagetest.Must(mutate.AppendLayers(empty.Image, layer))
}

// packed writes an image in a form, and returns the reference to it.
func packed(t *testing.T, form string, img v1.Image) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	var err error
	switch form {
	case "oci":
		err = imagetest.Must(layout.Write(path, empty.Index)).AppendImage(img)
	case "tar":
		err = tarball.WriteToFile(path, imagetest.Must(name.NewTag("team/app:1")), img)
	case "tar of a layout":
		directory := filepath.Join(t.TempDir(), "layout")
		err = imagetest.Must(layout.Write(directory, empty.Index)).AppendImage(img)
		tarDirectory(t, directory, path)
		form = "tar"
	case "registry":
		host, _, _ := loopRegistry(t)
		path = host + "/team/app:1"
		err = remote.Write(imagetest.Must(name.ParseReference(path)), img)
		form = ""
	case "docker-daemon":
		return fakeDaemon(t, imagetest.Must(img.ConfigName()).String(), img)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(form+":"+path, ":")
}

// fakeDaemon is a Docker daemon with an image under an ID.
func fakeDaemon(t *testing.T, id string, img v1.Image) string {
	t.Helper()
	var saved bytes.Buffer
	if err := tarball.Write(imagetest.Must(name.NewTag("app:1")), img, &saved); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			w.Header().Set("Api-Version", "1.44")
		case strings.HasSuffix(r.URL.Path, "/json"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"Id": %q}`, id)
		case strings.HasSuffix(r.URL.Path, "/images/get"):
			_, _ = io.Copy(w, bytes.NewReader(saved.Bytes()))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("DOCKER_HOST", "tcp://"+server.Listener.Addr().String())
	return "docker-daemon:app:1"
}

func TestTheLayersOfAnImageAreThoseThatItsConfigurationNames(t *testing.T) {
	genuine, other := withLayer(t, "bin/", "bin/tool=genuine"), withLayer(t, "bin/", "bin/tool=forged")
	longer := imagetest.Must(mutate.Append(genuine, mutate.Addendum{Layer: imagetest.Must(other.Layers())[0]}))
	for _, form := range []string{"registry", "oci", "tar", "tar of a layout", "docker-daemon"} {
		t.Run(form, func(t *testing.T) {
			s := openStore(t)
			for what, f := range map[string]forged{"it is damaged or another one": {other, genuine}, "": {longer, genuine}} {
				img := imagetest.Must(partial.CompressedToImage(f))
				if _, err := s.Get(t.Context(), Source{Reference: packed(t, form, img)}, nil); err == nil || !strings.Contains(err.Error(), what) {
					t.Errorf("%q: %v", what, err)
				}
			}
			got, err := s.Get(t.Context(), Source{Reference: packed(t, form, genuine)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			file := imagetest.Must(os.Open(got.Tar()))
			defer file.Close()
			if has := imagetest.Entries(t, file); len(has) != 2 || has[1] != "bin/tool=genuine" {
				t.Errorf("%q", has)
			}
		})
	}
}

// What says that it has the digest of another image is not taken for that image.
func TestADigestIsThatOfTheBytesAndNotWhatAnOriginSays(t *testing.T) {
	genuine, other := withLayer(t, "a=genuine"), withLayer(t, "a=forged")
	want := imagetest.Must(openStore(t).Get(t.Context(), Source{Reference: packed(t, "tar", genuine)}, nil)).Digest
	host, _, _ := loopRegistry(t)
	reference := host + "/app:1"
	if err := remote.Write(imagetest.Must(name.ParseReference(reference)), genuine); err != nil {
		t.Fatal(err)
	}
	manifest, kind := imagetest.Must(other.RawManifest()), string(imagetest.Must(other.MediaType()))
	elsewhere, _, hostile := loopRegistry(t)
	inner := hostile.Config.Handler
	hostile.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/manifests/") || r.Method == http.MethodPut {
			inner.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Docker-Content-Digest", imagetest.Must(genuine.Digest()).String())
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", fmt.Sprint(len(manifest)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(manifest)
		}
	})
	if err := remote.Write(imagetest.Must(name.ParseReference(elsewhere+"/app:1")), other); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string][2]string{
		"a registry": {elsewhere + "/app:1", reference},
		"a daemon":   {fakeDaemon(t, imagetest.Must(genuine.ConfigName()).String(), other), packed(t, "oci", genuine)},
	} {
		s := openStore(t)
		_, err := s.Get(t.Context(), Source{Reference: c[0]}, nil)
		got, second := s.Get(t.Context(), Source{Reference: c[1]}, nil)
		if second != nil || got.Digest != want {
			t.Errorf("%s: %v, then %v, %v", what, err, got, second)
		}
	}
}

func TestAnImageIsFetchedAgainIfItsDigestWasNotComparedWhenItWasStored(t *testing.T) {
	genuine, other := packed(t, "oci", withLayer(t, "a=genuine")), packed(t, "oci", withLayer(t, "a=forged"))
	s := openStore(t)
	bad := imagetest.Must(s.Get(t.Context(), Source{Reference: other}, nil))
	want := imagetest.Must(s.Get(t.Context(), Source{Reference: genuine}, nil))
	path := s.files.Path("references", referenceKey(genuine)+".json")
	// As versions wrote it that did not compare.
	text := strings.NewReplacer(`"verified"`, `"source"`, want.Digest, bad.Digest).Replace(string(imagetest.Must(os.ReadFile(path))))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := imagetest.Must(s.Get(t.Context(), Source{Reference: genuine}, nil)); got.Digest != want.Digest {
		t.Error("what was stored is used as it is")
	}
}

func TestABlobOfALayoutIsNotReadWithoutItsDigest(t *testing.T) {
	img := withLayer(t, "a=1")
	manifest := imagetest.Must(img.Manifest())
	for what, digest := range map[string]v1.Hash{"manifest": imagetest.Must(img.Digest()), "configuration": manifest.Config.Digest, "layer": manifest.Layers[0].Digest} {
		reference := packed(t, "oci", img)
		blob := filepath.Join(strings.TrimPrefix(reference, "oci:"), "blobs", digest.Algorithm, digest.Hex)
		text := imagetest.Must(os.ReadFile(blob))
		if err := os.WriteFile(blob, append(text, ' '), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := openStore(t).Get(t.Context(), Source{Reference: reference}, nil); err == nil || !strings.Contains(err.Error(), "its blob "+digest.String()+" is damaged") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnIndexLeadsToItsImageInFewSteps(t *testing.T) {
	index := func(digest, kind string) string {
		return fmt.Sprintf(`{"schemaVersion": 2, "manifests": [{"mediaType": %q, "digest": "sha256:%s", "size": 1}]}`, kind, digest)
	}
	// chain is a layout whose index is that many below an image's; none names itself.
	chain := func(img v1.Image, length int, itself bool) string {
		reference := packed(t, "oci", img)
		directory := strings.TrimPrefix(reference, "oci:")
		kind, digest := string(imagetest.Must(img.MediaType())), imagetest.Must(img.Digest()).Hex
		put := func(digest, text string) {
			if err := os.WriteFile(filepath.Join(directory, "blobs", "sha256", digest), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range length {
			text := index(digest, kind)
			sum, _, err := v1.SHA256(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			kind, digest = string(types.OCIImageIndex), sum.Hex
			put(digest, text)
		}
		if itself {
			digest, kind = strings.Repeat("0", 64), string(types.OCIImageIndex)
			put(digest, index(digest, kind))
		}
		if err := os.WriteFile(filepath.Join(directory, "index.json"), []byte(index(digest, kind)), 0o644); err != nil {
			t.Fatal(err)
		}
		return reference
	}
	img := withLayer(t, "a=1")
	for _, c := range []struct {
		reference, want string
	}{
		{chain(img, 2, false), ""},
		{chain(img, 20, false), "more than 4 indexes lead to the image"},
		{chain(img, 0, true), "is damaged"},
	} {
		_, err := openStore(t).Get(t.Context(), Source{Reference: c.reference}, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if _, described := origin.Describe(context.Background(), c.reference); (described == nil) != (c.want == "") {
			t.Errorf("its description: %v", described)
		}
	}
}

package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"tare/internal/image/origin"
	"tare/internal/testing/imagetest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"

	"tare/internal/testing/needs"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/client"
)

// twoLayers is an image whose second layer removes, replaces and adds.
func twoLayers(t *testing.T) v1.Image {
	t.Helper()
	directory := t.TempDir()
	img := empty.Image
	for _, entries := range [][]string{
		{"etc/", "etc/a=1", "etc/b=1", "bin/", "bin/tool=elf", "bin/alias==bin/tool"},
		{"etc/", "etc/.wh.a", "etc/b=2", "etc/c=3"},
	} {
		layer, err := tarball.LayerFromFile(imagetest.Layer(t, directory, entries...))
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			t.Fatal(err)
		}
	}
	config := imagetest.Must(img.ConfigFile()).DeepCopy()
	config.OS, config.Architecture = origin.Platform.OS, origin.Platform.Architecture
	config.Config.Env = []string{"PATH=/bin", "LANG=C"}
	config.Config.WorkingDir = "/etc"
	config.Config.Entrypoint, config.Config.Cmd, config.Config.User = []string{"/bin/tool"}, []string{"serve"}, "7:8"
	config.Config.ExposedPorts = map[string]struct{}{"80/tcp": {}, "53/udp": {}}
	config.Config.Volumes = map[string]struct{}{"/var/lib/tool": {}}
	config.Config.StopSignal = "quit"
	config.Config.Healthcheck = &v1.HealthConfig{Test: []string{"CMD", "tool", "ping"}}
	return imagetest.Must(mutate.ConfigFile(img, config))
}

var twoLayersFlat = []string{"bin/", "bin/alias=elf", "bin/tool=elf", "etc/", "etc/b=2", "etc/c=3"}

var twoLayersConfig = origin.Config{
	Entrypoint: []string{"/bin/tool"}, Cmd: []string{"serve"}, User: "7:8", Ports: []string{"53/udp", "80/tcp"},
	Volumes: []string{"/var/lib/tool"}, StopSignal: "SIGQUIT", Health: []string{"CMD", "tool", "ping"},
}

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// loopRegistry is a registry on this machine that counts the layers it gave
// away.
func loopRegistry(t *testing.T) (host string, blobs *int, server *httptest.Server) {
	t.Helper()
	blobs = new(int)
	inner := registry.New()
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			*blobs++
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), blobs, server
}

func TestEveryKindOfReferenceGivesTheSameImage(t *testing.T) {
	img := twoLayers(t)
	directory := t.TempDir()

	host, _, _ := loopRegistry(t)
	inRegistry := host + "/team/app:1"
	if err := remote.Write(imagetest.Must(name.ParseReference(inRegistry)), img); err != nil {
		t.Fatal(err)
	}
	layoutDirectory := filepath.Join(directory, "layout")
	path := imagetest.Must(layout.Write(layoutDirectory, empty.Index))
	if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "one"})); err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(empty.Image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "other"})); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(directory, "saved.tar")
	if err := tarball.WriteToFile(saved, imagetest.Must(name.NewTag("team/app:1")), img); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(directory, "archive.tar")
	single := filepath.Join(directory, "single")
	if err := imagetest.Must(layout.Write(single, empty.Index)).AppendImage(img); err != nil {
		t.Fatal(err)
	}
	tarDirectory(t, single, archive)

	var digest string
	for _, reference := range []string{inRegistry, "oci:" + layoutDirectory + ":one", "oci:" + single, "tar:" + saved, "tar:" + archive} {
		t.Run(strings.SplitN(reference, ":", 2)[0], func(t *testing.T) {
			got, err := openStore(t).Get(t.Context(), Source{Reference: reference}, func(line string) { t.Log(line) })
			if err != nil {
				t.Fatal(err)
			}
			if digest == "" {
				digest = got.Digest
			}
			if got.Digest != digest {
				t.Errorf("digest %s, and another kind gave %s", got.Digest, digest)
			}
			if got.Name != reference || got.Dir != "/etc" || !cmp.Equal(got.Env, []string{"PATH=/bin", "LANG=C"}) {
				t.Errorf("got %+v", got)
			}
			if diff := cmp.Diff(twoLayersConfig, got.Config); diff != "" {
				t.Errorf("how it is started: want - got +:\n%s", diff)
			}
			file := imagetest.Must(os.Open(got.Tar()))
			defer file.Close()
			if diff := cmp.Diff(twoLayersFlat, imagetest.Entries(t, file)); diff != "" {
				t.Errorf("want - got +:\n%s", diff)
			}
			described, err := origin.Describe(t.Context(), reference)
			if err != nil {
				t.Fatal(err)
			}
			want := &origin.Description{Config: twoLayersConfig, Env: []string{"PATH=/bin", "LANG=C"}}
			if diff := cmp.Diff(want, described); diff != "" {
				t.Errorf("its description: want - got +:\n%s", diff)
			}
		})
	}
}

func TestAnImageOfSeveralPlatformsGivesThisHosts(t *testing.T) {
	host, _, _ := loopRegistry(t)
	reference := host + "/app"
	other := imagetest.Must(mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "other"}))
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: other, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "other"}}},
		mutate.IndexAddendum{Add: twoLayers(t), Descriptor: v1.Descriptor{Platform: &origin.Platform}})
	if err := remote.WriteIndex(imagetest.Must(name.ParseReference(reference)), index); err != nil {
		t.Fatal(err)
	}
	got, err := openStore(t).Get(t.Context(), Source{Reference: reference}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Dir != "/etc" {
		t.Errorf("got %+v", got)
	}
}

func TestWhatTheStoreHasIsNotPulledAgain(t *testing.T) {
	host, blobs, server := loopRegistry(t)
	img := twoLayers(t)
	for _, tag := range []string{"1", "latest"} {
		if err := remote.Write(imagetest.Must(name.ParseReference(host+"/app:"+tag)), img); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t)
	get := func(reference string) (*Image, []string) {
		var output []string
		got, err := s.Get(t.Context(), Source{Reference: reference}, func(line string) { output = append(output, line) })
		if err != nil {
			t.Fatal(err)
		}
		return got, output
	}
	first, _ := get(host + "/app:1")
	pulled := *blobs
	if pulled == 0 {
		t.Fatal("nothing was pulled at all")
	}
	get(host + "/app:1")
	get(host + "/app:latest") // another name of the same digest
	if *blobs != pulled {
		t.Errorf("%d blobs were pulled for an image that the store had", *blobs-pulled)
	}

	server.Close()
	offline, output := get(host + "/app:latest")
	if offline.Digest != first.Digest {
		t.Errorf("offline gave %s, not %s", offline.Digest, first.Digest)
	}
	if note := strings.Join(output, "\n"); !strings.Contains(note, "from the store, since checking for a newer one failed") {
		t.Errorf("the note about the silent registry is absent: %q", note)
	}

	entries := imagetest.Must(s.List())
	if len(entries) != 1 || len(entries[0].Names) != 2 {
		t.Errorf("list: %+v", entries)
	}
}

func TestAnImageInTheStoreIsReadAgainForHowItIsStarted(t *testing.T) {
	reference := "oci:" + filepath.Join(t.TempDir(), "layout")
	if err := imagetest.Must(layout.Write(strings.TrimPrefix(reference, "oci:"), empty.Index)).AppendImage(twoLayers(t)); err != nil {
		t.Fatal(err)
	}
	s := openStore(t)
	imagetest.Must(s.Get(t.Context(), Source{Reference: reference}, nil))
	path := s.files.Path("references", referenceKey(reference)+".json")
	old := s.readRecord(path)
	old.Config = nil // as versions wrote it that did not keep it
	if err := s.writeRecord(path, *old); err != nil {
		t.Fatal(err)
	}
	got := imagetest.Must(s.Get(t.Context(), Source{Reference: reference}, nil))
	if diff := cmp.Diff(twoLayersConfig, got.Config); diff != "" {
		t.Errorf("want - got +:\n%s", diff)
	}
}

func TestANewImageUnderAnOldTagIsPulled(t *testing.T) {
	host, _, _ := loopRegistry(t)
	ref := imagetest.Must(name.ParseReference(host + "/app:1"))
	s := openStore(t)
	digests := map[string]bool{}
	for i := range 2 {
		layer := imagetest.Must(tarball.LayerFromFile(imagetest.Layer(t, t.TempDir(), fmt.Sprintf("version=%d", i))))
		if err := remote.Write(ref, imagetest.Must(mutate.AppendLayers(empty.Image, layer))); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(t.Context(), Source{Reference: ref.Name()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		digests[got.Digest] = true
	}
	if len(digests) != 2 {
		t.Error("the second image under the tag was not seen")
	}
}

func TestReferencesThatLeadNowhereSayWhere(t *testing.T) {
	host, _, _ := loopRegistry(t)
	silent, _, closed := loopRegistry(t)
	closed.Close()
	directory := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plainTar := imagetest.Must(os.ReadFile(imagetest.Layer(t, directory, "a=1")))
	layoutDirectory := filepath.Join(directory, "layout")
	path := imagetest.Must(layout.Write(layoutDirectory, empty.Index))
	for _, tag := range []string{"one", "two"} {
		if err := path.AppendImage(twoLayers(t), layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})); err != nil {
			t.Fatal(err)
		}
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(refusing.Close)
	if err := remote.Write(imagetest.Must(name.ParseReference(host+"/empty")), imagetest.Must(mutate.Config(empty.Image, v1.Config{}))); err != nil {
		t.Fatal(err)
	}

	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")

	for reference, want := range map[string]string{
		host + "/nothing:1": "has no " + host + "/nothing:1: check the spelling",
		silent + "/app:1":   "registry " + silent + " does not answer",
		strings.TrimPrefix(refusing.URL, "http://") + "/app": "refuses",
		host + "/empty":                     "has no layers",
		"UPPER CASE":                        "is not a reference",
		"docker-daemon:":                    "needs a name",
		"docker-daemon:a":                   "image docker-daemon:a: the Docker daemon does not answer: dial unix /nowhere/docker.sock: connect: no such file or directory; start it",
		"oci:" + directory + "/absent:x":    "is not an OCI layout",
		"oci:" + layoutDirectory + ":three": "has no image three for " + origin.Platform.String() + "; it has one, two",
		"oci:" + layoutDirectory:            "has 2 images: name one by its tag",
		"tar:" + directory + "/absent.tar":  "no such file",
		"tar:" + write("x.tar", plainTar):   "is not an image archive",
		"tar:" + write("y.tar", []byte("not a tar, but long enough to be read as a header of one, if one were careless"+strings.Repeat(".", 512))): "is not a tar file",
	} {
		_, err := openStore(t).Get(t.Context(), Source{Reference: reference}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", reference, err, want)
		}
	}
}

// The library sees to it.
func TestAnOCILayoutIsReadWithinItsDirectory(t *testing.T) {
	for what, put := range map[string]func(blob string) error{
		"is a symlink": func(blob string) error {
			moved := filepath.Join(t.TempDir(), "blob")
			return errors.Join(os.Rename(blob, moved), os.Symlink(moved, blob))
		},
		"is not a regular file": func(blob string) error { return errors.Join(os.Remove(blob), syscall.Mkfifo(blob, 0o600)) },
	} {
		directory := filepath.Join(t.TempDir(), "layout")
		if err := imagetest.Must(layout.Write(directory, empty.Index)).AppendImage(twoLayers(t)); err != nil {
			t.Fatal(err)
		}
		blobs := imagetest.Must(filepath.Glob(filepath.Join(directory, "blobs/sha256/*")))
		if err := put(blobs[0]); err != nil {
			t.Fatal(err)
		}
		_, err := openStore(t).Get(t.Context(), Source{Reference: "oci:" + directory}, nil)
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnImageForAnotherArchitectureIsRefused(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "saved.tar")
	img := twoLayers(t)
	config := imagetest.Must(img.ConfigFile()).DeepCopy()
	config.Architecture = "s390x"
	if err := tarball.WriteToFile(saved, imagetest.Must(name.NewTag("a:1")), imagetest.Must(mutate.ConfigFile(img, config))); err != nil {
		t.Fatal(err)
	}
	_, err := openStore(t).Get(t.Context(), Source{Reference: "tar:" + saved}, nil)
	if err == nil || !strings.Contains(err.Error(), "it is for linux/s390x") {
		t.Errorf("got %v", err)
	}
}

func TestADamagedLayerIsNoticed(t *testing.T) {
	directory := t.TempDir()
	saved := filepath.Join(directory, "saved.tar")
	// A tar as docker save writes it, with a layer that its configuration does
	// not name.
	layer := imagetest.Must(os.ReadFile(imagetest.Layer(t, directory, "a=1")))
	config := []byte(`{"os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:` + strings.Repeat("0", 64) + `"]}}`)
	var buffer bytes.Buffer
	out := tar.NewWriter(&buffer)
	for _, file := range []struct {
		name    string
		content []byte
	}{{"manifest.json", []byte(`[{"Config":"c.json","Layers":["l.tar"]}]`)}, {"c.json", config}, {"l.tar", layer}} {
		if err := out.WriteHeader(&tar.Header{Name: file.name, Size: int64(len(file.content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		imagetest.Must(out.Write(file.content))
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(saved, buffer.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	s := openStore(t)
	_, err := s.Get(t.Context(), Source{Reference: "tar:" + saved}, nil)
	if err == nil || !strings.Contains(err.Error(), "layer 1 of 1: it is damaged") {
		t.Errorf("got %v", err)
	}
	if left := imagetest.Must(filepath.Glob(s.files.Path("images", ".*"))); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheOCIFormHasTheTarAsItsOnlyLayer(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "saved.tar")
	if err := tarball.WriteToFile(saved, imagetest.Must(name.NewTag("a:1")), twoLayers(t)); err != nil {
		t.Fatal(err)
	}
	s := openStore(t)
	img, err := s.Get(t.Context(), Source{Reference: "tar:" + saved}, nil)
	if err != nil {
		t.Fatal(err)
	}
	form, err := img.OCI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	layers := imagetest.Must(form.Layers())
	if len(layers) != 1 || imagetest.Must(layers[0].DiffID()).String() != img.Digest {
		t.Errorf("%d layers, the first %v", len(layers), imagetest.Must(layers[0].DiffID()))
	}
	config := imagetest.Must(form.ConfigFile())
	if config.Config.WorkingDir != "/etc" || !cmp.Equal(config.Config.Env, img.Env) {
		t.Errorf("got %+v", config.Config)
	}

	// What is handed to Docker is that image: it can be taken as a reference
	// again and gives the same digest.
	path := filepath.Join(t.TempDir(), "saved.tar")
	if err := tarball.WriteToFile(path, imagetest.Must(name.NewTag("tare-test:1")), form); err != nil {
		t.Fatal(err)
	}
	again, err := openStore(t).Get(t.Context(), Source{Reference: "tar:" + path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest != img.Digest {
		t.Errorf("the Docker form holds %s, not %s", again.Digest, img.Digest)
	}
	if err := s.Remove(img.Digest); err != nil {
		t.Fatal(err)
	}
	if _, err := img.OCI(t.Context()); err == nil || !strings.Contains(err.Error(), "no longer in the store") {
		t.Errorf("after its removal: %v", err)
	}
	if left := imagetest.Must(s.List()); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestADockerDaemonGivesBackWhatItWasGiven(t *testing.T) {
	needs.Real(t)
	engine, err := client.New(client.FromEnv)
	needs.Working(t, "a Docker daemon", err)
	t.Cleanup(func() { engine.Close() }) // after the removal of the image
	if _, err := engine.Ping(t.Context(), client.PingOptions{}); err != nil {
		t.Skipf("needs a Docker daemon: %v", err)
	}
	saved := filepath.Join(t.TempDir(), "saved.tar")
	if err := tarball.WriteToFile(saved, imagetest.Must(name.NewTag("a:1")), twoLayers(t)); err != nil {
		t.Fatal(err)
	}
	img, err := openStore(t).Get(t.Context(), Source{Reference: "tar:" + saved}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const tag = "tare-test-round-trip:1"
	path := filepath.Join(t.TempDir(), "given.tar")
	if err := tarball.WriteToFile(path, imagetest.Must(name.NewTag(tag)), imagetest.Must(img.OCI(t.Context()))); err != nil {
		t.Fatal(err)
	}
	in := imagetest.Must(os.Open(path))
	defer in.Close()
	loaded, err := engine.ImageLoad(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = engine.ImageRemove(context.Background(), tag, client.ImageRemoveOptions{}) })
	if _, err := io.Copy(io.Discard, loaded); err != nil {
		t.Fatal(err)
	}
	_ = loaded.Close()
	again, err := openStore(t).Get(t.Context(), Source{Reference: "docker-daemon:" + tag}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest != img.Digest || again.Dir != img.Dir || !cmp.Equal(again.Env, img.Env) {
		t.Errorf("gave %+v, got back %+v", img, again)
	}
	described, err := origin.Describe(t.Context(), "docker-daemon:"+tag)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&origin.Description{Config: again.Config, Env: img.Env}, described); diff != "" {
		t.Errorf("its description: want - got +:\n%s", diff)
	}
	_, err = openStore(t).Get(t.Context(), Source{Reference: "docker-daemon:tare-test-no-such-image"}, nil)
	if err == nil || !strings.Contains(err.Error(), "has no image tare-test-no-such-image") {
		t.Errorf("got %v", err)
	}
}

func tarDirectory(t *testing.T, directory, file string) {
	t.Helper()
	out := imagetest.Must(os.Create(file))
	defer out.Close()
	w := tar.NewWriter(out)
	if err := w.AddFS(os.DirFS(directory)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

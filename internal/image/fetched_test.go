package image

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"tare/internal/image/recipe"
	"tare/internal/image/rootfs"
	"tare/internal/testing/imagetest"
	"tare/internal/testing/needs"
	"testing"
)

func TestWhatNoImageNeedsAnyMoreIsRemovedWithTheLastOne(t *testing.T) {
	s := openStore(t)
	both, first := recipe.Fetch{Maven: "g:both:1", To: "/opt"}, recipe.Fetch{Maven: "g:first:1", To: "/opt"}
	for hex, recipe := range map[string]recipe.Recipe{strings.Repeat("ab", 32): {Fetch: []recipe.Fetch{both, first}}, strings.Repeat("cd", 32): {Fetch: []recipe.Fetch{both}}} {
		if err := os.MkdirAll(s.files.Path("images", hex), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{s.files.Path("images", hex, "rootfs.tar"), s.files.Path("fetched", both.Kept()), s.files.Path("fetched", first.Kept())} {
			if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.writeRecord(s.files.Path("recipes", hex+".json"), record{Digest: "sha256:" + hex, Name: hex[:2], Recipe: &recipe}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		remove string
		want   int
	}{{strings.Repeat("ab", 32), 1}, {strings.Repeat("cd", 32), 0}} {
		if err := s.Remove("sha256:" + step.remove); err != nil {
			t.Fatal(err)
		}
		if left := imagetest.Must(os.ReadDir(s.files.Path("fetched"))); len(left) != step.want {
			t.Errorf("after %s: %v", step.remove, left)
		}
	}
}

func TestAHalfFetchedThingIsSwept(t *testing.T) {
	s := openStore(t)
	for _, name := range []string{".making-k1.tar", ".making-k1.tar.work/got", ".making-k2.tar.work/got", "k3.tar"} {
		if err := os.MkdirAll(s.files.Path("fetched", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := s.files.Lock(t.Context(), "fetch-k2.tar")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if swept, err := s.Sweep(); err != nil || len(swept) != 2 {
		t.Errorf("swept %v, %v", swept, err)
	}
	if left := imagetest.Must(os.ReadDir(s.files.Path("fetched"))); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

func TestWhatARecipeFetchesIsInItsImage(t *testing.T) {
	needsBuild(t)
	needs.Program(t, "go", "mvn")
	r := recipe.Recipe{Fetch: []recipe.Fetch{
		{Go: "github.com/rogpeppe/go-internal@v1.14.1/cmd/txtar-c", To: "/usr/local/bin"},
		{Maven: "org.slf4j:slf4j-simple:2.0.13", To: "/opt/log", Dependencies: true}},
		Files:    []recipe.File{{Path: "/opt/log/simplelogger.properties", Content: "x=1\n"}},
		Commands: []string{"test -s /opt/log/slf4j-api-2.0.13.jar", "echo x > /tmp/x && txtar-c /tmp | grep -q x && rm /tmp/x"}}
	s := storeWithBase(t)
	img, err := s.Get(t.Context(), Source{Recipe: &r}, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	got := imagetest.Tar(t, img.Tar())
	for _, name := range []string{"opt/log", "opt/log/slf4j-simple-2.0.13.jar", "usr/local/bin/txtar-c"} {
		want := fs.FileMode(0o755)
		if strings.HasSuffix(name, ".jar") {
			want = 0o644
		}
		if file, ok := got[name]; !ok || file.Mode.Perm() != want || file.UID != 0 || file.GID != 0 {
			t.Errorf("%s: %+v", name, file)
		}
	}
	err = rootfs.Each(t.Context(), img.Tar(), func(_ int, header *tar.Header, _ io.Reader) error {
		if strings.HasPrefix(header.Name, "opt/log") && header.ModTime.Unix() != imagetest.Must(strconv.ParseInt(recipe.Epoch, 10, 64)) {
			t.Errorf("%s is of %s", header.Name, header.ModTime)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if kept := imagetest.Must(os.ReadDir(s.files.Path("fetched"))); len(kept) != 2 {
		t.Errorf("kept: %v", kept)
	}
	if err := s.Remove(img.Digest); err != nil {
		t.Error(err)
	}
	if kept := imagetest.Must(os.ReadDir(s.files.Path("fetched"))); len(kept) != 0 {
		t.Errorf("still kept: %v", kept)
	}
}

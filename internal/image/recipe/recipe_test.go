package recipe

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tare/internal/image/debian"
	"tare/internal/image/tool"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMergeMakesOneRecipeOfSeveral(t *testing.T) {
	redis := Recipe{Packages: []string{"redis-server", "redis-tools"}, Commands: []string{"true", "redis-server --version"},
		Files: []File{{Path: "/etc/b", Content: "b"}}}
	nginx := Recipe{Packages: []string{"nginx-light", "redis-tools"}, Commands: []string{"true", "nginx -v"},
		Files: []File{{Path: "/etc/a", Content: "a", Mode: 0o755}, {Path: "/etc/../etc/b", Content: "b", Mode: 0o644}}}
	got, err := Merge(redis, nginx)
	if err != nil {
		t.Fatal(err)
	}
	want := Recipe{
		Packages: []string{"nginx-light", "redis-server", "redis-tools"},
		Files:    []File{{Path: "/etc/a", Mode: 0o755, Content: "a"}, {Path: "/etc/b", Mode: 0o644, Content: "b"}},
		Commands: []string{"true", "redis-server --version", "nginx -v"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +:\n%s", diff)
	}
}

func TestMergeRefusesWhatCannotBeOneImage(t *testing.T) {
	for want, recipes := range map[string][]Recipe{
		"two suites, bookworm and trixie": {{Suite: "bookworm"}, {}, {Suite: "trixie"}},
		"different files at /etc/a":       {{Files: []File{{Path: "/etc/a", Content: "1"}}}, {Files: []File{{Path: "/etc//a", Content: "2"}}}},
	} {
		if _, err := Merge(recipes...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestValidateRefusesWhatNoBuildCouldMakeSenseOf(t *testing.T) {
	for want, r := range map[string]Recipe{
		`"--allow" is not a package name`:        {Packages: []string{"--allow"}},
		`"a,b" is not a package name`:            {Packages: []string{"a,b"}},
		`file path "etc/x": it must be absolute`: {Files: []File{{Path: "etc/x"}}},
		"mode 0100644 of /x: permission":         {Files: []File{{Path: "/x", Mode: 0o100644}}},
		"command 2 is empty":                     {Commands: []string{"true", " "}},
		`"book worm" is not a suite`:             {Suite: "book worm"},
	} {
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	good := Recipe{Packages: []string{"g++", "libc6=2.36-9", "nginx/bookworm", "fonts-dejavu-core", "apt:amd64"}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

func TestAFileNextToTheStudyIsItsContent(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{"load.js": "export default 1", "photo.bin": "\xff\xfe", "large": strings.Repeat("x", 1<<20+1)} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(directory, "accounts")); err != nil {
		t.Fatal(err)
	}
	r := Recipe{Files: []File{{Path: "/a", Content: "as it is"}, {Path: "/opt/load.js", Mode: 0o755, From: "load.js"}}}
	if err := r.Validate(); err == nil {
		t.Error("a file that is not read yet was taken for one without content")
	}
	want := []File{{Path: "/a", Content: "as it is"}, {Path: "/opt/load.js", Mode: 0o755, Content: "export default 1"}}
	if err := r.ReadFiles(directory); err != nil || !cmp.Equal(r.Files, want) {
		t.Errorf("%v, %v", r.Files, err)
	}
	for want, f := range map[string]File{
		"/x has content and from":      {Path: "/x", From: "load.js", Content: "y"},
		"from gone: no such file":      {Path: "/x", From: "gone"},
		"from ../load.js: it must be":  {Path: "/x", From: "../load.js"},
		"from /etc/passwd: it must be": {Path: "/x", From: "/etc/passwd"},
		"from accounts: path escapes":  {Path: "/x", From: "accounts"},
		"photo.bin: it is not text":    {Path: "/x", From: "photo.bin"},
		"from large: it is too long":   {Path: "/x", From: "large"},
	} {
		r := Recipe{Files: []File{f}}
		if err := r.ReadFiles(directory); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The cache key depends on what is built, not on how it is spelt.
func TestTheKeyIsThatOfTheBuild(t *testing.T) {
	key := func(r Recipe) string {
		n, err := r.normal("bookworm")
		if err != nil {
			t.Fatal(err)
		}
		return n.key("debian", "amd64")
	}
	rapid.Check(t, func(t *rapid.T) {
		packages := rapid.SliceOfN(rapid.StringMatching(`[a-z][a-z0-9+.-]{1,8}`), 1, 6).Draw(t, "packages")
		r := Recipe{Packages: packages, Files: []File{{Path: "/a", Content: "1"}, {Path: "/b", Content: "2"}}}
		shuffled := Recipe{Suite: "bookworm", Packages: append(slices.Clone(packages), packages[0]),
			Files: []File{{Path: "/b", Content: "2", Mode: 0o644}, {Path: "/a", Content: "1"}}}
		rand.Shuffle(len(shuffled.Packages), func(i, j int) {
			shuffled.Packages[i], shuffled.Packages[j] = shuffled.Packages[j], shuffled.Packages[i]
		})
		if key(r) != key(shuffled) {
			t.Fatalf("%v and %v have different keys", r, shuffled)
		}
		more := r
		more.Commands = []string{"true"}
		if key(r) == key(more) {
			t.Fatal("a command more has the same key")
		}
	})
	n, _ := Recipe{}.normal("bookworm")
	if n.key("debian", "amd64") == n.key("debian", "arm64") || n.key("debian", "amd64") == n.key("ubuntu", "amd64") {
		t.Error("another architecture or distribution has the same key")
	}
}

func TestABuildsFailureIsExplainedInOneSentence(t *testing.T) {
	debian := debian.Distribution{ID: "debian", Suite: "bookworm"}
	for _, c := range []struct{ output, want string }{
		{"Reading package lists...\nE: Unable to locate package redis-sever\nE: Unable to locate package ngnix\nE: apt-get failed", "no package redis-sever, ngnix in debian bookworm"},
		{"E: Package 'foo' has no installation candidate\n", "no package foo in"},
		{"E: Couldn't find any package by glob 'x.y'\nE: Couldn't find any package by regex 'x.y'\n", "no package x.y in"},
		{"E: Version '9' for 'redis' was not found\n", "package redis has no version 9"},
		{"tar: ./x: Cannot write: No space left on device\n", "no space left on the disk of the image store"},
		{"Err:1 http://m.example bookworm InRelease\n  Temporary failure resolving 'm.example'\nE: Failed to fetch http://m.example/dists/x  Temporary failure resolving 'm.example'\n", "a package source cannot be reached"},
		{"E: The repository 'http://m.example/debian foo Release' does not have a Release file.\n", "check the suite bookworm"},
		{"Segmentation fault\n", "its last lines:\n  Segmentation fault"},
	} {
		err := explainBuild(&tool.Error{Cause: errors.New("exit status 25"), Output: c.output}, "bookworm", debian)
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.output, err, c.want)
		}
	}
}

package conformance

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// ofLinks are the kinds that make a root on this machine from an image's directory.
var ofLinks = []struct{ kind, options string }{
	{"native", `{"root": "folder"}`},
	{"native", `{"root": "overlay", "data": "overlay"}`},
	{"native", `{"root": "overlay", "data": "tmpfs"}`},
	{"bubblewrap", `{}`},
	{"oci", `{"root": "folder"}`},
	{"oci", `{"root": "overlay"}`},
	{"oci", `{"root": "bind"}`},
	{"oci", `{"root": "folder", "runtime": "crun"}`},
}

// An image has a link wherever something is made or mounted in its root, and names the
// programs and libraries of a directory of the host. Whether it starts is not asked.
func TestAnImageOfLinksChangesNothingOfTheHost(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, out := range []string{"", "../../../../../../..", "/oldroot"} {
		for _, k := range ofLinks {
			t.Run(named(k.kind, k.options)+" "+out, func(t *testing.T) {
				host := t.TempDir()
				err := os.WriteFile(filepath.Join(host, "resolv.conf"), []byte("the host's"), 0o600)
				for _, name := range []string{"bwrap", "sh", "runc"} {
					if err == nil {
						err = os.WriteFile(filepath.Join(host, name), []byte("#!/bin/sh\necho x >"+host+"/executed\n"), 0o755)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				before, there := listing(t, host), out+host
				for _, links := range []map[string]string{
					{}, {"etc": there}, {"data": there}, {"data": there + "/new"},
					{"proc": there + "/proc", "sys": there + "/sys", "dev": there + "/dev"},
					{"tare-agent": there + "/agent", ".tare": there}, {"usr": there, "bin": there, "var": there, "tmp": there, "run": there},
				} {
					var variables []string
					if len(links) == 0 {
						variables = []string{"PATH=" + host, "LD_PRELOAD=" + host + "/resolv.conf"}
					}
					_ = start(t, k.kind, k.options, links, variables)
					if after := listing(t, host); after != before {
						t.Errorf("%v: the host has\n%s\nand before the start\n%s", links, after, before)
						before = after
					}
				}
			})
		}
	}
}

// An absolute link of an image means its own root.
func TestALinkWithinAnImageIsFollowed(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, k := range ofLinks[:4] {
		t.Run(named(k.kind, k.options), func(t *testing.T) {
			if err := start(t, k.kind, k.options, map[string]string{"data": "/inside", "etc": "/inside"}, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// start starts and stops an instance of an image of links.
func start(t *testing.T, kind, options string, links map[string]string, variables []string) error {
	t.Helper()
	registration, _ := environment.Lookup(kind)
	decoded := registration.Options()
	if err := json.Unmarshal([]byte(options), decoded); err != nil {
		t.Fatal(err)
	}
	testenv.NeedsKind(t, kind, decoded)
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	err := w.WriteHeader(&tar.Header{Name: "inside/", Typeflag: tar.TypeDir, Mode: 0o755})
	for name, to := range links {
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777})
		}
	}
	if err == nil {
		err = w.Close()
	}
	home := t.TempDir()
	store, opening := image.Open(home)
	if err != nil || opening != nil {
		t.Fatal(err, opening)
	}
	sum := sha256.Sum256(content.Bytes())
	img, err := store.Receive(t.Context(), image.Image{Digest: "sha256:" + hex.EncodeToString(sum[:]), Name: "links", Env: variables, Dir: "/"},
		func() (io.Reader, error) { return &content, nil })
	if err != nil {
		t.Fatal(err)
	}
	e, err := registration.New(decoded)
	if err == nil {
		err = e.Prepare(t.Context(), img, func(string) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	owner := testenv.Owner(t, home)
	i, err := e.Start(t.Context(), environment.Request{Name: "links", Owner: owner, Image: img, Console: io.Discard})
	t.Logf("started: %v", err)
	if err == nil {
		err = i.Stop(context.Background())
	}
	for _, line := range testenv.Left(context.Background(), home, owner.ID()) {
		t.Errorf("left behind: %s", line)
	}
	return err
}

// listing is all that a directory has, with modes and contents.
func listing(t *testing.T, directory string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		fmt.Fprintf(&text, "%s %s %q\n", path, info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

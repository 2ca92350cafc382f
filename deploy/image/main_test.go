package main

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePackageSourcesAreTheDistributionsOwn(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "rootfs.tar")
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	const text = "# comment\n\ndeb http://mirror.example/debian stable main contrib non-free\ndeb http://mirror.example/debian stable-updates main\n#deb-src http://mirror.example/debian stable main\n"
	w := tar.NewWriter(file)
	for name, text := range map[string]string{"./etc/os-release": "ID=debian\n", "./usr/share/doc/apt/examples/sources.list": text} {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := distributionSources(archive)
	if want := "deb http://mirror.example/debian stable main\ndeb http://mirror.example/debian stable-updates main\n"; err != nil || string(got) != want {
		t.Errorf("%v, %q", err, got)
	}
	if err := os.WriteFile(archive, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := distributionSources(archive); err == nil || !strings.Contains(err.Error(), "the package sources of the distribution") {
		t.Error(err)
	}
}

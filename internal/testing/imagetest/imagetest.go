// Package imagetest makes layers for the tests of images, and lists what tars and
// directories hold. It must not know images: their packages are tested with it.
package imagetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"testing"
	"time"
)

// Layer writes a layer to a new file in a directory. An entry is "path=content", "path/" (directory), "path->target"
// (symlink) and "path==target" (hard link).
func Layer(t interface{ Fatal(...any) }, directory string, entries ...string) string {
	var buffer bytes.Buffer
	out := tar.NewWriter(&buffer)
	for _, e := range entries {
		header := &tar.Header{Mode: 0o644, ModTime: time.Unix(1, 0), Uname: "somebody"}
		content := ""
		switch {
		case strings.HasSuffix(e, "/"):
			header.Typeflag, header.Name, header.Mode = tar.TypeDir, e, 0o755
		case strings.Contains(e, "=="):
			header.Typeflag = tar.TypeLink
			header.Name, header.Linkname, _ = strings.Cut(e, "==")
		case strings.Contains(e, "->"):
			header.Typeflag = tar.TypeSymlink
			header.Name, header.Linkname, _ = strings.Cut(e, "->")
		default:
			header.Typeflag = tar.TypeReg
			header.Name, content, _ = strings.Cut(e, "=")
			header.Size = int64(len(content))
		}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(directory, "layer-")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(buffer.Bytes()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// Entries lists a flat tar in the same notation, sorted, each hard link with
// its content ("path=content") after checking that its target came before.
func Entries(t interface{ Fatal(...any) }, flat io.Reader) []string {
	content := map[string]string{}
	var list []string
	in := tar.NewReader(flat)
	for {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uname != "" {
			t.Fatal("an owner's name was kept")
		}
		switch header.Typeflag {
		case tar.TypeDir:
			list = append(list, header.Name)
		case tar.TypeSymlink:
			list = append(list, header.Name+"->"+header.Linkname)
		case tar.TypeLink:
			target, ok := content[header.Linkname]
			if !ok {
				t.Fatal("hard link " + header.Name + " comes before its target " + header.Linkname)
			}
			content[header.Name] = target
			list = append(list, header.Name+"="+target)
		default:
			b, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			content[header.Name] = string(b)
			list = append(list, header.Name+"="+string(b))
		}
	}
	sort.Strings(list)
	return list
}

// Must returns a value that has no error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// File is what a form shows of one file.
type File struct {
	Kind     fs.FileMode
	Mode     fs.FileMode
	UID, GID uint32
	Content  string // of a regular file its SHA-256, of a link its target
}

// Tar lists the files of a tar.
func Tar(t *testing.T, file string) map[string]File {
	t.Helper()
	found := map[string]File{}
	in := tar.NewReader(bytes.NewReader(Must(os.ReadFile(file))))
	for header, err := in.Next(); err != io.EOF; header, err = in.Next() {
		if err != nil {
			t.Fatal(err)
		}
		mode := header.FileInfo().Mode()
		s := File{mode.Type(), mode &^ fs.ModeType, uint32(header.Uid), uint32(header.Gid), header.Linkname}
		switch header.Typeflag {
		case tar.TypeReg:
			hash := sha256.New()
			if _, err := io.Copy(hash, in); err != nil {
				t.Fatal(err)
			}
			s.Content = fmt.Sprintf("%x", hash.Sum(nil))
		case tar.TypeLink:
			s = found[path.Clean(header.Linkname)]
		}
		found[path.Clean(header.Name)] = s
	}
	return found
}

package archive

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/visible"
)

// Suffix ends the name of an archive.
const Suffix = ".tare.tar.zst"

// zipBegin are the first bytes of a zip.
const zipBegin = "PK\x03\x04"

// IsZip reports whether a file begins as a zip does.
func IsZip(file io.ReaderAt) bool {
	begin := make([]byte, len(zipBegin))
	n, _ := file.ReadAt(begin, 0)
	return string(begin[:n]) == zipBegin
}

// Unzip unpacks the run in a zip, such as CI systems make of the files of a job, into a
// directory, as Read does. The run is an archive or, in a zip without one, a directory
// with a file that marks says to be one of a run; that has no images.
func Unzip(ctx context.Context, from *os.File, into string, marks func(name string) bool) (Index, error) {
	z, err := openZip(from)
	if err != nil {
		return Index{}, err
	}
	archives, runs := contents(z, marks)
	found := runs
	if len(archives) > 0 {
		found = lists.Map(archives, func(f *zip.File) string { return f.Name })
	}
	switch {
	case len(found) == 0:
		return Index{}, fmt.Errorf("it is a zip with no run: no file ends in %s, and no directory is one of a run", Suffix)
	case len(found) > 1:
		return Index{}, fmt.Errorf("it is a zip with %d runs (%s): unpack it, and name one", len(found), listed(found))
	case len(archives) == 0:
		return unzipRun(ctx, z.File, found[0], into)
	}
	content, err := regular(archives[0])
	if err != nil {
		return Index{}, fmt.Errorf("%s: %w", found[0], err)
	}
	x, err := Read(ctx, content, into)
	if err = errors.Join(err, content.Close()); err != nil {
		return Index{}, fmt.Errorf("%s: %w", found[0], err)
	}
	return x, nil
}

// Member opens the archive that a file is or, if it is a zip, the one in it.
func Member(from *os.File) (io.ReadCloser, error) {
	if !IsZip(from) {
		return io.NopCloser(from), nil
	}
	z, err := openZip(from)
	if err != nil {
		return nil, err
	}
	archives, _ := contents(z, func(string) bool { return false })
	if len(archives) != 1 {
		return nil, fmt.Errorf("it is a zip with %d archives", len(archives))
	}
	return regular(archives[0])
}

func openZip(from *os.File) (*zip.Reader, error) {
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	// The reader takes memory for each entry before it says how many there are.
	limited := &listing{from: from, left: 2 * int64(maxIndex)}
	z, err := zip.NewReader(limited, info.Size())
	if err != nil {
		return nil, fmt.Errorf("it is not a zip: %w", err)
	}
	limited.read = true
	if len(z.File) > maxFiles {
		return nil, fmt.Errorf("it has %d files, and at most %d are read", len(z.File), maxFiles)
	}
	return z, nil
}

// listing reads a zip, and limits how much of it is read before its list of files is.
type listing struct {
	from *os.File
	left int64
	read bool
}

func (l *listing) ReadAt(p []byte, at int64) (int, error) {
	if !l.read {
		if l.left -= int64(len(p)); l.left < 0 {
			return 0, fmt.Errorf("its list of files is too long: at most %d files are read", maxFiles)
		}
	}
	return l.from.ReadAt(p, at)
}

// contents are the archives in a zip, and its directories with a file that marks a run. A
// run can contain files of any name, so what is in another directory of a run is none.
func contents(z *zip.Reader, marks func(name string) bool) (archives []*zip.File, runs []string) {
	for _, f := range z.File {
		switch {
		case f.FileInfo().IsDir() || !plain(f.Name):
		case strings.HasSuffix(f.Name, Suffix):
			archives = append(archives, f)
		case marks(path.Base(f.Name)):
			runs = append(runs, path.Dir(f.Name))
		}
	}
	return archives, outermost(runs)
}

// outermost are the directories that are in no other one of them.
func outermost(directories []string) (outer []string) {
	if slices.Contains(directories, ".") {
		return []string{"."}
	}
	// A byte that no path has sorts what is below a directory right behind it.
	const slash = "\x00"
	sorted := lists.Map(directories, func(d string) string { return strings.ReplaceAll(d, "/", slash) })
	slices.Sort(sorted)
	last := ""
	for n, d := range sorted {
		if n == 0 || d != last && !strings.HasPrefix(d, last+slash) {
			last = d
			outer = append(outer, strings.ReplaceAll(d, slash, "/"))
		}
	}
	return outer
}

// listed are the first of some names.
func listed(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

func unzipRun(ctx context.Context, files []*zip.File, directory, into string) (Index, error) {
	name := path.Base(directory)
	if directory == "." {
		name = "run"
	}
	x := Index{Run: name}
	var members []*zip.File
	var sum quantity.Bytes
	for _, f := range files {
		below, is := strings.CutPrefix(f.Name, directory+"/")
		if directory == "." {
			below, is = f.Name, true
		}
		if !is || f.FileInfo().IsDir() {
			continue
		}
		switch {
		case !plain(below) || strings.Count(below, "/") >= maxDepth:
			return Index{}, fmt.Errorf("%.100q is not a path in a run", visible.Line(f.Name))
		case f.UncompressedSize64 > uint64(maxSize-sum):
			return Index{}, fmt.Errorf("its files have more than %s", maxSize)
		}
		size := quantity.Bytes(f.UncompressedSize64)
		sum += size
		x.Files, members = append(x.Files, File{Path: path.Join(name, below), Size: size}), append(members, f)
	}
	if len(x.Files)+len(x.directories()) > maxFiles {
		return Index{}, fmt.Errorf("it has too many files and directories: at most %d are read", maxFiles)
	}
	if err := enough(into, x.room()); err != nil {
		return Index{}, err
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return Index{}, err
	}
	defer root.Close()
	for i, f := range members {
		content, err := regular(f)
		if err == nil {
			// The reader ends at the announced size, and compares the checksum.
			err = errors.Join(x.Files[i].write(root, reader{ctx, content}), content.Close())
		}
		if err != nil {
			return Index{}, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return x, nil
}

// regular opens a file of a zip, which may not be a link or a device.
func regular(f *zip.File) (io.ReadCloser, error) {
	if !f.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return f.Open()
}

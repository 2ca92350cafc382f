package observe

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/linux/searchpath"
)

// maxProgramBytes bounds the size of a program whose checksum is computed.
const maxProgramBytes = 256 << 20

// programs describes the named programs and those of the processes. It looks up
// all packages at once, since reading the database is slow.
func (a *Answer) programs(names []string) {
	found, wanted := map[string]Program{}, map[string]*origin{}
	for _, name := range names {
		p := program(name)
		found[name] = p
		for _, path := range []string{p.Path, p.Loader} {
			if path != "" {
				wanted[path] = &origin{}
			}
		}
	}
	for _, p := range a.Processes {
		if exe := p.Texts["exe"]; exe != "" && len(p.Files) > 0 && found[exe].Path == "" {
			p := program(exe)
			found[exe] = p
			wanted[p.Path], wanted[p.Loader] = &origin{}, &origin{}
		}
	}
	packages(wanted)
	for name, p := range found {
		if o := wanted[p.Path]; o != nil {
			p.Package, p.Version = o.name, o.version
		}
		if o := wanted[p.Loader]; o != nil {
			p.LoaderPackage, p.LoaderVersion = o.name, o.version
		}
		a.Programs[name] = p
	}
}

func program(name string) (p Program) {
	path, err := searchpath.Find(name, os.Getenv("PATH"))
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		p.Error = err.Error()
		return p
	}
	p.Path = path
	file, err := bounded.Open(path)
	if err != nil {
		p.Error = err.Error()
		return p
	}
	defer file.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(file, head)
	p.Loader = loader(head[:n])
	if at, err := filepath.EvalSymlinks(p.Loader); err == nil && p.Loader != "" {
		p.Loader = at
	}
	sum := sha256.New()
	sum.Write(head[:n])
	copied, err := io.Copy(sum, io.LimitReader(file, maxProgramBytes))
	switch {
	case err != nil:
		p.Error = err.Error()
	case copied == maxProgramBytes:
		p.Error = fmt.Sprintf("it is larger than %d MiB", maxProgramBytes>>20)
	default:
		p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	}
	return p
}

// loader returns the interpreter of an executable: of a script's #! line, or of
// the PT_INTERP header of an ELF file.
func loader(head []byte) string {
	if script, is := bytes.CutPrefix(head, []byte("#!")); is {
		line, _, _ := bytes.Cut(script, []byte("\n"))
		if words := strings.Fields(string(line)); len(words) > 0 {
			return words[0]
		}
		return ""
	}
	const interp = 3
	if len(head) < 64 || string(head[:4]) != "\x7fELF" || head[4] != 2 || head[5] != 1 {
		return "" // only 64-bit little-endian files, as on all supported hosts
	}
	word := binary.LittleEndian
	at, size, count := word.Uint64(head[32:]), uint64(word.Uint16(head[54:])), int(word.Uint16(head[56:]))
	for range count {
		if at > uint64(len(head))-56 {
			break
		}
		header, end := head[at:], uint64(len(head))
		if from, long := word.Uint64(header[8:]), word.Uint64(header[32:]); word.Uint32(header) == interp && long > 0 && from < end && long <= end-from {
			return strings.TrimRight(string(head[from:from+long]), "\x00")
		}
		at += size
	}
	return ""
}

// origin is the package that a file belongs to.
type origin struct{ name, version string }

// The databases of the package managers.
const (
	dpkgLists  = "/var/lib/dpkg/info"
	dpkgStatus = "/var/lib/dpkg/status"
	apkRecords = "/lib/apk/db/installed"
)

// records reads a file of a database, which the image made: it may be a pipe, or a link to
// what has no end.
func records(path string) ([]byte, error) { return bounded.ReadFile(path, bounded.Line) }

// packages fills in the packages of files, from the database of dpkg or apk.
func packages(of map[string]*origin) {
	delete(of, "")
	if len(of) == 0 {
		return
	}
	if installed, err := records(apkRecords); err == nil {
		apk(of, string(installed))
		return
	}
	left := len(of)
	entries, _ := os.ReadDir(dpkgLists)
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".list")
		if !is || left == 0 {
			continue
		}
		list, err := records(filepath.Join(dpkgLists, e.Name()))
		if err != nil {
			continue
		}
		for path, o := range of {
			if o.name == "" && ownsFile(list, path) {
				o.name, _, _ = strings.Cut(name, ":")
				left--
			}
		}
	}
	status, _ := records(dpkgStatus)
	for _, o := range of {
		if o.name != "" {
			o.version = field(status, "Package: "+o.name+"\n", "\nVersion: ")
		}
	}
}

// ownsFile reports whether a package's list has a file. With a merged /usr,
// packages may list /bin or /usr/bin.
func ownsFile(list []byte, path string) bool {
	short, _ := strings.CutPrefix(path, "/usr")
	return slices.ContainsFunc([]string{path, short}, func(p string) bool { return bytes.Contains(list, []byte("\n"+p+"\n")) })
}

// field returns a field of the record that begins with a line.
func field(records []byte, line, key string) string {
	at := bytes.Index(records, []byte("\n"+line))
	if bytes.HasPrefix(records, []byte(line)) {
		at = 0
	} else if at < 0 {
		return ""
	}
	record, _, _ := bytes.Cut(records[at+1:], []byte("\n\n"))
	_, value, _ := bytes.Cut(record, []byte(key))
	value, _, _ = bytes.Cut(value, []byte("\n"))
	return string(value)
}

// apk reads apk's database, in which P is a package, V its version, F a directory
// and R a file in it.
func apk(of map[string]*origin, records string) {
	var now origin
	dir := ""
	for line := range strings.Lines(records) {
		letter, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch letter {
		case "P":
			now = origin{name: value}
		case "V":
			now.version = value
		case "F":
			dir = "/" + value
		case "R":
			if o := of[dir+"/"+value]; o != nil {
				*o = now
			}
		}
	}
}

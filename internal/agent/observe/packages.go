package observe

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/bounded"
)

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

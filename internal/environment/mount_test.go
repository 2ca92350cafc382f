package environment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMountIsADirectoryOrAFileOfThisMachine(t *testing.T) {
	directory := t.TempDir()
	directory, _ = filepath.EvalSymlinks(directory)
	for _, made := range []error{
		os.Mkdir(filepath.Join(directory, "corpus"), 0o755), os.WriteFile(filepath.Join(directory, "file"), nil, 0o644),
		os.Symlink("corpus", filepath.Join(directory, "link")), os.Mkdir(filepath.Join(directory, "a:b"), 0o755), os.Symlink("a:b", filepath.Join(directory, "odd")),
	} {
		if made != nil {
			t.Fatal(made)
		}
	}
	for text, want := range map[string]string{
		"corpus:/corpus":              directory + "/corpus:/corpus",
		"./link:/a/b:ro":              directory + "/corpus:/a/b:ro",
		directory + "/file:/etc/x:ro": directory + "/file:/etc/x:ro",
		"corpus":                      `"corpus" is not HOST:INSIDE or HOST:INSIDE:ro`,
		"corpus:ro":                   `"corpus:ro" is not HOST:INSIDE`,
		":/corpus":                    "is not HOST:INSIDE",
		"corpus:/a:rw":                "neither path can have a colon",
		"odd:/a":                      "the path has a colon",
		"missing:/a":                  directory + "/missing: no such file or directory",
		"/dev/null:/a":                "/dev/null: it is neither a directory nor a regular file",
		"/:/host":                     "/ of this machine cannot be mounted",
		"corpus:corpus":               `"corpus" is not the path of something inside`,
		"corpus:/":                    "is not the path of something inside",
		"corpus:/a/../b":              "is not the path of something inside",
		"corpus:/a/":                  "is not the path of something inside",
		"corpus:/data":                "/data is the instance's own directory",
		"corpus:/data/x":              "/data is the instance's own directory",
		"corpus:/proc/x":              "nothing can be added to /proc",
		"corpus:/usr/local/share":     "nothing can be added to /usr",
		"corpus:/var/lib/dpkg":        "nothing can be added to /var/lib/dpkg",
		"corpus:/var/lib/app":         directory + "/corpus:/var/lib/app",
		"corpus:/user":                directory + "/corpus:/user",
	} {
		m, err := ParseMount(text, directory)
		got := m.String()
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

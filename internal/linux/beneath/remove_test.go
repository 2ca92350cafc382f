package beneath

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testing/needs"
)

func TestATreeIsRemovedHoweverDeepItIs(t *testing.T) {
	top, host := filepath.Join(t.TempDir(), "tree"), t.TempDir()
	var files unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	must(t, os.Mkdir(top, 0o700))
	t.Chdir(top)
	for n := range 3000 { // a path of 6000 bytes is longer than any that can be opened
		must(t, os.Mkdir("d", 0o700))
		if n%100 == 0 {
			must(t, os.WriteFile("file", nil, 0o400))
			must(t, os.Symlink(host, "link"))
			must(t, os.MkdirAll("e/"+fmt.Sprint(".removed-", n), 0o700))
		}
		must(t, unix.Chdir("d"))
	}
	t.Chdir(host)
	must(t, os.WriteFile("kept", nil, 0o600))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 200, Max: files.Max}))
	err := RemoveAll(top)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &files))
	must(t, err)
	if _, err := os.Lstat(top); !os.IsNotExist(err) {
		t.Errorf("the tree is still there: %v", err)
	}
	if _, err := os.Lstat("kept"); err != nil {
		t.Errorf("what a link leads to is removed: %v", err)
	}
	for _, gone := range []string{top, filepath.Join(host, "kept"), filepath.Join(host, "nothing/below")} {
		must(t, RemoveAll(gone))
	}
}

func TestADirectoryOfManyFilesIsRemoved(t *testing.T) {
	top := filepath.Join(t.TempDir(), "many")
	must(t, os.MkdirAll(filepath.Join(top, "in"), 0o700))
	for n := range 3000 {
		must(t, os.WriteFile(filepath.Join(top, "in", fmt.Sprint(n)), nil, 0o600))
	}
	must(t, RemoveAll(top))
	if _, err := os.Lstat(top); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestWhatIsMountedInATreeIsKept(t *testing.T) {
	needs.Root(t)
	top, host := t.TempDir(), t.TempDir()
	point := filepath.Join(top, "a/b/mounted")
	must(t, os.MkdirAll(point, 0o700))
	must(t, os.WriteFile(filepath.Join(host, "kept"), nil, 0o600))
	must(t, unix.Mount(host, point, "", unix.MS_BIND, ""))
	err := RemoveAll(top)
	if err == nil || !strings.Contains(err.Error(), "removing what is in "+top+": device or resource busy") {
		t.Error(err)
	}
	if entries, err := os.ReadDir(host); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	// The mount is wherever its directory went.
	must(t, unmountBelow(top))
	must(t, RemoveAll(top))
}

func unmountBelow(top string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.HasPrefix(fields[4], top) {
			err = unix.Unmount(fields[4], 0)
		}
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package permission

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"tare/internal/testing/needs"
)

func TestTheFixNamesTheGroupOfTheFileAndTheUser(t *testing.T) {
	needs.Root(t) // gives a file to a group
	path := filepath.Join(t.TempDir(), "socket")
	if err := os.WriteFile(path, nil, 0o660); err != nil {
		t.Fatal(err)
	}
	nobody, err := user.Lookup("nobody")
	needs.Working(t, "the user nobody", err)
	uid, _ := strconv.Atoi(nobody.Uid)
	other, err := user.LookupGroup("daemon")
	needs.Working(t, "the group daemon", err)
	for _, c := range []struct {
		group string
		mode  os.FileMode
		want  string
	}{
		{other.Gid, 0o660, ", or add the user to the group of " + path + " (sudo usermod -aG daemon nobody; then log in again)"},
		// Groups of a session that began before the user was added are those of before.
		{nobody.Gid, 0o660, ", or log in again: nobody is a member of the group nogroup, but was not when this session began"},
		{other.Gid, 0o640, ""},
		{"0", 0o660, ""},
	} {
		gid, _ := strconv.Atoi(c.group)
		if err := errors.Join(os.Chown(path, -1, gid), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		if got := fix(path, uid); got != "run as root (sudo)"+c.want {
			t.Errorf("group %s, mode %o: %q", c.group, c.mode, got)
		}
	}
	if got := Fix(filepath.Join(path, "absent")); got != "run as root (sudo)" {
		t.Errorf("a file that is not there: %q", got)
	}
}

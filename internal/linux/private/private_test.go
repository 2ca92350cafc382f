package private

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/testing/needs"
)

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestADirectoryIsMadeAndClosed(t *testing.T) {
	at := t.TempDir()
	made := filepath.Join(at, "a", "b")
	if err := Directory(made); err != nil || mode(t, made).Perm() != 0o700 || mode(t, filepath.Dir(made)).Perm() != 0o700 {
		t.Errorf("%v, %v", err, mode(t, made))
	}
	wide := filepath.Join(at, "wide")
	if err := errors.Join(os.Mkdir(wide, 0), os.Chmod(wide, os.ModeSetgid|0o775), Make(wide)); err != nil || mode(t, wide).Perm() != 0o775 {
		t.Errorf("what was there was changed: %v, %v", err, mode(t, wide))
	}
	link := filepath.Join(at, "link")
	if err := errors.Join(os.Symlink("wide", link), Directory(link)); err != nil || mode(t, wide) != os.ModeDir|os.ModeSetgid|0o700 {
		t.Errorf("%v, %v", err, mode(t, wide))
	}
	if err := os.WriteFile(filepath.Join(at, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"file", "file/below"} {
		if err := Directory(filepath.Join(at, path)); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// another is a user who owns nothing here.
const another = 65534

func TestAPathThatAnotherUserControlsIsRefused(t *testing.T) {
	needs.Root(t)
	at := t.TempDir()
	in := func(path string) string { return filepath.Join(at, path) }
	for _, directory := range []string{"mine", "theirs/mine", "sticky", "all"} {
		if err := os.MkdirAll(in(directory), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Chown(in("theirs"), another, another),
		os.Chmod(in("sticky"), os.ModeSticky|0o777), os.Chmod(in("all"), 0o777),
		os.Symlink("../mine", in("sticky/link")), os.Lchown(in("sticky/link"), another, another),
		os.Symlink("../mine", in("sticky/ours")),
		os.Symlink("../mine", in("theirs/link")),
		os.Symlink("theirs/link", in("around")), os.Symlink("around", in("further")),
		os.Symlink("loop", in("loop")),
	); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"mine": "", "mine/absent": "", "sticky": "", "sticky/absent": "", "sticky/ours": "", "sticky/ours/absent": "",
		"theirs": in("theirs") + " belongs to nobody, and tare runs as root: another user could redirect",
		// Its owner renames what is in it.
		"theirs/mine": in("theirs") + " belongs to", "theirs/absent": in("theirs") + " belongs to",
		// Who made a link chose where it leads.
		"sticky/link": in("sticky/link") + " belongs to", "theirs/link": in("theirs") + " belongs to",
		"around": in("theirs") + " belongs to", "further/absent": in("theirs") + " belongs to",
		"all": "every user may write to " + in("all"), "all/absent": "every user may write to",
		"loop": "too many levels of symbolic links",
	} {
		err := Check(in(path))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrForeign) == (path == "loop")) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if strings.HasSuffix(path, "absent") {
			continue
		}
		if err := Directory(in(path)); (err == nil) != (want == "") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := mode(t, in("all")).Perm(); got != 0o777 {
		t.Errorf("what was refused was changed to %v", got)
	}
	t.Setenv("SUDO_UID", "65534")
	if err := Check(in("theirs/mine")); err != nil {
		t.Errorf("of the user who called sudo: %v", err)
	}
}

func TestOneUserIsAdmitted(t *testing.T) {
	needs.Root(t)
	needs.Program(t, "setpriv")
	at, err := os.MkdirTemp("/var/tmp", "tare-private-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	file := filepath.Join(at, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	reaches := func(uid, path string) bool {
		return exec.Command("setpriv", "--reuid="+uid, "--regid="+uid, "--clear-groups", "stat", path).Run() == nil
	}
	lists := func(uid string) bool {
		return exec.Command("setpriv", "--reuid="+uid, "--regid="+uid, "--clear-groups", "ls", at).Run() == nil
	}
	if reaches("65534", file) {
		t.Fatal("the directory is open")
	}
	err = Admit(another, at)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		t.Skipf("needs access control lists on /var/tmp: %v", err)
	}
	if err != nil || !reaches("65534", file) || reaches("65533", file) || lists("65534") {
		t.Errorf("%v: admitted %v, others %v, lists %v", err, reaches("65534", file), reaches("65533", file), lists("65534"))
	}
	if err := Directory(at); err != nil || reaches("65534", file) {
		t.Errorf("it is open still: %v", err)
	}
	if err := errors.Join(os.Chmod(at, 0o755), Admit(another, at)); err != nil || mode(t, at).Perm() != 0o755 {
		t.Errorf("what was open to all became %v: %v", mode(t, at), err)
	}
}

package remote_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/testing/localhost"
	"tare/internal/testing/needs"
)

// user is this machine for a login of a user who is not root, and may use sudo.
type user struct{ localhost.Host }

const nobody = 65534

func command(argv []string) *exec.Cmd {
	if argv[0] == "sudo" {
		return exec.Command(argv[2], argv[3:]...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func (user) Run(_ context.Context, argv ...string) ([]byte, error) { return command(argv).Output() }

func (user) Put(_ context.Context, path string, mode fs.FileMode, content io.Reader) error {
	cmd := command([]string{"sh", "-c", `cat >"$1"`, "sh", path})
	cmd.Stdin = content
	return cmd.Run()
}

func (u user) Open(ctx context.Context, stderr io.Writer, argv ...string) (io.ReadWriteCloser, error) {
	if argv[0] == "sudo" {
		argv = argv[2:]
	}
	return u.Host.Open(ctx, stderr, argv...)
}

// started is the program that a session starts, from a home that is made anew.
func started(t *testing.T, h host.Host, o remote.Options) (string, error) {
	t.Helper()
	s, err := remote.Dial(t.Context(), h, o)
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { s.Close() })
	at, _, err := remote.OwnProgram()
	return filepath.Join(o.Home, at), err
}

func TestWhatIsNotTheProgramIsReplacedBeforeEachStart(t *testing.T) {
	needs.Root(t)
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for name, login := range map[string]struct {
		host host.Host
		sudo bool
	}{"root": {localhost.Host{}, false}, "sudo": {user{}, true}} {
		o := remote.Options{Home: t.TempDir(), Sudo: login.sudo}
		file, err := started(t, login.host, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for what, change := range map[string]func() error{
			"a part":            func() error { return os.Truncate(file, int64(len(own))-1) },
			"another program":   func() error { return os.WriteFile(file, []byte("#!/bin/sh\necho taken over >&2\n"), 0o755) },
			"a file of another": func() error { return os.Chown(file, nobody, nobody) },
			"a writable file":   func() error { return os.Chmod(file, 0o777) },
			"a link": func() error {
				_ = os.Rename(file, file+".moved")
				return os.Symlink(file+".moved", file)
			},
		} {
			_ = os.Remove(file) // it is being executed
			if err := os.WriteFile(file, own, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if _, err := started(t, login.host, o); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			info, err := os.Lstat(file)
			if err != nil || info.Mode() != 0o755 || info.Sys().(*syscall.Stat_t).Uid != 0 || info.Size() != int64(len(own)) {
				t.Errorf("%s, %s: it is %v %v", name, what, info, err)
			}
		}
		if left, _ := filepath.Glob("/tmp/" + filepath.Base(file) + "-*"); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// damaging changes what is copied to a host.
type damaging struct {
	host.Host
	change func(io.Reader) io.Reader
}

func (d damaging) Put(ctx context.Context, path string, mode fs.FileMode, content io.Reader) error {
	return d.Host.Put(ctx, path, mode, d.change(content))
}

func TestACopyThatIsDamagedIsNeverNamedAsTheProgram(t *testing.T) {
	needs.Root(t)
	for name, login := range map[string]struct {
		host host.Host
		sudo bool
	}{"root": {localhost.Host{}, false}, "sudo": {user{}, true}} {
		for what, change := range map[string]func(io.Reader) io.Reader{
			"a part": func(r io.Reader) io.Reader { return io.LimitReader(r, 1000) },
			"another beginning": func(r io.Reader) io.Reader {
				_, _ = io.CopyN(io.Discard, r, 9)
				return io.MultiReader(strings.NewReader("#!/bin/sh"), r)
			},
		} {
			o := remote.Options{Home: t.TempDir(), Sudo: login.sudo}
			if _, err := started(t, damaging{login.host, change}, o); err == nil || !strings.Contains(err.Error(), "has the SHA-256") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if left, _ := filepath.Glob(filepath.Join(o.Home, "programs", "*")); len(left) > 0 {
				t.Errorf("%s, %s: left %q", name, what, left)
			}
		}
	}
}

func TestTheProgramIsNotStartedWhereAnotherUserWrites(t *testing.T) {
	needs.Root(t)
	for name, change := range map[string]func(home string) error{
		"another's":     func(home string) error { return os.Chown(home, nobody, nobody) },
		"for all":       func(home string) error { return os.Chmod(home, 0o777) },
		"for the group": func(home string) error { return os.Chmod(filepath.Join(home, "programs"), 0o775) },
		"another's with bit": func(home string) error {
			_ = os.Chmod(home, fs.ModeSticky|0o777)
			return os.Chown(home, nobody, nobody)
		},
	} {
		home := filepath.Join(t.TempDir(), "home")
		if err := os.MkdirAll(filepath.Join(home, "programs"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := change(home); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(home, link); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{home, link} {
			if _, err := started(t, user{}, remote.Options{Home: at, Sudo: true}); err == nil || !strings.Contains(err.Error(), "users other than root can change "+home) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	home := filepath.Join(t.TempDir(), "home of root")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, fs.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := started(t, user{}, remote.Options{Home: home, Sudo: true}); err != nil {
		t.Errorf("in a directory like /tmp: %v", err)
	}
}

package image

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"tare/internal/image/recipe"
	"tare/internal/image/store"
	"tare/internal/testing/imagetest"
	"tare/internal/testing/needs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// needsBuild skips where no recipe can be built.
func needsBuild(t *testing.T) {
	t.Helper()
	needs.Minutes(t, "builds root file systems for real")
	needs.Root(t)
	needs.Program(t, "mmdebstrap", "mke2fs", "debugfs")
}

// storeWithBase has the bases that the tests' images begin with, where these are made.
func storeWithBase(t *testing.T) *Store {
	t.Helper()
	s := openStore(t)
	bases, err := filepath.Glob(filepath.Join(os.Getenv("TARE_TEST_IMAGES"), "bases", "*.tar"))
	for _, base := range bases {
		err = errors.Join(err, os.Symlink(base, s.files.Path("bases", filepath.Base(base))))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The recipe has a service, a file with capabilities, hard links and odd owners.
var everything = recipe.Recipe{
	Packages: []string{"redis-server", "libcap2-bin"},
	Files: []recipe.File{
		{Path: "/etc/app/app.conf", Content: "answer = 42\n"},
		{Path: "/usr/local/bin/hello", Mode: 0o4755, Content: "#!/bin/sh\necho hello\n"},
		{Path: "/etc/hosts", Content: "127.0.0.1 localhost mine\n"},
	},
	Commands: []string{
		"grep -q 42 /etc/app/app.conf && test \"$(hello)\" = hello",
		"cp /bin/true /usr/local/bin/capable && setcap cap_net_raw+ep /usr/local/bin/capable",
		"ln /etc/app/app.conf /etc/app/same.conf; touch /etc/app/theirs; chown 1234:4321 /etc/app/theirs",
	},
}

func TestARecipeIsTheSameBytesInEveryForm(t *testing.T) {
	needsBuild(t)
	ctx := t.Context()
	say := func(line string) { t.Log(line) }
	s := openStore(t)
	img, err := s.Get(ctx, Source{Recipe: &everything}, say)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("directory and disk hold what the tar holds", func(t *testing.T) {
		directory, err := img.Directory(ctx)
		if err != nil {
			t.Fatal(err)
		}
		disk, err := img.Disk(ctx)
		if err != nil {
			t.Fatal(err)
		}
		fromDisk := filepath.Join(t.TempDir(), "dump")
		if err := os.Mkdir(fromDisk, 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, "debugfs", "-R", "rdump / "+fromDisk, disk)
		inTar, inDirectory, inDisk := imagetest.Tar(t, img.Tar()), lookDirectory(t, directory), lookDirectory(t, fromDisk)
		delete(inDisk, "lost+found")
		for name := range inTar {
			// debugfs does not take out devices.
			if inTar[name].Kind&fs.ModeDevice != 0 {
				delete(inDisk, name)
				if inDirectory[name] != inTar[name] {
					t.Errorf("%s: directory %+v, tar %+v", name, inDirectory[name], inTar[name])
				}
				delete(inDirectory, name)
				delete(inTar, name)
			}
		}
		if diff := cmp.Diff(inTar, inDirectory); diff != "" {
			t.Errorf("tar - directory +:\n%s", diff)
		}
		// Nor does it take out the owners of links and the special bits of
		// modes, so those of the disk are looked at below.
		for _, form := range []map[string]imagetest.File{inTar, inDisk} {
			for name, file := range form {
				if file.Mode = file.Mode.Perm(); file.Kind&fs.ModeSymlink != 0 {
					file.Mode, file.UID, file.GID = 0, 0, 0
				}
				form[name] = file
			}
		}
		if diff := cmp.Diff(inTar, inDisk); diff != "" {
			t.Errorf("tar - disk +:\n%s", diff)
		}
		for name, mode := range map[string]string{"/usr/local/bin/hello": "Mode:  04755", "/tmp": "Mode:  01777", "/var/local": "Mode:  02775"} {
			if out := run(t, "debugfs", "-R", "stat "+name, disk); !strings.Contains(out, mode) {
				t.Errorf("disk: %s is wanted of %s: %s", mode, name, out)
			}
		}
		if len(inTar) < 3000 {
			t.Errorf("only %d files were compared", len(inTar))
		}
		t.Logf("%d files compared", len(inTar))

		var capability [64]byte
		n, err := syscall.Getxattr(filepath.Join(directory, "usr/local/bin/capable"), "security.capability", capability[:])
		if err != nil || n == 0 {
			t.Errorf("dir: the capability is gone: %v", err)
		}
		if out := run(t, "debugfs", "-R", "ea_list /usr/local/bin/capable", disk); !strings.Contains(out, "security.capability") {
			t.Errorf("disk: the capability is gone: %s", out)
		}
		a, b := imagetest.Must(os.Stat(filepath.Join(directory, "etc/app/app.conf"))), imagetest.Must(os.Stat(filepath.Join(directory, "etc/app/same.conf")))
		if !os.SameFile(a, b) {
			t.Error("dir: a hard link became a copy")
		}
		if out := run(t, "debugfs", "-R", "stat /etc/app/same.conf", disk); !strings.Contains(out, "Links: 2") {
			t.Errorf("disk: a hard link became a copy: %s", out)
		}
		run(t, "e2fsck", "-fn", disk)
	})

	t.Run("what a build leaves is the recipe's and nobody else's", func(t *testing.T) {
		directory := imagetest.Must(img.Directory(ctx))
		text := func(name string) string { return string(imagetest.Must(os.ReadFile(filepath.Join(directory, name)))) }
		if got := text("etc/hosts"); got != "127.0.0.1 localhost mine\n" {
			t.Errorf("/etc/hosts of the recipe was replaced: %q", got)
		}
		if got := text("etc/hostname"); got != "tare\n" {
			t.Errorf("/etc/hostname: %q", got)
		}
		if !strings.Contains(text("etc/services"), "6379/tcp") && !strings.Contains(text("etc/services"), "http") {
			t.Error("/etc/services names no services")
		}
		if info := imagetest.Must(os.Stat(filepath.Join(directory, "usr/local/bin/hello"))); info.Mode()&fs.ModeSetuid == 0 || info.Mode().Perm() != 0o755 {
			t.Errorf("mode of a file: %v", info.Mode())
		}
		for _, absent := range []string{"usr/sbin/policy-rc.d", "var/log/dpkg.log", "etc/apt/apt.conf.d/99mmdebstrap", "etc/dpkg/dpkg.cfg.d/99mmdebstrap", "etc/apt/sources.list"} {
			if store.Exists(filepath.Join(directory, absent)) {
				t.Errorf("/%s was left", absent)
			}
		}
		for _, empty := range []string{"var/lib/apt/lists/*", "var/cache/apt/archives/*", "tmp/*", "run/*.pid"} {
			if left := imagetest.Must(filepath.Glob(filepath.Join(directory, empty))); len(left) > 0 {
				t.Errorf("/%s holds %v", empty, left)
			}
		}
		if !store.Exists(filepath.Join(directory, "usr/share/man/man1")) {
			t.Error("/usr/share/man/man1 is missing")
		}
		if packages := store.ReadText(filepath.Join(filepath.Dir(img.Tar()), "packages")); !strings.Contains(packages, "redis-server ") {
			t.Errorf("the list of packages lacks redis-server: %q", packages)
		}
	})

	t.Run("the same recipe gives the same digest", func(t *testing.T) {
		// Nor does it matter whether apt's own user may look into the store, and what a shell
		// would make of its name.
		private := filepath.Join(t.TempDir(), "private; $HOME")
		if err := os.Mkdir(private, 0o700); err != nil {
			t.Fatal(err)
		}
		second := imagetest.Must(Open(private))
		// Nor whether it begins with a base, which the second image of a store makes.
		if err := os.WriteFile(second.files.Path("recipes", "first.json"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		again, err := second.Get(ctx, Source{Recipe: &everything}, say)
		if err != nil {
			t.Fatal(err)
		}
		if bases := imagetest.Must(filepath.Glob(second.files.Path("bases", "*.tar"))); len(bases) != 1 {
			t.Errorf("bases: %v", bases)
		}
		if again.Digest != img.Digest {
			t.Errorf("digests %s and %s", img.Digest, again.Digest)
			t.Log(cmp.Diff(imagetest.Tar(t, img.Tar()), imagetest.Tar(t, again.Tar())))
		}
		replacesOldBase(t, second)
		cached, err := s.Get(ctx, Source{Recipe: &everything}, func(line string) { t.Errorf("the store had it, and yet: %s", line) })
		if err != nil || cached.Digest != img.Digest {
			t.Errorf("from the store: %v, %v", cached, err)
		}
	})
}

// replacesOldBase gives the base of a store an old package, which no image then has.
func replacesOldBase(t *testing.T, s *Store) {
	t.Helper()
	base := imagetest.Must(filepath.Glob(s.files.Path("bases", "*.tar")))[0]
	old := t.TempDir()
	run(t, "tar", "-x", "-C", old, "-f", base, "./var/lib/dpkg/status")
	status := filepath.Join(old, "var/lib/dpkg/status")
	text := regexp.MustCompile(`(?s)(Package: netbase\n.*?\nVersion: )[^\n]*`).ReplaceAllString(store.ReadText(status), "${1}0.1")
	if err := os.WriteFile(status, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "tar", "--delete", "-f", base, "./var/lib/dpkg/status")
	run(t, "tar", "-r", "-C", old, "-f", base, "./var/lib/dpkg/status")
	source := Source{Recipe: &recipe.Recipe{Files: []recipe.File{{Path: "/etc/mine", Content: "1"}}}}
	img := imagetest.Must(s.Get(t.Context(), source, nil))
	packages := store.ReadText(filepath.Join(filepath.Dir(img.Tar()), "packages"))
	if strings.Contains(packages, "netbase 0.1 ") || !strings.Contains(packages, "netbase ") {
		t.Errorf("the image has the old package: %s", packages)
	}
	if store.Exists(base) {
		t.Error("the old base was kept")
	}
}

func TestABuildThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	needsBuild(t)
	for want, recipe := range map[string]recipe.Recipe{
		"no package no-such-package-here in ": {Packages: []string{"no-such-package-here"}},
		"command \"echo so be it; echo worse >&2; exit 7\" ended with status 7:\n  so be it\n  worse": {
			Commands: []string{"true", "echo so be it; echo worse >&2; exit 7"}},
	} {
		s := storeWithBase(t)
		_, err := s.Get(t.Context(), Source{Recipe: &recipe}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if left := imagetest.Must(os.ReadDir(s.files.Path("images"))); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestABuildCleansItsOwnRootAlone(t *testing.T) {
	needsBuild(t)
	host := t.TempDir()
	for _, name := range []string{"sources.list", "sources.list.d/a", "dpkg.log", "apt/a", "machine-id", "passwd-"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(host, name)), 0o755), os.WriteFile(filepath.Join(host, name), []byte("kept"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	before := lookDirectory(t, host)
	s := storeWithBase(t)
	if _, err := s.Get(t.Context(), Source{Recipe: &recipe.Recipe{Commands: []string{
		"rm -rf /etc/apt/sources.list.d /var/log /etc/machine-id; for at in /etc/apt/sources.list.d /var/log; do ln -s " + host + " $at; done; ln -s " + host + "/machine-id /etc/machine-id",
	}}}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, lookDirectory(t, host)); diff != "" {
		t.Errorf("the build changed a directory of the host:\n%s", diff)
	}
}

func TestABuildThatIsCalledOffLeavesNothing(t *testing.T) {
	needsBuild(t)
	s := openStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := s.Get(ctx, Source{Recipe: &recipe.Recipe{}}, func(line string) {
		if strings.Contains(line, "extracting archives") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := imagetest.Must(os.ReadDir(s.files.Path("images"))); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if busy := workersIn(s.files.Path()); busy != "" {
		t.Errorf("still at work: %s", busy)
	}
}

// A build is killed, so hard that tare cannot clean up: nothing goes on working
// in the store, nothing of it is ever mounted where others see it (removing the
// directory would reach into the host's /dev/shm), and the next build sweeps.
func TestAKilledBuildLeavesNothingButADirectoryToSweep(t *testing.T) {
	needsBuild(t)
	s := openStore(t)
	build := exec.Command(os.Args[0], "-test.run=^TestHelperThatBuilds$", "-test.v")
	build.Env = append(os.Environ(), "TARE_TEST_STORE="+s.files.Path())
	out := imagetest.Must(build.StdoutPipe())
	if err := build.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = build.Process.Kill(); _ = build.Wait() }()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "installing remaining packages") {
	}
	mounted := func() bool { return strings.Contains(store.ReadText("/proc/self/mountinfo"), s.files.Path()) }
	if mounted() {
		t.Error("the host sees mounts of the build")
	}
	if workersIn(s.files.Path()) == "" {
		t.Fatal("the build was not at work")
	}
	if err := build.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = build.Wait()
	deadline := time.After(30 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		busy := workersIn(s.files.Path())
		if busy == "" {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("still at work: %s", busy)
		}
	}
	if mounted() {
		t.Error("the host sees mounts of the killed build")
	}
	swept, err := s.Sweep()
	if err != nil || len(swept) != 1 {
		t.Errorf("swept %v, %v", swept, err)
	}
	if left := imagetest.Must(os.ReadDir(s.files.Path("images"))); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestHelperThatBuilds is the process that the test above kills.
func TestHelperThatBuilds(t *testing.T) {
	directory := os.Getenv("TARE_TEST_STORE")
	if directory == "" {
		t.Skip("needs another test to start it")
	}
	_, err := imagetest.Must(Open(directory)).Get(t.Context(), Source{Recipe: &recipe.Recipe{}}, func(line string) { fmt.Println(line) })
	t.Fatalf("the build was to be killed, but ended with %v", err)
}

// workersIn names a process that works in a store, as its command line tells.
func workersIn(directory string) string {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		if command := store.ReadText(p + "/cmdline"); strings.Contains(command, directory) {
			return strings.ReplaceAll(command, "\x00", " ")
		}
		if root, _ := os.Readlink(p + "/root"); strings.HasPrefix(root, directory) {
			return p + " in " + root
		}
	}
	return ""
}

func run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// lookDirectory lists the files of a directory.
func lookDirectory(t *testing.T, directory string) map[string]imagetest.File {
	t.Helper()
	found := map[string]imagetest.File{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		s := imagetest.File{Kind: info.Mode().Type(), Mode: info.Mode() &^ fs.ModeType, UID: stat.Uid, GID: stat.Gid}
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s.Content = fmt.Sprintf("%x", sha256.Sum256(content))
		case info.Mode()&fs.ModeSymlink != 0:
			if s.Content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		name, err := filepath.Rel(directory, path)
		found[name] = s
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

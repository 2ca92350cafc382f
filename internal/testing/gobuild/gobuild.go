// Package gobuild builds programs of this tree for tests. It must not know what
// they do.
package gobuild

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Build builds a package's program, with the race detector if the test itself was
// built with it. The program is static in both cases, since it may run where no C
// library is; a static C library's look-ups of users and hosts would crash, so that
// Go's are taken.
//
// In the directory $TARE_TEST_PROGRAMS, which scripts/go-test.sh makes for one run, a
// program is built once for all tests. They share one file where they can: it is large, and
// the directory may be in memory.
func Build(path, pkg string) error {
	shared := os.Getenv("TARE_TEST_PROGRAMS")
	if shared == "" {
		return build(path, pkg)
	}
	name := strings.TrimPrefix(pkg, "tare/")
	if strings.HasPrefix(pkg, ".") {
		directory, err := filepath.Abs(pkg)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(directory, Root()+"/")
	}
	lock, err := os.Open(shared)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", shared, err)
	}
	program := filepath.Join(shared, strings.ReplaceAll(name, "/", "-"))
	if _, err := os.Stat(program); err != nil {
		if err := build(program, pkg); err != nil {
			return err
		}
	}
	if os.Link(program, path) == nil {
		return nil
	}
	if output, err := exec.Command("cp", "--reflink=auto", program, path).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", program, err, output)
	}
	return nil
}

func build(path, pkg string) error {
	cgo, linking, args := "0", "-s -w", []string{"build", "-o", path}
	if Raced() { // the detector is linked through cgo
		cgo, linking, args = "1", "-linkmode external -extldflags -static", append(args, "-race", "-tags=netgo,osusergo")
	}
	cmd := exec.Command("go", append(args, "-ldflags="+linking, pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", pkg, err, output)
	}
	return nil
}

// Root is the directory of this tree, in which tests run.
func Root() string {
	directory, _ := os.Getwd()
	for directory != "/" {
		if _, err := os.Stat(filepath.Join(directory, "go.mod")); err == nil {
			break
		}
		directory = filepath.Dir(directory)
	}
	return directory
}

// Raced tells whether this program was built with the race detector.
func Raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

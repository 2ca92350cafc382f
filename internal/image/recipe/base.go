package recipe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tare/internal/image/debian"
	"tare/internal/image/store"
	"tare/internal/image/tool"
)

// bootstrap makes root file systems of one suite with mmdebstrap.
type bootstrap struct {
	suite    string
	sources  []string
	options  []string // of apt
	work     string
	progress func(string)
}

// nothing is a suite's smallest root file system with apt in it, from packages.
func nothing() []string {
	return []string{
		"--variant=minbase", "--include=netbase",
		// The installation of openjdk needs this directory, and minimal variants
		// lack it.
		`--essential-hook=mkdir -p "$1/usr/share/man/man1"`,
	}
}

// withLists is the same with apt's package lists in it, so that apt asks only whether these
// have changed since.
func withLists() []string { return append(nothing(), "--skip=cleanup/apt/lists") }

// base is the same from a tar of it, base.tar of the build. mmdebstrap makes the device nodes.
func base() []string {
	return []string{
		"--variant=custom", "--skip=check/empty",
		`--setup-hook=tar -x -C "$1" --numeric-owner --same-permissions --exclude='./dev/*' -f "$TARE_BUILD/base.tar"`,
	}
}

// write makes a root file system in a tar file.
func (b bootstrap) write(ctx context.Context, file string, arguments ...string) error {
	argv := []string{
		// New PID and mount namespaces, so that no process outlives the build:
		// no orphan after kill -9, and no daemon that a command started.
		"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
		"mmdebstrap", "--mode=root", "--format=tar",
		"--dpkgopt=force-unsafe-io", // a build that is cut off is thrown away
	}
	argv = append(argv, arguments...)
	for _, o := range b.options {
		argv = append(argv, "--aptopt="+o)
	}
	_, err := tool.Call{
		Argv: append(argv, b.suite, file, filepath.Join(b.work, "sources.list")),
		Env:  []string{"SOURCE_DATE_EPOCH=" + Epoch, "TMPDIR=" + filepath.Join(b.work, "tmp"), "TARE_BUILD=" + b.work},
		Hear: func(line string) {
			if step, ok := buildStep(line); ok {
				b.progress(step)
			}
		},
	}.Run(ctx)
	return err
}

// image makes the root file system of an image. The second image of a store makes a base,
// for itself and for those after it: it takes twice the time to begin with nothing. A
// base whose packages have newer versions is removed.
func (b bootstrap) image(ctx context.Context, kept store.Directory, file string) error {
	customize := []string{
		"--customize-hook=" + filepath.Join(b.work, "customize.sh"),
		"--skip=cleanup/reproducible,cleanup/apt", // customize.sh does more
	}
	key := b.key()
	path := kept.Path("bases", key+".tar")
	if len(kept.Glob("recipes/*.json")) == 0 && !store.Exists(path) {
		return b.write(ctx, file, append(nothing(), customize...)...)
	}
	err := kept.Once(ctx, "base-"+key+".tar", path, func(temporary string) error {
		b.progress("building the base of images")
		return b.write(ctx, temporary, withLists()...)
	})
	if err != nil {
		return err
	}
	// Under a second name, so that it stays if another build removes it.
	if err := os.Link(path, filepath.Join(b.work, "base.tar")); err != nil {
		return store.Explain(err)
	}
	err = b.write(ctx, file, append(base(), customize...)...)
	if err == nil || !store.Exists(filepath.Join(b.work, "stale")) {
		return err
	}
	b.progress("packages of the base have newer versions")
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return store.Explain(err)
	}
	return b.write(ctx, file, append(nothing(), customize...)...)
}

// key identifies a base.
func (b bootstrap) key() string {
	text := strings.Join(slices.Concat([]string{debian.Architecture(), b.suite}, b.sources, withLists()), "\n")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/image/kernel"
	"tare/internal/image/recipe"
	"tare/internal/image/store"
	"tare/internal/image/tool"
)

// machinePackages are what a machine needs to run instances: tools that load
// modules on demand and create networks.
var machinePackages = []string{"iproute2", "kmod"}

// MachineRecipe returns the root file system of a machine in which the programs
// of these packages can run.
func MachineRecipe(packages []string) recipe.Recipe {
	return recipe.Recipe{Packages: append(append([]string{}, machinePackages...), packages...)}
}

// MachineDisk is a sparse raw disk with what a machine needs in addition to its
// image: the modules of its kernel, below modules/RELEASE, programs, and
// a store with another image. It is made once per key. prepare may change it
// before it is used: it boots a machine that writes to it.
type MachineDisk struct {
	Key     string // all that the content follows from, but for the kernel and the image
	Machine *Image // that boots with the disk: its kernel's modules are on it
	// Image is in the disk's store as a tar and as a directory, since
	// transferring and unpacking it would take CPU time in the machine. The disk
	// is removed with the image.
	Image    *Image
	Guests   bool              // the store also has the image's disk and the kernel that boots it
	Store    string            // path in the file system
	Programs map[string]string // path in the file system → file
	Prepare  func(file string) error
}

// VersionsOfMachine ends the name of a file beside a machine's disk: the versions of the
// programs in it, for a caller that finds the disk prepared.
const VersionsOfMachine = ".versions"

// Room for what a machine unpacks: the image as a tar, as a directory and in an
// engine, and for what instances write. The file is sparse.
const machineRoom = 8 << 30

// Make finds the disk in the store of its image, or creates it.
func (d MachineDisk) Make(ctx context.Context, progress func(string)) (string, error) {
	if err := d.Image.check(); err != nil {
		return "", err
	}
	s := d.Image.store
	choice, err := d.Machine.kernel(ctx)
	if err != nil {
		return "", err
	}
	boots, err := choice.Find(ctx, s.files, progress)
	if err != nil {
		return "", err
	}
	dir, err := d.Image.asRoot(ctx)
	if err != nil {
		return "", err
	}
	guest, err := d.guest(ctx, progress)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(boots.Dir + "\x00" + guest.kernel + "\x00" + d.Key))
	name := store.Short(d.Image.Digest) + "-" + hex.EncodeToString(sum[:8])
	file := s.files.Path("machines", name)
	err = s.files.Once(ctx, "machine-"+name, file, func(temporary string) error {
		staging := temporary + ".content"
		defer os.RemoveAll(staging)
		release, _, _ := strings.Cut(boots.Version, " ")
		images := filepath.Join(staging, d.Store, "images", hexOf(d.Image.Digest))
		err := errors.Join(
			link(ctx, filepath.Join(boots.Dir, "modules"), filepath.Join(staging, "modules", release)),
			link(ctx, d.Image.Tar(), filepath.Join(images, filepath.Base(d.Image.Tar()))),
			link(ctx, dir, filepath.Join(images, filepath.Base(dir))),
			guest.link(ctx, filepath.Join(staging, d.Store), images))
		for at, from := range d.Programs {
			err = errors.Join(err, copyProgram(from, filepath.Join(staging, at)))
		}
		err = errors.Join(err, listModules(ctx, filepath.Join(staging, "modules", release)))
		if err != nil {
			return fmt.Errorf("content of a machine's disk: %w", err)
		}
		info, err := os.Stat(d.Image.Tar())
		if err != nil {
			return store.Explain(err)
		}
		if err := machineFileSystem(ctx, staging, temporary, 6*info.Size()+machineRoom); err != nil {
			return err
		}
		return d.Prepare(temporary)
	})
	if err != nil {
		return "", err
	}
	now := time.Now()
	_ = os.Chtimes(file, now, now)
	_ = os.Chtimes(file+VersionsOfMachine, now, now)
	s.forgetMachines()
	return file, nil
}

// guestFiles are what a guest boots from; "" for none.
type guestFiles struct{ kernel, disk string }

// guest finds, or makes, what guests in the machine boot from: there it would take far
// longer, and the machine has no package sources.
func (d MachineDisk) guest(ctx context.Context, progress func(string)) (f guestFiles, err error) {
	if !d.Guests {
		return f, nil
	}
	choice, err := d.Image.kernel(ctx)
	if err != nil {
		return f, err
	}
	found, err := choice.Find(ctx, d.Image.store.files, progress)
	if err != nil {
		return f, err
	}
	f.kernel = found.Dir
	f.disk, err = d.Image.Disk(ctx)
	return f, err
}

// link puts them into a store, whose image has a directory of its own.
func (f guestFiles) link(ctx context.Context, store, image string) error {
	if f.kernel == "" {
		return nil
	}
	name, kernels := filepath.Base(f.kernel), filepath.Join(store, "kernels")
	err := errors.Join(link(ctx, f.disk, filepath.Join(image, filepath.Base(f.disk))), link(ctx, f.kernel, filepath.Join(kernels, name)))
	if err == nil {
		err = os.WriteFile(filepath.Join(kernels, kernel.Given), []byte(name), 0o644)
	}
	return err
}

// forgetMachines removes disks that were not used for a month, and those whose
// image is gone.
func (s *Store) forgetMachines() {
	for _, file := range s.files.Glob("machines/*") {
		if strings.HasPrefix(filepath.Base(file), ".") {
			continue // being made
		}
		held, _, _ := strings.Cut(filepath.Base(file), "-")
		if len(s.files.Glob("images/"+held+"*")) == 0 || time.Since(store.Modified(file)) > 30*24*time.Hour {
			_ = os.Remove(file)
		}
	}
}

func machineFileSystem(ctx context.Context, content, file string, size int64) error {
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return store.Explain(err)
	}
	if err := os.Truncate(file, size); err != nil {
		return store.Explain(err)
	}
	// Holes read as zeros: nothing is initialized in the background.
	_, err := tool.Call{Argv: []string{"mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-L", "machine",
		"-E", "lazy_itable_init=1,lazy_journal_init=1,discard,root_owner=0:0", "-d", content, file}}.Run(ctx)
	return err
}

// listModules runs depmod on modules/RELEASE if the host has it. Otherwise the
// machine has to, on a processor that may be emulated.
func listModules(ctx context.Context, modules string) error {
	if _, err := exec.LookPath("depmod"); err != nil {
		return nil
	}
	// It looks below lib/modules.
	root := modules + ".root"
	defer os.RemoveAll(root)
	if err := os.MkdirAll(filepath.Join(root, "lib"), 0o755); err != nil {
		return store.Explain(err)
	}
	if err := os.Symlink(filepath.Dir(modules), filepath.Join(root, "lib", "modules")); err != nil {
		return store.Explain(err)
	}
	_, err := tool.Call{Argv: []string{"depmod", "-b", root, filepath.Base(modules)}}.Run(ctx)
	return err
}

// link makes a file or tree available at another path with hard links.
func link(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return store.Explain(err)
	}
	_, err := tool.Call{Argv: []string{"cp", "--archive", "--link", from, to}}.Run(ctx)
	return err
}

func copyProgram(from, to string) error {
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, content, 0o755)
	}
	return store.Explain(err)
}

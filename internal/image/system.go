package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/image/debian"
	"tare/internal/image/kernel"
	"tare/internal/image/origin"
)

// System is the root file system and the kernel of a machine in which instances run.
// The zero value is the host's release with its kernel for virtual machines.
type System struct {
	// Suite is a release of the host's distribution. Without Reference, the machine
	// has its packages.
	Suite string `yaml:"suite" json:"suite,omitempty"`
	// Reference is an OCI image with what the instances need.
	Reference string `yaml:"reference" json:"reference,omitempty"`
	// Kernel is cloud or stock, a package of the suite; image, the one that the
	// referenced image has; or the path of a bzImage, with Modules.
	Kernel  string `yaml:"kernel" json:"kernel,omitempty"`
	Modules string `yaml:"modules" json:"modules,omitempty"`
}

// kernelOfImage is the value of System.Kernel for the image's own kernel.
const kernelOfImage = "image"

var suiteName = regexp.MustCompile(`^[a-z][a-z0-9.-]*$`)

// Validate checks a system before anything starts. Each message begins with its key.
func (s System) Validate() error {
	var wrong []error
	add := func(key, format string, values ...any) {
		wrong = append(wrong, strictyaml.AtKey(key, format, values...))
	}
	file := strings.Contains(s.Kernel, "/")
	switch {
	case s == System{}:
		add("system", "is empty: give it a suite, a kernel or a reference, such as {suite: trixie, kernel: stock}")
	case s.Suite != "" && !suiteName.MatchString(s.Suite):
		add("suite", "%q is not a release's code name, such as bookworm", s.Suite)
	}
	if s.Reference != "" {
		if s.Suite != "" && (file || s.Kernel == kernelOfImage) {
			add("suite", "nothing is taken from %s, since reference: has the packages and kernel: the kernel: leave it out", s.Suite)
		}
		if err := origin.Check(s.Reference); err != nil {
			add("reference", "%w", err)
		}
	}
	switch {
	case file:
		wrong = append(wrong, readable("kernel", s.Kernel, false, "the kernel, such as /boot/vmlinuz-RELEASE"))
	case s.Kernel == kernelOfImage && s.Reference == "":
		add("kernel", "image is the kernel that a referenced image has: add reference:, or use cloud or stock")
	case !slices.Contains([]string{"", kernel.Cloud, kernel.Stock, kernelOfImage}, s.Kernel):
		add("kernel", "%q is not one of %s, %s, %s, and no path, which has a slash", s.Kernel, kernel.Cloud, kernel.Stock, kernelOfImage)
	}
	switch {
	case s.Modules != "" && !file:
		add("modules", "are those of a kernel that is a file: add kernel: FILE, or leave them out")
	case s.Modules != "":
		wrong = append(wrong, readable("modules", s.Modules, true, "/lib/modules/RELEASE of the kernel"))
	}
	return errors.Join(wrong...)
}

// readable is the error about a file or directory that a key names; nil for none. want is
// what to name.
func readable(key, name string, directory bool, want string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return strictyaml.AtKey(key, "%w", err)
	case directory && !info.IsDir():
		return strictyaml.AtKey(key, "%s is not a directory: name %s", name, want)
	case !directory && !info.Mode().IsRegular():
		return strictyaml.AtKey(key, "%s is not a file: name %s", name, want)
	}
	return nil
}

// Words are the keys with their values.
func (s System) Words() map[string]string {
	words := map[string]string{}
	for key, value := range map[string]string{"suite": s.Suite, "reference": s.Reference, "kernel": s.Kernel, "modules": s.Modules} {
		if value != "" {
			words[key] = value
		}
	}
	return words
}

// String is the system in short: trixie, kernel stock.
func (s System) String() string {
	var words []string
	for _, word := range []string{s.Reference, s.Suite} {
		if word != "" {
			words = append(words, word)
		}
	}
	if s.Kernel != "" {
		words = append(words, "kernel "+s.Kernel)
	}
	return strings.Join(words, ", ")
}

// machineCommands are the programs with which a machine is set up, beyond a shell and
// the essential ones.
var machineCommands = []string{"sh", "ip", "modprobe", "mount"}

// Machine returns the image of a machine with this system, which boots with the
// system's kernel: packages are installed in one of the distribution, and commands are
// looked for in a referenced one.
func (s *Store) Machine(ctx context.Context, system System, packages, commands []string, progress func(string)) (*Image, error) {
	img, err := s.machineRoot(ctx, system, packages, progress)
	if err != nil {
		return nil, err
	}
	img.boots = kernel.Choice{Suite: system.Suite, Name: system.Kernel, Modules: system.Modules}
	img.ownKernel = system.Kernel == kernelOfImage
	if system.Reference == "" {
		return img, nil
	}
	lacks, err := img.lacks(ctx, append(slices.Clone(machineCommands), commands...))
	if err == nil && len(lacks) > 0 {
		err = fmt.Errorf("image %s lacks %s, looked for in %s: add the packages that have them, such as %s in Debian",
			img.Name, strings.Join(lacks, ", "), strings.Join(commandDirectories, " "), strings.Join(MachineRecipe(packages).Packages, " "))
	}
	return img, err
}

// machineRoot is the root file system of a machine.
func (s *Store) machineRoot(ctx context.Context, system System, packages []string, progress func(string)) (*Image, error) {
	if system.Reference != "" {
		return s.Get(ctx, Source{Reference: system.Reference}, progress)
	}
	recipe := MachineRecipe(packages)
	recipe.Suite = system.Suite
	return s.Get(ctx, Source{Recipe: &recipe}, progress)
}

var commandDirectories = []string{"usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"}

// root opens the image's directory: no link in it leads out.
func (i *Image) root(ctx context.Context) (*os.Root, error) {
	dir, err := i.asRoot(ctx)
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// lacks are those of some commands that an image does not have.
func (i *Image) lacks(ctx context.Context, commands []string) (missing []string, err error) {
	root, err := i.root(ctx)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, command := range commands {
		has := slices.ContainsFunc(commandDirectories, func(d string) bool {
			_, err := root.Lstat(path.Join(d, command)) // a link may be absolute
			return err == nil
		})
		if !has && !slices.Contains(missing, command) {
			missing = append(missing, command)
		}
	}
	return missing, nil
}

// SystemName is how an image names its distribution and release; "" where it has no
// os-release.
func (i *Image) SystemName(ctx context.Context) (string, error) {
	root, err := i.root(ctx)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for _, name := range []string{"etc/os-release", "usr/lib/os-release"} {
		file, err := root.Open(name)
		if err != nil {
			continue
		}
		text, err := bounded.ReadAll(file, quantity.MiB)
		file.Close()
		if err == nil {
			fields := debian.ReleaseFields(string(text))
			return cmp.Or(fields["PRETTY_NAME"], fields["NAME"], fields["ID"]), nil
		}
	}
	return "", nil
}

// Absolute returns the system with its paths made absolute, from a directory.
func (s System) Absolute(directory string) System {
	if strings.Contains(s.Kernel, "/") {
		s.Kernel = strictyaml.Absolute(directory, s.Kernel)
	}
	if s.Modules != "" {
		s.Modules = strictyaml.Absolute(directory, s.Modules)
	}
	return s
}

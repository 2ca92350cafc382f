package recipe

import (
	"context"
	"tare/internal/image/debian"
	"tare/internal/image/rootfs"
	"tare/internal/image/store"
	"tare/internal/image/tool"

	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Epoch is the maximum modification time of files in a recipe's image
// (SOURCE_DATE_EPOCH): 2024-01-01. It is constant so that the same packages
// result in the same bytes at any time.
const Epoch = "1704067200"

// Env is the environment of an image that was built from a recipe.
var Env = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LANG=C.UTF-8",
}

//go:embed customize.sh
var customizeScript []byte

// Build is a recipe with what this host adds to it.
type Build struct {
	Recipe        // normalized
	Key    string // the same key means the same build
	distro debian.Distribution
}

// ForHost prepares a recipe to be built on this host.
func (r Recipe) ForHost() (Build, error) {
	distro, err := debian.Host()
	if err != nil {
		return Build{}, fmt.Errorf("image recipe: %w", err)
	}
	if r, err = r.normal(distro.Suite); err != nil {
		return Build{}, err
	}
	if r.Suite == "" {
		return Build{}, errors.New("recipe: this host's /etc/os-release has no VERSION_CODENAME: set the suite in the recipe")
	}
	return Build{r, r.key(distro.ID, debian.Architecture()), distro}, nil
}

// Possible returns an error where this process cannot make the image.
func (b Build) Possible() error {
	if os.Geteuid() != 0 {
		return errors.New("making a root file system needs root, for its owners and device nodes: run as root")
	}
	if !maySetUp() {
		return errors.New("making a root file system needs the right to mount (CAP_SYS_ADMIN), which root does not have in this container: name an image that is made, such as reference: tar:FILE of `tare save` elsewhere; or run tare with --privileged")
	}
	return b.needClients()
}

// maySetUp reports whether this process may mount, in namespaces of its own.
func maySetUp() bool {
	may, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0)
	return err != nil || may == 1
}

// Make builds the root file system in a work directory, below done: rootfs.tar, whose
// digest it returns, and packages.
func (b Build) Make(ctx context.Context, kept store.Directory, work string, progress func(string)) (digest string, err error) {
	recipe, distro := b.Recipe, b.distro
	sources, err := debian.Sources("/etc/apt", "/var/lib/apt/lists", distro, recipe.Suite, recipe.Components)
	if err != nil {
		return "", err
	}
	options, err := debian.FetchOptions(ctx)
	if err != nil {
		return "", err
	}
	if err := layOut(work, recipe, sources); err != nil {
		return "", fmt.Errorf("build directory: %w", store.Explain(err))
	}
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return "", tool.NotInstalled("mmdebstrap")
	}
	if err := recipe.fetchAll(ctx, kept, filepath.Join(work, "fetch"), progress); err != nil {
		return "", err
	}
	raw := filepath.Join(work, "raw.tar")
	progress(fmt.Sprintf("building a root file system of %s %s, packages: %d", distro.ID, recipe.Suite, len(recipe.Packages)))
	maker := bootstrap{recipe.Suite, sources, options, work, progress}
	if err := maker.image(ctx, kept, raw); err != nil {
		return "", diagnoseBuild(err, work, recipe, distro)
	}

	progress("packing")
	done := filepath.Join(work, "done")
	if err := os.Mkdir(done, 0o755); err != nil {
		return "", store.Explain(err)
	}
	if digest, err = rootfs.Write(ctx, filepath.Join(done, "rootfs.tar"), []string{raw}); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(work, "packages"), filepath.Join(done, "packages")); err != nil {
		return "", fmt.Errorf("list of installed packages: %w", err)
	}
	return digest, nil
}

// layOut writes the recipe's packages, files and commands for customize.sh, the latter as
// one numbered file each.
func layOut(work string, recipe Recipe, sources []string) error {
	for _, dir := range []string{"tmp", "fetch", "files", "commands"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{
		"sources.list": strings.Join(sources, "\n") + "\n",
		"packages.txt": strings.Join(recipe.Packages, "\n"),
		"customize.sh": string(customizeScript),
	}
	for i, f := range recipe.Files {
		base := fmt.Sprintf("files/%04d", i)
		files[base+".content"] = f.Content
		files[base+".path"] = f.Path
		files[base+".mode"] = fmt.Sprintf("%04o", f.Mode)
	}
	for i, c := range recipe.Commands {
		files[fmt.Sprintf("commands/%04d", i)] = c
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(content), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// buildStep returns the step that a line of mmdebstrap's output reports, for the
// progress.
func buildStep(line string) (string, bool) {
	if step, ok := strings.CutPrefix(line, "tare: "); ok {
		return step, true
	}
	step, ok := strings.CutPrefix(line, "I: ")
	if !ok {
		return "", false
	}
	for _, interesting := range []string{"running apt-get update", "downloading packages", "extracting archives", "installing essential packages", "installing remaining packages"} {
		if strings.HasPrefix(step, interesting) {
			return strings.TrimSuffix(step, "..."), true
		}
	}
	return "", false
}

var (
	unknownPackage = regexp.MustCompile(`(?m)^E: (?:Unable to locate package (\S+)|Package '([^']+)' has no installation candidate|Couldn't find any package by (?:glob|regex) '([^']+)')`)
	unknownVersion = regexp.MustCompile(`(?m)^E: (?:Version|Release) '([^']+)' for '([^']+)' was not found`)
	unreachable    = regexp.MustCompile(`(?m)^(?:[EW]|Err:\d+):? .*(?:Could not resolve|Temporary failure resolving|Could not connect|Connection (?:failed|refused|timed out)|Unable to connect|Network is unreachable).*$`)
	failedFetch    = regexp.MustCompile(`(?m)^[EW]: (?:Failed to fetch|The repository) .*$`)
)

// diagnoseBuild shortens mmdebstrap's output to the cause, if it is a known one.
func diagnoseBuild(err error, work string, recipe Recipe, distro debian.Distribution) error {
	var failed *tool.Error
	if !errors.As(err, &failed) {
		return err
	}
	if command, status, output, ok := failedCommand(work, recipe); ok {
		return fmt.Errorf("command %q ended with status %d:\n%s", command, status, tool.Indent(tool.LastLines(output, 30)))
	}
	return explainBuild(failed, recipe.Suite, distro)
}

func explainBuild(failed *tool.Error, suite string, distro debian.Distribution) error {
	out := failed.Output
	var names []string
	for _, m := range unknownPackage.FindAllStringSubmatch(out, -1) {
		if name := m[1] + m[2] + m[3]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) > 0:
		return fmt.Errorf("no package %s in %s %s, with the components that this host's apt sources and the recipe name: check the spelling (apt-cache search), or add the component it is in to the recipe (components: [non-free], or contrib, universe)",
			strings.Join(names, ", "), distro.ID, suite)
	case unknownVersion.MatchString(out):
		m := unknownVersion.FindStringSubmatch(out)
		return fmt.Errorf("package %s has no version %s in %s %s: see apt-cache policy %s", m[2], m[1], distro.ID, suite, m[2])
	case strings.Contains(out, "No space left on device"):
		return fmt.Errorf("no space left on the disk of the image store while the root file system was built: free some space, or remove images (tare ls images, tare rm)")
	case unreachable.MatchString(out):
		return fmt.Errorf("a package source cannot be reached: check the network, and /etc/apt for proxies and mirrors:\n%s",
			tool.Indent(tool.LastLines(strings.Join(unreachable.FindAllString(out, -1), "\n"), 6)))
	case failedFetch.MatchString(out):
		return fmt.Errorf("a package source returned an unexpected response: check the suite %s and the sources in /etc/apt\n%s",
			suite, tool.Indent(tool.LastLines(strings.Join(failedFetch.FindAllString(out, -1), "\n"), 6)))
	}
	return fmt.Errorf("mmdebstrap failed (%w); its last lines:\n%s", failed.Cause, tool.Indent(tool.LastLines(out, 30)))
}

// failedCommand reads which command failed, as customize.sh recorded it.
func failedCommand(work string, recipe Recipe) (command string, status int, output string, ok bool) {
	fields := strings.Fields(store.ReadText(filepath.Join(work, "failed")))
	if len(fields) != 2 {
		return "", 0, "", false
	}
	index, err := strconv.Atoi(fields[0])
	if err != nil || index < 0 || index >= len(recipe.Commands) {
		return "", 0, "", false
	}
	status, _ = strconv.Atoi(fields[1])
	output = store.ReadText(filepath.Join(work, "output"))
	if strings.TrimSpace(output) == "" {
		output = "it printed nothing"
	}
	return recipe.Commands[index], status, output, true
}

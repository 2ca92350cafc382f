package image

import (
	"context"
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

	"tare/internal/linux/userns"
)

// epoch is the maximum modification time of files in a recipe's image
// (SOURCE_DATE_EPOCH): 2024-01-01. It is constant so that the same packages
// result in the same bytes at any time.
const epoch = "1704067200"

// recipeEnv is the environment of an image that was built from a recipe.
var recipeEnv = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LANG=C.UTF-8",
}

//go:embed customize.sh
var customizeScript []byte

func (s *Store) fromRecipe(ctx context.Context, recipe Recipe, progress func(string)) (*Image, error) {
	distro, err := hostDistribution()
	if err != nil {
		return nil, fmt.Errorf("image recipe: %w", err)
	}
	recipe, err = recipe.normal(distro.suite)
	if err != nil {
		return nil, err
	}
	if recipe.Suite == "" {
		return nil, fmt.Errorf("recipe: this host's /etc/os-release has no VERSION_CODENAME: set the suite in the recipe")
	}
	key := recipe.key(distro.id, debArchitecture())
	name := recipeName + key[:6]
	path := s.path("recipes", key+".json")
	if r := s.readRecord(path); r != nil {
		return s.image(*r), nil
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%s: making a root file system needs root, for its owners and device nodes: run as root", name)
	}
	if !maySetUp() {
		return nil, fmt.Errorf("%s: making a root file system needs the right to mount (CAP_SYS_ADMIN), which root does not have in this container: name an image that is made, such as reference: tar:FILE of `tare save` elsewhere; or run tare with --privileged", name)
	}
	if err := recipe.needClients(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	unlock, err := s.lock(ctx, "recipe-"+key[:12])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer unlock()
	if r := s.readRecord(path); r != nil {
		return s.image(*r), nil
	}

	_, _ = s.Sweep() // make room; a build that cannot be swept is no reason not to build
	work := s.path("images", ".building-"+key[:12])
	if err := discard(work); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer discard(work) //nolint:errcheck // what stays is removed with the store's leftovers
	digest, err := s.build(ctx, work, recipe, distro, name, progress)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := record{Digest: digest, Name: name, Env: recipeEnv, Dir: "/", Recipe: &recipe}
	if err := s.writeRecord(path, r); err != nil {
		return nil, err
	}
	progress(fmt.Sprintf("%s: built, %s", name, short(digest)))
	return s.image(r), nil
}

// maySetUp reports whether this process may mount, in namespaces of its own.
func maySetUp() bool {
	may, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0)
	return err != nil || may == 1
}

// build builds the root file system of a recipe and moves it into the store.
func (s *Store) build(ctx context.Context, work string, recipe Recipe, distro distribution, name string, progress func(string)) (digest string, err error) {
	sources, err := recipeSources("/etc/apt", "/var/lib/apt/lists", distro, recipe.Suite, recipe.Components)
	if err != nil {
		return "", err
	}
	options, err := fetchOptions(ctx)
	if err != nil {
		return "", err
	}
	if err := layOut(work, recipe, sources); err != nil {
		return "", fmt.Errorf("build directory: %w", explain(err))
	}
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return "", notInstalled("mmdebstrap")
	}
	if err := s.fetchAll(ctx, filepath.Join(work, "fetch"), recipe, func(line string) { progress(name + ": " + line) }); err != nil {
		return "", err
	}
	argv := []string{
		// New PID and mount namespaces, so that no process outlives the build:
		// no orphan after kill -9, and no daemon that a command started.
		"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
		"mmdebstrap", "--variant=minbase", "--mode=root", "--format=tar",
		"--skip=cleanup/reproducible,cleanup/apt", // customize.sh does more
		"--include=" + strings.Join(append([]string{"netbase"}, recipe.Packages...), ","),
		"--dpkgopt=force-unsafe-io", // a build that is cut off is thrown away
		// The installation of openjdk needs this directory, and minimal variants
		// lack it.
		`--essential-hook=mkdir -p "$1/usr/share/man/man1"`,
		"--customize-hook=" + filepath.Join(work, "customize.sh"),
	}
	for _, o := range options {
		argv = append(argv, "--aptopt="+o)
	}
	raw := filepath.Join(work, "raw.tar")
	argv = append(argv, recipe.Suite, raw, filepath.Join(work, "sources.list"))
	progress(fmt.Sprintf("%s: building a root file system of %s %s, packages: %d", name, distro.id, recipe.Suite, len(recipe.Packages)))
	_, err = tool{
		argv: argv,
		env:  []string{"SOURCE_DATE_EPOCH=" + epoch, "TMPDIR=" + filepath.Join(work, "tmp"), "TARE_BUILD=" + work},
		hear: func(line string) {
			if step, ok := buildStep(line); ok {
				progress(name + ": " + step)
			}
		},
	}.run(ctx)
	if err != nil {
		return "", diagnoseBuild(err, work, recipe, distro)
	}

	progress(name + ": packing")
	done := filepath.Join(work, "done")
	if err := os.Mkdir(done, 0o755); err != nil {
		return "", explain(err)
	}
	if digest, err = writeRootfs(ctx, filepath.Join(done, "rootfs.tar"), []string{raw}); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(work, "packages"), filepath.Join(done, "packages")); err != nil {
		return "", fmt.Errorf("list of installed packages: %w", err)
	}
	return digest, s.adopt(done, digest)
}

func writeRootfs(ctx context.Context, path string, layers []string) (digest string, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return "", fmt.Errorf("root file system: %w", explain(err))
	}
	defer file.Close()
	b, err := newBudget(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	if digest, err = flatten(ctx, layers, file, b); err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("root file system: %w", explain(err))
	}
	return digest, nil
}

// layOut writes the recipe's files and commands for customize.sh, one numbered
// file each.
func layOut(work string, recipe Recipe, sources []string) error {
	for _, dir := range []string{"tmp", "fetch", "files", "commands"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{
		"sources.list": strings.Join(sources, "\n") + "\n",
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
func diagnoseBuild(err error, work string, recipe Recipe, distro distribution) error {
	var failed *toolError
	if !errors.As(err, &failed) {
		return err
	}
	if command, status, output, ok := failedCommand(work, recipe); ok {
		return fmt.Errorf("command %q ended with status %d:\n%s", command, status, indent(lastLines(output, 30)))
	}
	return explainBuild(failed, recipe.Suite, distro)
}

func explainBuild(failed *toolError, suite string, distro distribution) error {
	out := failed.output
	var names []string
	for _, m := range unknownPackage.FindAllStringSubmatch(out, -1) {
		if name := m[1] + m[2] + m[3]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) > 0:
		return fmt.Errorf("no package %s in %s %s, with the components that this host's apt sources and the recipe name: check the spelling (apt-cache search), or add the component it is in to the recipe (components: [non-free], or contrib, universe)",
			strings.Join(names, ", "), distro.id, suite)
	case unknownVersion.MatchString(out):
		m := unknownVersion.FindStringSubmatch(out)
		return fmt.Errorf("package %s has no version %s in %s %s: see apt-cache policy %s", m[2], m[1], distro.id, suite, m[2])
	case strings.Contains(out, "No space left on device"):
		return fmt.Errorf("no space left on the disk of the image store while the root file system was built: free some space, or remove images (tare ls images, tare rm)")
	case unreachable.MatchString(out):
		return fmt.Errorf("a package source cannot be reached: check the network, and /etc/apt for proxies and mirrors:\n%s",
			indent(lastLines(strings.Join(unreachable.FindAllString(out, -1), "\n"), 6)))
	case failedFetch.MatchString(out):
		return fmt.Errorf("a package source returned an unexpected response: check the suite %s and the sources in /etc/apt\n%s",
			suite, indent(lastLines(strings.Join(failedFetch.FindAllString(out, -1), "\n"), 6)))
	}
	return fmt.Errorf("mmdebstrap failed (%w); its last lines:\n%s", failed.cause, indent(lastLines(out, 30)))
}

// failedCommand reads which command failed, as customize.sh recorded it.
func failedCommand(work string, recipe Recipe) (command string, status int, output string, ok bool) {
	fields := strings.Fields(readText(filepath.Join(work, "failed")))
	if len(fields) != 2 {
		return "", 0, "", false
	}
	index, err := strconv.Atoi(fields[0])
	if err != nil || index < 0 || index >= len(recipe.Commands) {
		return "", 0, "", false
	}
	status, _ = strconv.Atoi(fields[1])
	output = readText(filepath.Join(work, "output"))
	if strings.TrimSpace(output) == "" {
		output = "it printed nothing"
	}
	return recipe.Commands[index], status, output, true
}

// discard removes a directory that held a root file system, unless something is
// still mounted in it, such as the host's /dev.
func discard(dir string) error {
	if err := noMounts(dir); err != nil {
		return err
	}
	if err := userns.RemoveAll(dir); err != nil {
		return fmt.Errorf("%s cannot be removed: %w", dir, explain(err))
	}
	return nil
}

func noMounts(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("%s is kept, since its mounts cannot be listed: %w", dir, err)
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		// A mount in the directory, or one that uses it, such as an overlay.
		if fields := strings.Fields(line); len(fields) > 4 && strings.Contains(line, dir) {
			return fmt.Errorf("%s is kept, since the mount at %s uses it: unmount that first", dir, fields[4])
		}
	}
	return nil
}

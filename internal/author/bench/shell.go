package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/parity"
	"tare/internal/parity/fingerprint"
	"tare/internal/study"
	"tare/internal/workload"
)

// variables are those of --env-var: NAME=VALUE, or NAME for that of tare's own. A pack's
// texts have parameters, and values of a command line have none.
func (o Options) variables() (env []string, err error) {
	for _, text := range o.Variables {
		name, value, given := strings.Cut(text, "=")
		if !study.IsVariable(name) {
			return nil, fmt.Errorf("--env-var %s: %q is not a name of an environment variable: write NAME=VALUE, or NAME for the value that tare has", text, name)
		}
		if !given {
			if value, given = os.LookupEnv(name); !given {
				return nil, fmt.Errorf("--env-var %s: tare's own environment does not have it: write %s=VALUE; sudo removes most variables, unless it is called with --preserve-env=%s", name, name, name)
			}
		}
		if slices.ContainsFunc(o.Secrets, func(s string) bool { other, _, _ := strings.Cut(s, "="); return other == name }) {
			return nil, fmt.Errorf("--env-var %s: it is also a secret: use only one of them", name)
		}
		env = append(env, name+"="+workload.Literal(value))
	}
	return env, nil
}

// onShell makes the command the one that the user's shell would run, where it runs on
// this machine's root file system: a version manager's program is in no directory that
// instances look in, and a relative path is of this directory.
func (o Options) onShell() ([]string, error) {
	path, err := lookUp(o.Argv[0])
	if err != nil {
		if wrong := new(exec.Error); errors.As(err, &wrong) {
			err = wrong.Err
		}
		return nil, fmt.Errorf("%s: %w; native alone runs programs of this machine: --package NAME builds an image with that Debian package, --image REF uses an image that has the command", o.Argv[0], bounded.Cause(err))
	}
	return append([]string{path}, o.Argv[1:]...), nil
}

// Remarks are what the command line suggests to a reader who knows a shell, and what is
// not so: the command does not run in the directory that tare was called in.
func (o Options) Remarks() (remarks []string) {
	if o.Workdir != "" {
		return nil
	}
	for _, word := range o.Argv[1:] {
		if filepath.IsAbs(word) || strings.HasPrefix(word, "-") {
			continue
		}
		if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() {
			continue
		}
		how := "--mount .:/work:ro --workdir /work brings this directory, --input brings one file as standard input"
		if o.onHost() {
			how = "--workdir \"$PWD\" runs it here"
		}
		remarks = append(remarks, fmt.Sprintf("%s is a file of this directory, and the command runs in / of an instance: %s", word, how))
	}
	return remarks
}

// Programs compares the programs that instances run with those that the user's shell
// would.
type Programs struct {
	argv []string
	said map[string]bool
}

// NewPrograms is for the runs of a plan that Options.Plan made.
func NewPrograms(p *study.Plan) *Programs {
	return &Programs{argv: p.Workloads[0].Pack.Driver.CommandArgs(), said: map[string]bool{}}
}

// Compare says which programs of the command an environment resolves to others than this
// process would. It says the same of several environments once.
func (p *Programs) Compare(f parity.Fingerprint) (remarks []string) {
	for _, name := range fingerprint.Programs(p.argv) {
		key := "program[driver/" + filepath.Base(name) + "]."
		inside, sum := f.Facts[key+"path"].Value, f.Facts[key+"sha256"].Value
		here, ours, err := resolved(name)
		if err != nil || inside == "" || sum == "" || sum == ours {
			continue
		}
		what := fmt.Sprintf("%s is %s inside", name, inside)
		if version := f.Facts[key+"version"].Value; version != "" {
			what += " (" + version + ")"
		}
		if inside == here {
			what += ", with other bytes than the file of this path here, which this shell would run"
		} else {
			what += ", and this shell would run " + here + ", which is another program"
		}
		if p.said[what] {
			continue
		}
		p.said[what] = true
		remarks = append(remarks, what+"; --env-var PATH=..., --mount and --image change what runs inside")
	}
	return remarks
}

// lookUp is the absolute path of a program that a shell would run.
func lookUp(program string) (path string, err error) {
	if path, err = exec.LookPath(program); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// resolved is the file that a shell would run, and its checksum.
func resolved(program string) (path, sum string, err error) {
	if path, err = lookUp(program); err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		sum, err = bounded.Sum(path)
	}
	return path, sum, err
}

// PackageOf returns the distribution package of this machine that owns a
// command.
func PackageOf(program string) ([]string, error) {
	path, err := lookUp(program)
	if err != nil {
		return nil, fmt.Errorf("%s: not found on this machine, so its package is unknown: name the package with --package, or an image that has the command with --image", program)
	}
	for _, candidate := range packagePaths(path) {
		out, err := exec.Command("dpkg-query", "-S", candidate).Output()
		if err != nil {
			continue
		}
		if name := ownerIn(string(out)); name != "" {
			return []string{whole(name)}, nil
		}
	}
	return nil, fmt.Errorf("%s (%s): no package of this machine owns it, so it cannot be installed into the image: name an image that has it with --image", program, path)
}

var minimal = regexp.MustCompile(`^(python[0-9.]*)-minimal$`)

// whole is the package with all of an interpreter's library, where the program is in one
// with a part of it. It depends on that one.
func whole(name string) string {
	if name == "perl-base" {
		return "perl"
	}
	return minimal.ReplaceAllString(name, "$1")
}

// packagePaths are the paths by which a package may own a program: dpkg records
// the path that the package was built with, with or without /usr, and not the
// links to it.
func packagePaths(path string) (candidates []string) {
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		paths = append(paths, real)
	}
	for _, p := range paths {
		candidates = append(candidates, p, "/usr"+p, strings.TrimPrefix(p, "/usr"))
	}
	return candidates
}

// ownerIn reads the first package in the output of dpkg-query -S:
// PACKAGE[:ARCHITECTURE][, PACKAGE...]: PATH, or a diversion.
func ownerIn(output string) string {
	for line := range strings.Lines(output) {
		if owners, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(owners, "diversion by") {
			name, _, _ := strings.Cut(strings.Split(owners, ", ")[0], ":")
			return name
		}
	}
	return ""
}

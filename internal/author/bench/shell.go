package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	path, err := exec.LookPath(o.Argv[0])
	if err != nil {
		if wrong := new(exec.Error); errors.As(err, &wrong) {
			err = wrong.Err
		}
		return nil, fmt.Errorf("%s: %w; native alone runs programs of this machine: --package NAME builds an image with that Debian package, --image REF uses an image that has the command", o.Argv[0], bounded.Cause(err))
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
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

// resolved is the file that a shell would run, and its checksum.
func resolved(name string) (path, sum string, err error) {
	if path, err = exec.LookPath(name); err != nil {
		return "", "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", "", err
	}
	sum, err = bounded.Sum(path)
	return path, sum, err
}

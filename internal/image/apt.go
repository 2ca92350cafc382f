package image

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// apt asks for packages and downloads them. The zero value does so with the host's
// package sources.
type apt struct {
	options []string
	suite   string // "" is the host's
}

// aptOf is apt with the host's sources for a release of its distribution. For another
// release than the host's it has lists of its own, which are empty until update, and
// which done removes. One process at a time has those of a release.
func (s *Store) aptOf(ctx context.Context, distro distribution, suite string) (a apt, done func(), err error) {
	if suite == distro.suite {
		return apt{}, func() {}, nil
	}
	sources, err := recipeSources("/etc/apt", "/var/lib/apt/lists", distro, suite, nil)
	if err != nil {
		return apt{}, nil, err
	}
	unlock, err := s.lock(ctx, "apt-"+suite)
	if err != nil {
		return apt{}, nil, err
	}
	work := s.path("kernels", ".apt-"+suite)
	done = func() { _ = os.RemoveAll(work); unlock() }
	err = os.RemoveAll(work) // of a process that was killed
	list := filepath.Join(work, "sources.list")
	for _, directory := range []string{"lists/partial", "cache/archives/partial"} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(work, directory), 0o755)
		}
	}
	if err == nil {
		err = os.WriteFile(list, []byte(strings.Join(sources, "\n")+"\n"), 0o644)
	}
	if err != nil {
		done()
		return apt{}, nil, explain(err)
	}
	a.suite = suite
	for _, option := range []string{
		"Dir::Etc::SourceList=" + list, "Dir::Etc::SourceParts=/dev/null",
		"Dir::Etc::Preferences=/dev/null", "Dir::Etc::PreferencesParts=/dev/null",
		"Dir::State::Lists=" + filepath.Join(work, "lists"), "Dir::State::Status=/dev/null",
		"Dir::Cache=" + filepath.Join(work, "cache"), "Acquire::Languages=none",
		// A list that cannot be fetched is a warning otherwise.
		"APT::Update::Error-Mode=any",
	} {
		a.options = append(a.options, "-o", option)
	}
	return a, done, nil
}

// run calls a program of apt.
func (a apt) run(ctx context.Context, directory, program string, arguments ...string) (string, error) {
	return tool{argv: slices.Concat([]string{program}, a.options, arguments), dir: directory}.run(ctx)
}

// update fetches the package lists.
func (a apt) update(ctx context.Context, progress func(string)) error {
	what := "apt's package lists"
	if a.suite != "" {
		what += " of " + a.suite
	}
	progress("fetching " + what + " (apt-get update)")
	_, err := a.run(ctx, "", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", "update")
	return err
}

func (a apt) depends(ctx context.Context, name string) ([]string, error) {
	out, err := a.run(ctx, "", "apt-cache", "depends", "--important", name)
	if err != nil {
		return nil, err
	}
	var depends []string
	for _, line := range strings.Split(out, "\n") {
		if _, on, ok := strings.Cut(line, "Depends: "); ok {
			depends = append(depends, strings.TrimSpace(on))
		}
	}
	return depends, nil
}

// candidate returns the version that apt would install, or "".
func (a apt) candidate(ctx context.Context, name string) (string, error) {
	out, err := a.run(ctx, "", "apt-cache", "policy", name)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(out, "\n") {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok && version != "(none)" {
			return version, nil
		}
	}
	return "", nil
}

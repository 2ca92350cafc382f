package debian

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tare/internal/image/store"
	"tare/internal/image/tool"
	"time"
)

// Apt asks for packages and downloads them. The zero value does so with the host's
// package sources.
type Apt struct {
	options []string
	suite   string // "" is the host's
}

// NewApt is apt with the host's sources for a release of its distribution. For another
// release than the host's it has lists of its own, which are empty until update, and
// which done removes. One process at a time has those of a release.
func NewApt(ctx context.Context, kept store.Directory, distro Distribution, suite string) (a Apt, done func(), err error) {
	if suite == distro.Suite {
		return Apt{}, func() {}, nil
	}
	sources, err := Sources("/etc/apt", "/var/lib/apt/lists", distro, suite, nil)
	if err != nil {
		return Apt{}, nil, err
	}
	unlock, err := kept.Lock(ctx, "apt-"+suite)
	if err != nil {
		return Apt{}, nil, err
	}
	work := kept.Path("kernels", ".apt-"+suite)
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
		return Apt{}, nil, store.Explain(err)
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

// Run calls a program of apt.
func (a Apt) Run(ctx context.Context, directory, program string, arguments ...string) (string, error) {
	return tool.Call{Argv: slices.Concat([]string{program}, a.options, arguments), Dir: directory}.Run(ctx)
}

// Update fetches the package lists.
func (a Apt) Update(ctx context.Context, progress func(string)) error {
	what := "apt's package lists"
	if a.suite != "" {
		what += " of " + a.suite
	}
	progress("fetching " + what + " (apt-get update)")
	_, err := a.Run(ctx, "", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", "update")
	return err
}

// Depends lists the packages that a package needs.
func (a Apt) Depends(ctx context.Context, name string) ([]string, error) {
	out, err := a.Run(ctx, "", "apt-cache", "depends", "--important", name)
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

// Candidate returns the version that apt would install, or "".
func (a Apt) Candidate(ctx context.Context, name string) (string, error) {
	out, err := a.Run(ctx, "", "apt-cache", "policy", name)
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

// Stamp changes with everything that determines which kernel is the newest.
func Stamp() string {
	stamp := Architecture()
	for _, path := range []string{"/var/lib/apt/lists", "/etc/apt", "/etc/apt/sources.list.d", "/etc/apt/preferences.d"} {
		stamp += " " + store.Modified(path).UTC().Format(time.RFC3339Nano)
	}
	return stamp
}

// Package debian is the distribution of this host, Debian or Ubuntu: its release, its
// package sources for any release, and apt.
//
// It must not know what the packages are for.
package debian

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Distribution is the distribution that /etc/os-release names.
type Distribution struct {
	ID    string // debian or ubuntu
	Suite string // the release's code name; "" when it tells none
}

// Host returns the host's distribution. Derivatives count as the
// distribution whose packages they use.
func Host() (Distribution, error) {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return Distribution{}, fmt.Errorf("the host's distribution is unknown: %w", err)
	}
	d, err := parseRelease(string(text))
	if err != nil {
		return d, err
	}
	return d, d.chooseSuite("/etc/apt")
}

// chooseSuite replaces the code name of the next release, which Debian's unstable has in
// its os-release too, where apt's sources are of unstable.
func (d *Distribution) chooseSuite(apt string) error {
	all, err := readSources(apt)
	named := func(names ...string) bool {
		return slices.ContainsFunc(all, func(s aptSource) bool {
			return slices.ContainsFunc(s.Suites, func(suite string) bool { return slices.Contains(names, suite) })
		})
	}
	if d.ID == "debian" && named("sid", "unstable") && !named(d.Suite, "testing") {
		d.Suite = "sid"
	}
	return err
}

func parseRelease(text string) (Distribution, error) {
	fields := ReleaseFields(text)
	d := Distribution{Suite: fields["VERSION_CODENAME"]}
	like := append([]string{fields["ID"]}, strings.Fields(fields["ID_LIKE"])...)
	for _, id := range like {
		if id != "debian" && id != "ubuntu" {
			continue
		}
		d.ID = id
		if id != fields["ID"] {
			// Mint's "vera" is Ubuntu's "jammy".
			if base := fields[strings.ToUpper(id)+"_CODENAME"]; base != "" {
				d.Suite = base
			}
		}
		break
	}
	if d.ID == "" {
		return d, fmt.Errorf("recipes and guest kernels need Debian or Ubuntu packages, and this host is %q: use a reference to an OCI image instead", fields["ID"])
	}
	return d, nil
}

// ReleaseFields reads an os-release.
func ReleaseFields(text string) map[string]string {
	fields := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			fields[key] = strings.Trim(value, `"'`)
		}
	}
	return fields
}

// Architecture is Debian's name of this program's architecture.
func Architecture() string {
	switch runtime.GOARCH {
	case "386":
		return "i386"
	case "arm":
		return "armhf"
	case "ppc64le":
		return "ppc64el"
	}
	return runtime.GOARCH
}

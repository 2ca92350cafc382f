package image

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// distribution is the distribution that /etc/os-release names.
type distribution struct {
	id    string // debian or ubuntu
	suite string // the release's code name; "" when it tells none
}

// hostDistribution returns the host's distribution. Derivatives count as the
// distribution whose packages they use.
func hostDistribution() (distribution, error) {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return distribution{}, fmt.Errorf("the host's distribution is unknown: %w", err)
	}
	return parseRelease(string(text))
}

func parseRelease(text string) (distribution, error) {
	fields := releaseFields(text)
	d := distribution{suite: fields["VERSION_CODENAME"]}
	like := append([]string{fields["ID"]}, strings.Fields(fields["ID_LIKE"])...)
	for _, id := range like {
		if id != "debian" && id != "ubuntu" {
			continue
		}
		d.id = id
		if id != fields["ID"] {
			// Mint's "vera" is Ubuntu's "jammy".
			if base := fields[strings.ToUpper(id)+"_CODENAME"]; base != "" {
				d.suite = base
			}
		}
		break
	}
	if d.id == "" {
		return d, fmt.Errorf("recipes and guest kernels need Debian or Ubuntu packages, and this host is %q: use a reference to an OCI image instead", fields["ID"])
	}
	return d, nil
}

// releaseFields reads an os-release.
func releaseFields(text string) map[string]string {
	fields := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			fields[key] = strings.Trim(value, `"'`)
		}
	}
	return fields
}

// debArchitecture is Debian's name of this program's architecture.
func debArchitecture() string {
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

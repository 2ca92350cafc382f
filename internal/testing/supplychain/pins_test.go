package supplychain

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

const root = "../../.."

var (
	uses  = regexp.MustCompile(`(?m)^[\s-]*uses:\s*(\S+)(.*)$`)
	image = regexp.MustCompile(`(?m)^[\s-]*image:\s*(\S+)`)
	from  = regexp.MustCompile(`(?mi)^FROM\s+(\S+)`)

	byCommit = regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)
	version  = regexp.MustCompile(`^ # v[0-9]`)
	byDigest = regexp.MustCompile(`^[^@]+@sha256:[0-9a-f]{64}$`)
)

// files are those of the tree with these names.
func files(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(data)
		}
	}
	return all
}

// A tag of an action can be moved to another commit, which then runs with the
// repository's rights.
func TestEveryActionIsNamedByItsCommit(t *testing.T) {
	some := false
	for name, text := range files(t, ".github/workflows/*.y*ml", ".github/actions/*/action.y*ml") {
		for _, m := range uses.FindAllStringSubmatch(text, -1) {
			some = true
			if !byCommit.MatchString(m[1]) || !version.MatchString(m[2]) {
				t.Errorf("%s: %s: name the commit, and its version behind it: uses: owner/name@<40 digits> # v1.2.3", name, m[1])
			}
		}
	}
	if !some {
		t.Error("no action was found")
	}
}

func TestEveryContainerImageIsNamedByItsDigest(t *testing.T) {
	some := false
	for name, text := range files(t, "*/compose*.y*ml", "compose*.y*ml", "Dockerfile*", "*/Dockerfile*", ".github/workflows/*.y*ml") {
		for _, m := range slices.Concat(image.FindAllStringSubmatch(text, -1), from.FindAllStringSubmatch(text, -1)) {
			some = true
			if !byDigest.MatchString(m[1]) {
				t.Errorf("%s: %s: name the digest: name:tag@sha256:<64 digits> (docker buildx imagetools inspect %s)", name, m[1], m[1])
			}
		}
	}
	if !some {
		t.Error("no image was found")
	}
}

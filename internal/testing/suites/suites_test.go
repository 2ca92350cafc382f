// Package suites tests that the built-in packs work with the packages of newer releases of
// Debian than the one that they are written for.
//
// It must not know how an image is built, nor what a pack measures.
package suites

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/testing/gobuild"
	"tare/internal/testing/needs"
	"tare/internal/workload"
)

// without are the packs that have no image of that release, by the suite.
var without = map[string]map[string]string{
	"trixie": {"cassandra": "Cassandra 5.0 needs Java 17, which trixie does not have"},
	"sid":    {"cassandra": "Cassandra 5.0 needs Java 17, which sid does not have"},
}

const study = `study: the suite has the packages of the pack
environments: {native: {}}
image: {suite: %s}
workloads: [{use: %s}]
design: {blocks: 1, rounds: 1}
`

// $TARE_TEST_SUITES are the suites, and $TARE_TEST_PACKS the packs, if not all.
func TestEveryPackWorksWithTheSuite(t *testing.T) {
	suites := strings.Fields(os.Getenv("TARE_TEST_SUITES"))
	if len(suites) == 0 {
		t.Skip("needs an image of each pack: make test-suites")
	}
	needs.Root(t)
	chosen := strings.Fields(os.Getenv("TARE_TEST_PACKS"))
	directory := needs.Disk(t)
	program := filepath.Join(directory, "tare")
	if err := gobuild.Build(program, "tare/cmd/tare"); err != nil {
		t.Fatal(err)
	}
	for _, suite := range suites {
		for _, name := range workload.Names() {
			if len(chosen) > 0 && !slices.Contains(chosen, name) {
				continue
			}
			t.Run(suite+"/"+name, func(t *testing.T) {
				if why := without[suite][name]; why != "" {
					t.Skip("needs another suite: " + why)
				}
				if name == "image-command" {
					t.Skip("needs an image of its own")
				}
				home := filepath.Join(directory, "home")
				defer os.RemoveAll(home) // an image of a pack has up to some hundred megabytes
				file := filepath.Join(directory, "study.yaml")
				if err := os.WriteFile(file, fmt.Appendf(nil, study, suite, name), 0o600); err != nil {
					t.Fatal(err)
				}
				run := exec.CommandContext(t.Context(), program, "run", file, "--home", home)
				if out, err := run.CombinedOutput(); err != nil {
					t.Errorf("%v:\n%s", err, out)
				}
			})
		}
	}
}

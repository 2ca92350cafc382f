package supplychain

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/licensecheck"

	"tare/deploy/linked"
)

// allowed are the licences of what is linked into the programs, bundled into the report or
// used by the tests: they ask for their notice, and for nothing of tare's own code.
// MPL-2.0 asks for changes of its own files alone, and tare changes none. OFL-1.1 is that
// of a font, which may be embedded in programs and documents, and is not sold by itself.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "OFL-1.1", "Unlicense", "Zlib", publicDomain}

// dedications to the public domain, which have no identifier of SPDX and ask for nothing:
// that of XZ Embedded and what is made from it.
var dedications = []string{
	"All these files have been put into the public domain. You can do whatever you want with these files.",
}

const publicDomain = "LicenseRef-Public-Domain"

const (
	page = "docs/contributing/licenses.md"
	head = `# Licences

tare is under the [Apache License 2.0](../../LICENSE). This page lists what it is made from besides Go's standard library (BSD-3-Clause), with [SPDX](https://spdx.org/licenses/) identifiers. It is generated from the licence files of the modules by ` + "`UPDATE_GOLDEN=1 go test ./internal/testing/supplychain`" + `; a test compares it, and fails for a licence that is not on its list. ` + "`make sbom`" + ` lists the same modules as CycloneDX.
`
)

// licenceFile matches what files of licences are called, among those of notices, and
// collection the pages of several licences with words between them.
var (
	licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)`)
	collection  = regexp.MustCompile(`(?i)3rd-party`)
)

// modules are those of the packages that go list names, with the licences of these
// packages: those of the module, and those of directories within it.
func modules(t *testing.T, arguments ...string) map[string][]string {
	t.Helper()
	all, err := linked.Modules(root, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, m := range all {
		found[m.Name] = licences(t, m.Directories)
		slices.Sort(found[m.Name])
		found[m.Name] = slices.Compact(found[m.Name])
	}
	return found
}

// licences are those that the files of directories hold; "unknown" for a file that holds
// something else.
func licences(t *testing.T, directories []string) (all []string) {
	t.Helper()
	files, err := linked.Notices(directories...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !licenceFile.MatchString(f.Name) {
			continue
		}
		covered := licensecheck.Scan([]byte(f.Text))
		words := strings.Join(strings.Fields(f.Text), " ")
		if slices.ContainsFunc(dedications, func(d string) bool { return strings.Contains(words, d) }) {
			all = append(all, publicDomain)
		} else if covered.Percent < 75 && (!collection.MatchString(f.Name) || len(covered.Match) == 0) {
			all = append(all, "unknown")
		}
		for _, m := range covered.Match {
			all = append(all, m.ID)
		}
	}
	return all
}

// bundled are the packages of the HTML report's script and style, as its lock file has
// them. What only builds and tests use is left out.
func bundled(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "web/package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for path, p := range lock.Packages {
		if name := strings.TrimPrefix(path, "node_modules/"); name != "" && !p.Dev {
			found[name+" "+p.Version] = []string{p.License}
		}
	}
	return found
}

func TestEveryLicenceIsAllowedAndListed(t *testing.T) {
	programs, tests := modules(t, "./cmd/tare", "./cmd/tare-agent"), modules(t, "-test", "./...")
	for name := range programs {
		delete(tests, name)
	}
	text := head
	for _, part := range []struct {
		title string
		of    map[string][]string
	}{{"Go modules in the programs", programs}, {"Go modules in the tests and checks", tests}, {"JavaScript in the report", bundled(t)}} {
		text += fmt.Sprintf("\n## %s\n\n| name | version | licence |\n|---|---|---|\n", part.title)
		names := make([]string, 0, len(part.of))
		for name := range part.of {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, both := range names {
			name, version, _ := strings.Cut(both, " ")
			text += fmt.Sprintf("| %s | %s | %s |\n", name, version, strings.Join(part.of[both], ", "))
			if len(part.of[both]) == 0 {
				t.Errorf("%s has no licence", both)
			}
			for _, licence := range part.of[both] {
				if !slices.Contains(allowed, licence) {
					t.Errorf("%s is under %s, which is not one of %s: use something else, or say here why it may be used", both, licence, strings.Join(allowed, ", "))
				}
			}
		}
	}
	path := filepath.Join(root, page)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), text); d != "" {
		t.Errorf("%s is out of date; UPDATE_GOLDEN=1 go test ./internal/testing/supplychain writes it (-have +want):\n%s", page, d)
	}
}

// The script of the report begins with the notices of what is in it.
func TestTheReportHasTheNoticesOfItsPackages(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, "internal/report/html/assets/report.js"))
	if err != nil {
		t.Fatal(err)
	}
	notice, _, closed := strings.Cut(string(script), "*/")
	if !closed || strings.Contains(notice, "No licence file.") {
		t.Fatal("its notices are not complete")
	}
	known, some := bundled(t), 0
	for _, m := range regexp.MustCompile(`(?m)^((?:@[\w.-]+/)?[\w.-]+ \d[\w.-]*)\. `).FindAllStringSubmatch(notice, -1) {
		if some++; known[m[1]] == nil {
			t.Errorf("%s is in the script and not in web/package-lock.json", m[1])
		}
	}
	if some == 0 {
		t.Error("no package was found")
	}
}

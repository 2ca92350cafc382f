package supplychain

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/licensecheck"
)

// allowed are the licences of what is linked into the programs, bundled into the report or
// used by the tests: they ask for their notice, and for nothing of tare's own code.
// MPL-2.0 asks for changes of its own files alone, and tare changes none. OFL-1.1 is that
// of a font, which may be embedded in programs and documents, and is not sold by itself.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "OFL-1.1", "Unlicense", "Zlib", publicDomain}

// dedications to the public domain, which have no identifier of SPDX and ask for nothing:
// that of XZ Embedded and what is made from it, and that of SQLite.
var dedications = []string{
	"All these files have been put into the public domain. You can do whatever you want with these files.",
	"All of the code and documentation in SQLite has been dedicated to the public domain by the authors.",
}

const publicDomain = "LicenseRef-Public-Domain"

const (
	page = "docs/licenses.md"
	head = `# Licences

tare is under the [Apache License 2.0](../LICENSE). This page lists what it is made from besides Go's standard library (BSD-3-Clause), with [SPDX](https://spdx.org/licenses/) identifiers. It is generated from the licence files of the modules by ` + "`UPDATE_GOLDEN=1 go test ./internal/testing/supplychain`" + `; a test compares it, and fails for a licence that is not on its list. ` + "`make sbom`" + ` lists the same modules as CycloneDX.
`
)

// module is one that packages are compiled from.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// licenceFile matches what licences of code are called, notCode those of other things, and
// collection pages of several licences with words between them.
var (
	licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)`)
	notCode     = regexp.MustCompile(`(?i)(\.(go|docs)|-logo)$`)
	collection  = regexp.MustCompile(`(?i)3rd-party`)
)

// modules are those of the packages that go list names, with the licences of these
// packages: those of the module, and those of folders within it.
func modules(t *testing.T, arguments ...string) map[string][]string {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,Module"}, arguments...)...)
	command.Dir = root
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir    string
			Module *module
		}
		if err := in.Decode(&p); err == io.EOF {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		name := p.Module.Path + " " + p.Module.Version
		for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
			found[name] = append(found[name], licences(t, dir)...)
		}
		slices.Sort(found[name])
		found[name] = slices.Compact(found[name])
	}
}

// licences are those that the files of a folder hold; "unknown" for a file that holds
// something else.
func licences(t *testing.T, dir string) (all []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || notCode.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		covered := licensecheck.Scan(text)
		words := strings.Join(strings.Fields(string(text)), " ")
		if slices.ContainsFunc(dedications, func(d string) bool { return strings.Contains(words, d) }) {
			all = append(all, publicDomain)
		} else if covered.Percent < 75 && (!collection.MatchString(e.Name()) || len(covered.Match) == 0) {
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

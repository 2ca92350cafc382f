package recipe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"tare/internal/base/lists"
	"tare/internal/image/debian"
	"tare/internal/image/store"
	"tare/internal/image/tool"
)

// fetchFormat changes whenever the same pin results in other bytes than before.
const fetchFormat = 2

// dependencyPlugin is the Maven plugin that resolves and copies artifacts.
const dependencyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"

// Fetch is a pinned dependency that is not a package of the distribution. The
// host's client downloads it, with the user's mirrors, proxies, credentials and
// checksums. Exactly one of Maven and Go is set.
type Fetch struct {
	// Maven is an artifact: group:artifact:version[:extension[:classifier]].
	Maven string `yaml:"maven" json:"maven,omitempty"`
	// Go is a program: module/path@version, or a package within a module as
	// module/path@version/package.
	Go string `yaml:"go" json:"go,omitempty"`
	// To is the directory in the image.
	To string `yaml:"to" json:"to"`
	// Dependencies includes the artifact's runtime dependencies.
	Dependencies bool `yaml:"dependencies" json:"dependencies,omitempty"`
	// Unpack extracts the archive.
	Unpack bool `yaml:"unpack" json:"unpack,omitempty"`
}

var (
	mavenPart    = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	goProgram    = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*\.[a-z]+(?:/[A-Za-z0-9_.~-]+)*)@(v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*)((?:/[A-Za-z0-9_.~-]+)*)$`)
	floatingWord = regexp.MustCompile(`(?i)^(latest|release)$|-snapshot$`)
)

func (f Fetch) normal() Fetch {
	f.To = path.Clean(f.To)
	return f
}

func (f Fetch) String() string { return cmp.Or(f.Maven, f.Go) }

// what identifies the dependency without its version: two recipes with two
// versions of it in one directory cannot share an image.
func (f Fetch) what() string {
	if m := goProgram.FindStringSubmatch(f.Go); m != nil {
		return m[1] + m[3]
	}
	parts := strings.Split(f.Maven, ":")
	if len(parts) > 2 {
		parts[2] = ""
	}
	return strings.Join(parts, ":")
}

// key identifies the content that the client downloads, independent of the
// target directory.
func (f Fetch) key(architecture string) string {
	f.To = ""
	text, err := json.Marshal(struct {
		Format       int
		Architecture string
		Fetch        Fetch
	}{fetchFormat, architecture, f})
	if err != nil {
		panic(err) // strings and truth values always marshal
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Kept is the name of the file that keeps what this host's client downloaded.
func (f Fetch) Kept() string { return f.key(debian.Architecture()) + ".tar" }

func (f Fetch) validate() error {
	switch {
	case (f.Maven == "") == (f.Go == ""):
		return fmt.Errorf("recipe: an entry of fetch has either maven or go")
	case !path.IsAbs(f.To) || path.Clean(f.To) == "/":
		return fmt.Errorf("recipe: fetch %s to %q: it must be the absolute path of a directory, such as /opt/app", f, f.To)
	case f.Go != "" && (f.Dependencies || f.Unpack):
		return fmt.Errorf("recipe: fetch %s: dependencies and unpack are for maven alone; a Go program is one file", f)
	case f.Go != "" && !goProgram.MatchString(f.Go):
		return fmt.Errorf("recipe: fetch go %q: it must be module/path@version with a fixed version such as v1.2.3", f.Go)
	case f.Go != "":
		return nil
	}
	parts := strings.Split(f.Maven, ":")
	for _, part := range parts {
		if !mavenPart.MatchString(part) {
			parts = nil
		}
	}
	if len(parts) < 3 || len(parts) > 5 {
		return fmt.Errorf("recipe: fetch maven %q: it must be group:artifact:version[:extension[:classifier]]", f.Maven)
	}
	if floatingWord.MatchString(parts[2]) {
		return fmt.Errorf("recipe: fetch maven %q: it must have a fixed version", f.Maven)
	}
	return nil
}

// program returns the client that downloads it.
func (f Fetch) program() string {
	if f.Go != "" {
		return "go"
	}
	return "mvn"
}

// needClients checks that all clients are installed, before anything is built.
func (r Recipe) needClients() error {
	for _, f := range r.Fetch {
		if _, err := exec.LookPath(f.program()); err != nil {
			return fmt.Errorf("%s is fetched with %s: %w", f, f.program(), tool.NotInstalled(f.program()))
		}
	}
	return nil
}

// fetchAll puts a recipe's dependencies into a directory as one numbered tar
// each, from the store if it has them.
func (r Recipe) fetchAll(ctx context.Context, kept store.Directory, dir string, say func(string)) error {
	for i, f := range r.Fetch {
		file := kept.Path("fetched", f.Kept())
		target := filepath.Join(dir, fmt.Sprintf("%04d.tar", i))
		for {
			err := kept.Once(ctx, "fetch-"+filepath.Base(file), file, func(temporary string) error {
				say("fetching " + f.String())
				return f.fetch(ctx, temporary)
			})
			if err != nil {
				return fmt.Errorf("fetch %s: %w", f, err)
			}
			err = os.Link(file, target)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrNotExist) { // else it was removed just now
				return fmt.Errorf("fetch %s: %w", f, store.Explain(err))
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.path", i)), []byte(f.To), 0o644); err != nil {
			return store.Explain(err)
		}
	}
	return nil
}

// fetch writes a tar of what the client downloads. It uses a work directory next
// to it.
func (f Fetch) fetch(ctx context.Context, tarFile string) error {
	work := tarFile + ".work"
	got := filepath.Join(work, "got")
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(got, 0o755); err != nil {
		return store.Explain(err)
	}
	var err error
	if f.Go != "" {
		err = f.buildGo(ctx, work, got)
	} else {
		err = f.askMaven(ctx, work, got)
	}
	if err != nil {
		return err
	}
	names, err := entriesOf(got)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s downloaded no file", f.program())
	}
	// The entries' names instead of ".", so that unpacking does not change the
	// directory itself.
	argv := []string{"tar", "--create", "--file", tarFile, "--directory", got, "--format=gnu", "--sort=name",
		"--owner=0", "--group=0", "--numeric-owner", "--mtime=@" + Epoch, "--mode=u+rwX,go+rX,go-w", "--"}
	_, err = tool.Call{Argv: append(argv, names...)}.Run(ctx)
	return err
}

func entriesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return lists.Map(entries, os.DirEntry.Name), nil
}

// mavenProject returns a POM that depends on the artifact only. validate lets no
// character through that XML would need to escape.
func (f Fetch) mavenProject() string {
	var of strings.Builder
	for i, part := range strings.Split(f.Maven, ":") {
		tag := []string{"groupId", "artifactId", "version", "type", "classifier"}[i]
		fmt.Fprintf(&of, "<%s>%s</%[1]s>", tag, part)
	}
	if !f.Dependencies {
		of.WriteString("<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>")
	}
	return `<project>
<modelVersion>4.0.0</modelVersion>
<groupId>tare</groupId><artifactId>fetch</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency>` + of.String() + `</dependency></dependencies>
</project>
`
}

func (f Fetch) askMaven(ctx context.Context, work, got string) error {
	pom := filepath.Join(work, "pom.xml")
	if err := os.WriteFile(pom, []byte(f.mavenProject()), 0o644); err != nil {
		return store.Explain(err)
	}
	goal := "copy-dependencies"
	if f.Unpack {
		goal = "unpack-dependencies"
	}
	_, err := tool.Call{Dir: work, Argv: []string{"mvn", "--batch-mode", "--quiet", "--strict-checksums", "--file", pom,
		"--update-snapshots", // ask again for what was not to be had the last time
		dependencyPlugin + ":" + goal, "-DincludeScope=runtime", "-DoutputDirectory=" + got,
		// Otherwise its metadata would be unpacked among the files.
		"-DmarkersDirectory=" + filepath.Join(work, "markers")}}.Run(ctx)
	return explainMaven(err)
}

var (
	mavenNothing     = regexp.MustCompile(`(?i)could not find artifact (\S+)`)
	mavenUnreachable = regexp.MustCompile(`(?i)could not transfer artifact (\S+) .*`)
)

// explainMaven shortens Maven's output to the cause, if it is a known one.
func explainMaven(err error) error {
	var failed *tool.Error
	if !errors.As(err, &failed) {
		return err
	}
	if m := mavenNothing.FindStringSubmatch(failed.Output); m != nil {
		return fmt.Errorf("no artifact %s in the Maven repositories: check its spelling and version, and the mirrors in settings.xml", m[1])
	}
	if m := mavenUnreachable.FindString(failed.Output); m != "" {
		return fmt.Errorf("a Maven repository cannot be reached or returned an unexpected response: check the network, and settings.xml for proxies and mirrors:\n%s", tool.Indent(m))
	}
	return err
}

// buildGo builds within a new module that requires the one version. `go install`
// would also request the list of all versions, which not every module proxy has. The
// module is of Go 1.17 or later, so that of the program's dependencies only those are
// requested that its own go.mod names, and not the versions that others once had.
func (f Fetch) buildGo(ctx context.Context, work, got string) error {
	m := goProgram.FindStringSubmatch(f.Go)
	module, version, below := m[1], m[2], m[3]
	text := fmt.Sprintf("module tare.invalid/fetch\n\ngo 1.21\n\nrequire %s %s\n", module, version)
	if err := os.WriteFile(filepath.Join(work, "go.mod"), []byte(text), 0o644); err != nil {
		return store.Explain(err)
	}
	_, err := tool.Call{Dir: work, Env: []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod"},
		Argv: []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", got + "/", module + below}}.Run(ctx)
	return err
}

// Package release tests the files of a release as their users get them: scripts/release.sh
// makes them, and they are installed and run where tare was never built.
package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

const (
	version = "0.0.1-test.1"
	root    = "../../.."
)

var directory string // of all releases that are made here

func TestMain(m *testing.M) {
	status := 1
	var err error
	if directory, err = os.MkdirTemp("", "tare-release-"); err == nil {
		status = m.Run()
		os.RemoveAll(directory)
	}
	os.Exit(status)
}

// build makes a release and returns its directory.
func build(flags ...string) (string, []byte, error) {
	out, err := os.MkdirTemp(directory, "")
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(root+"/scripts/release.sh", append(flags, out)...)
	cmd.Env = append(os.Environ(), "VERSION="+version, "TARE_TEST_IMAGES="+testenv.Images())
	if needs.ShortForm() {
		cmd.Env = append(cmd.Env, "ARCHITECTURES="+runtime.GOARCH)
	}
	said, err := cmd.CombinedOutput()
	return out, said, err
}

var whole = sync.OnceValues(func() (string, error) {
	out, said, err := build()
	if err != nil {
		return "", &exec.Error{Name: "scripts/release.sh: " + string(said), Err: err}
	}
	return out, nil
})

// made is the directory of a release that all tests share.
func made(t *testing.T) string {
	t.Helper()
	needs.Minutes(t, "it builds a release")
	needs.Root(t)
	needs.Program(t, "git", "mmdebstrap")
	if _, err := os.Stat(root + "/build/bin/nfpm"); err != nil {
		needs.Working(t, "nfpm and cyclonedx-gomod in build/bin (scripts/setup.sh release)", err)
	}
	out, err := whole()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// one is the file of a release that a pattern names.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(made(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %q", pattern, err, found)
	}
	return found[0]
}

func TestAReleaseIsMadeAgainWithTheSameBytes(t *testing.T) {
	needs.LongForm(t, "builds a second release")
	first := made(t)
	again, said, err := build("--no-image") // its packages are those of the day
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	// The provenance names the image too.
	sums := func(directory string) string {
		text, err := os.ReadFile(directory + "/SHA256SUMS")
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`(?m)^.*(-image-|\.intoto\.json).*\n`).ReplaceAllString(string(text), "")
	}
	if one, other := sums(first), sums(again); one != other || strings.Count(one, "\n") != 8 {
		t.Errorf("two releases from the same source:\n%s\n%s", one, other)
	}
}

func TestChecksumsAndProvenanceNameEveryFile(t *testing.T) {
	out := made(t)
	sh(t, "sh", "-c", "cd '"+out+"' && sha256sum --check --strict SHA256SUMS")
	sums, err := os.ReadFile(out + "/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(one(t, "*.intoto.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Type      string `json:"_type"`
		Subject   []struct{ Name, Digest any }
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters, InternalParameters map[string]string
				ResolvedDependencies                   []struct {
					Name   string
					Digest map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f.Name(), "SHA256SUMS") {
			continue
		}
		if !strings.Contains(string(sums), "  "+f.Name()+"\n") {
			t.Errorf("SHA256SUMS lacks %s", f.Name())
		}
		if !strings.Contains(f.Name(), ".intoto.") && !strings.Contains(string(text), `"name": "`+f.Name()+`"`) {
			t.Errorf("the provenance lacks %s", f.Name())
		}
	}
	d := s.Predicate.BuildDefinition
	head := strings.TrimSpace(sh(t, "git", "-C", root, "rev-parse", "HEAD"))
	if s.Type != "https://in-toto.io/Statement/v1" || len(s.Subject) != len(files)-2 || d.ExternalParameters["version"] != version ||
		d.InternalParameters["go"] != runtime.Version() || d.ResolvedDependencies[0].Digest["gitCommit"] != head {
		t.Errorf("%s", text)
	}
}

func TestThePackagesHoldTheSameFiles(t *testing.T) {
	deb := one(t, "*_amd64.deb")
	needs.Program(t, "dpkg-deb", "rpm")
	tree := names(t, []byte(sh(t, "dpkg-deb", "--fsys-tarfile", deb)))
	for _, wanted := range []string{"/usr/bin/tare", "/usr/share/man/man1/tare-run.1.gz", "/usr/share/bash-completion/completions/tare", "/usr/share/doc/tare/copyright", "/usr/share/doc/tare/docs/README.md", "/usr/share/doc/tare/schema/study.schema.json", "/usr/share/doc/tare/examples/README.md"} {
		if !slices.Contains(tree, wanted) {
			t.Errorf("the .deb lacks %s", wanted)
		}
	}
	for _, path := range tree {
		if strings.Contains(path, "systemd") || strings.HasSuffix(path, "/runsc") {
			t.Errorf("the .deb has %s", path)
		}
	}
	rpm := one(t, "*.x86_64.rpm")
	var listed []string
	for line := range strings.Lines(sh(t, "rpm", "-qp", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", rpm)) {
		if mode, path, _ := strings.Cut(strings.TrimSpace(line), " "); !strings.HasPrefix(mode, "d") {
			listed = append(listed, strings.ReplaceAll(path, "/zsh/site-functions/", "/zsh/vendor-completions/"))
		}
	}
	slices.Sort(tree)
	slices.Sort(listed)
	if !slices.Equal(tree, listed) {
		t.Errorf("the .deb has\n%q\nand the .rpm\n%q", tree, listed)
	}
	empty := t.TempDir()
	sh(t, "rpm", "--root", empty, "--install", "--nodeps", rpm)
	if out := sh(t, "chroot", empty, "/usr/bin/tare", "version"); !strings.HasPrefix(out, "tare version "+version+"\n") {
		t.Errorf("installed from the .rpm: %q", out)
	}
}

func TestTheBillOfMaterialsListsTheModulesWithTheirLicences(t *testing.T) {
	text, err := os.ReadFile(one(t, "*"+runtime.GOARCH+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{`"bomFormat": "CycloneDX"`, "github.com/spf13/cobra", "Apache-2.0", `"version": "` + version + `"`} {
		if !strings.Contains(string(text), wanted) {
			t.Errorf("it lacks %s", wanted)
		}
	}
}

func TestTheTarballSaysWhatItIsMadeFrom(t *testing.T) {
	listed := strings.Fields(sh(t, "tar", "--list", "--file", one(t, "*linux-amd64.tar.gz")))
	for _, file := range []string{"tare", "LICENSE", "THIRD-PARTY-LICENSES", "README.md", "docs/README.md", "schema/study.schema.json", "examples/README.md", "man/tare.1", "completions/_tare"} {
		if !slices.Contains(listed, "tare-"+version+"-linux-amd64/"+file) {
			t.Errorf("it lacks %s", file)
		}
	}
	licences := sh(t, "tar", "--extract", "--to-stdout", "--file", one(t, "*linux-amd64.tar.gz"), "--wildcards", "*/THIRD-PARTY-LICENSES")
	for _, of := range []string{"Go's standard library", "github.com/spf13/cobra v", "k8s.io/client-go v"} {
		if !strings.Contains(licences, of) {
			t.Errorf("no licence of %s", of)
		}
	}
}

func TestTheDebMeasuresInABareDebianRoot(t *testing.T) {
	deb := one(t, "*_"+runtime.GOARCH+".deb")
	needs.Program(t, "runsc")
	m := bareDebian(t)
	sh(t, "cp", deb, filepath.Join(m.root, "tmp/tare.deb"))
	m.must(t, "apt-get -q update; apt-get -q install -y --no-install-recommends ca-certificates /tmp/tare.deb </dev/null")
	m.must(t, "tare version", "tare version "+version, "platform  linux/"+runtime.GOARCH)
	if out, _ := m.run(t, "tare doctor"); !regexp.MustCompile(`(?s)gvisor +missing.*gvisor\.dev/docs`).MatchString(out) {
		t.Error("doctor does not say how to install runsc, which no package of tare has")
	}
	m.must(t, "ls /usr/share/bash-completion/completions/tare && dpkg --verify tare")
	// With native alone there is nothing to compare, which is not a success.
	if out, status := m.run(t, "tare bench --env native,gvisor --runs 2 -- true"); status == 0 || !strings.Contains(out, "runsc") {
		t.Errorf("without runsc: exit status %d", status)
	}

	// As its user installs it.
	runsc, err := exec.LookPath("runsc")
	if err != nil {
		t.Fatal(err)
	}
	sh(t, "cp", runsc, filepath.Join(m.root, "usr/local/bin/runsc"))
	m.must(t, "tare bench --runs 6 -- gzip -k -c /bin/bash", "\ngvisor (", "\nestimate [", "report: /var/lib/tare/runs/bench-")
	// The image of quick is one that other tests make too.
	m.binds = []string{testenv.Images() + ":/var/lib/tare/images"}
	m.must(t, "tare run quick --blocks 2", "baseline native", "  gvisor ", "report: /var/lib/tare/runs/quick-")
	m.must(t, "tare clean && tare ls runs", "quick-")
	m.must(t, "apt-get -q purge -y tare && ! command -v tare")
}

func TestTheProgramForARM64ReadsComputesAndMeasures(t *testing.T) {
	needs.LongForm(t, "builds for another architecture")
	archive := one(t, "*linux-arm64.tar.gz")
	emulateARM64(t)
	needs.Network(t)
	needs.Program(t, "mmdebstrap")
	m := machine{root: filepath.Join(t.TempDir(), "root")}
	suite := strings.TrimSpace(sh(t, "sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME"))
	// Unpacked alone: the scripts of the packages would take minutes under emulation.
	sh(t, "mmdebstrap", "--quiet", "--arch=arm64", "--variant=extract", "--include=base-files,bash,coreutils,gzip,mount", suite, m.root)
	image(t, m.root)
	sh(t, "tar", "--extract", "--file", archive, "--directory", filepath.Join(m.root, "usr/bin"), "--strip-components=1", "--wildcards", "*/tare")
	sh(t, "cp", root+"/internal/cli/testdata/stats/plain.csv", root+"/cmd/tare/testdata/tiny.yaml", filepath.Join(m.root, "root"))

	m.must(t, "uname -m", "aarch64")
	m.must(t, "tare version", "platform  linux/arm64")
	m.must(t, "tare doctor", "native            usable", "this host's architecture is")
	m.must(t, "tare stats /root/plain.csv --baseline native", "docker       12  -7.1%")
	m.must(t, "cd /root && echo value 100 >value.txt && tare import --tool ./tiny.yaml --environment native --out one value.txt && tare report one --format md,text && ls one/report.md")
	m.must(t, "tare bench --env native --image tar:/image.tar --runs 5 -- gzip -k -c /bin/bash", "native (5 runs)", "report: ")
}

// image puts an OCI image with the root file system of an arm64 machine into it.
func image(t *testing.T, machine string) {
	t.Helper()
	layer := filepath.Join(t.TempDir(), "layer.tar")
	sh(t, "tar", "--create", "--file", layer, "--directory", machine, "--exclude=./dev/*", ".")
	content, err := tarball.LayerFromFile(layer)
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "arm64", RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}})
	if err == nil {
		img, err = mutate.AppendLayers(img, content)
	}
	if err == nil {
		err = tarball.WriteToFile(filepath.Join(machine, "image.tar"), name.MustParseReference("localhost/arm64"), img)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// engines that run privileged containers: the command, and the flags of its run. The limits
// of Podman's are those that root without CAP_SYS_RESOURCE can set, and runc is a runtime
// that takes hybrid cgroups.
var engines = []struct{ command, run []string }{
	{[]string{"docker"}, nil},
	{[]string{"podman", "--cgroup-manager=cgroupfs", "--runtime=runc"}, []string{"--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"}},
}

func TestTheImageMeasuresInAPrivilegedContainer(t *testing.T) {
	archive := one(t, "*-image-*.tar")
	reference := "localhost/tare:" + version
	var refused []error
	for _, e := range engines {
		engine := func(arguments ...string) (string, error) {
			argv := append(slices.Clone(e.command), arguments...)
			out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%q: %w: %s", argv, err, out)
			}
			return string(out), err
		}
		run := func(arguments ...string) (string, error) {
			return engine(append(append([]string{"run", "--rm", "--privileged", "--network=host"}, e.run...), arguments...)...)
		}
		_, err := engine("load", "--input", archive)
		if err == nil {
			_, err = run(reference, "version") // Docker gives capabilities that root may lack
		}
		if err != nil {
			refused = append(refused, err)
			_, _ = engine("rmi", reference)
			continue
		}
		out, err := run("--volume="+t.TempDir()+":/var/lib/tare", "--volume="+testenv.Images()+":/var/lib/tare/images",
			reference, "bench", "--env", "native,oci,bubblewrap", "--runs", "2", "--", "gzip", "-k", "-c", "/bin/bash")
		if _, failed := engine("rmi", reference); failed != nil {
			t.Error(failed)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("in %s:\n%s", e.command[0], out)
		for _, environment := range []string{"native", "oci", "bubblewrap"} { // the verdicts are chance
			if !strings.Contains(out, "\n"+environment+" (") {
				t.Errorf("no runs of %s", environment)
			}
		}
		return
	}
	needs.Working(t, "an engine that runs privileged containers", errors.Join(refused...))
}

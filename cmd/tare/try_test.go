package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/rundir"
	"tare/internal/testing/freeport"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/workload"
)

// published writes an image of these packages with metadata as its author would.
func published(t *testing.T, recipe recipe.Recipe, config v1.Config) (archive string) {
	t.Helper()
	store, err := image.Open(testenv.Images())
	if err != nil {
		t.Fatal(err)
	}
	built, err := store.Get(t.Context(), image.Source{Recipe: &recipe}, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	img, err := built.OCI(t.Context())
	if err == nil {
		config.Env = append(config.Env, built.Env...)
		img, err = mutate.Config(img, config)
	}
	archive = filepath.Join(t.TempDir(), "app.tar")
	if err == nil {
		err = tarball.WriteToFile(archive, name.MustParseReference("localhost/app"), img)
	}
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// tookPart checks that each of the environments finished each workload of a run.
func tookPart(t *testing.T, directory string, environments ...string) {
	t.Helper()
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	finished := map[[2]string]bool{}
	for _, trial := range run.Trials {
		if trial.Status == rundir.OK {
			finished[[2]string{trial.Environment, trial.Workload}] = true
		} else {
			t.Errorf("%s in %s: %s: %s", trial.Workload, trial.Environment, trial.Status, trial.Reason)
		}
	}
	for _, e := range environments {
		for _, w := range run.Plan.Workloads {
			if !finished[[2]string{e, w.Name}] {
				t.Errorf("%s did not take part in %s", e, w.Name)
			}
		}
	}
}

func TestAnImageIsTriedFromItsMetadataAlone(t *testing.T) {
	needs.Minutes(t, "makes an image of a server and its load driver")
	needsInstances(t)
	needsKind(t, "docker")
	needsKind(t, "gvisor")
	var recipes []recipe.Recipe
	for _, pack := range []string{"redis", "startup-port"} {
		p, err := workload.Builtin(pack)
		if err != nil {
			t.Fatal(err)
		}
		recipes = append(recipes, p.Image)
	}
	recipe, err := recipe.Merge(recipes...) // that of the driver: one image is built
	if err != nil {
		t.Fatal(err)
	}
	port := freeport.New(t)
	archive := published(t, recipe, v1.Config{
		Entrypoint: []string{"redis-server", "--port", fmt.Sprint(port)}, Cmd: []string{"--requirepass", "open sesame", "--save", ""},
		User: "redis", WorkingDir: "/var/lib/redis", ExposedPorts: map[string]struct{}{fmt.Sprintf("%d/tcp", port): {}}, StopSignal: "SIGINT",
	})
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	saved, out := filepath.Join(t.TempDir(), "study.yaml"), filepath.Join(t.TempDir(), "run")
	p := h.tare(t, "try", "tar:"+archive, "--budget", "40s", "--quiet", "--save", saved, "--out", out)
	status, rest := p.end()
	tookPart(t, out, "native", "docker", "gvisor") // those that it chose
	for _, want := range []string{
		"GET ", "SET ", "CPU per 1000 ", "memory ", "first answer ",
		fmt.Sprintf("port %d: the image exposes it (--port)", port), "load redis: it answers PING as Redis does (--load)",
		"the password of --requirepass: ", "report: ",
	} {
		if !strings.Contains(rest, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if text, err := os.ReadFile(saved); err != nil || !strings.Contains(string(text), "use: redis, as: load, server: image") {
		t.Errorf("%v\n%s", err, text)
	}
	if status != 0 {
		t.Errorf("status %d", status)
	}
	if t.Failed() {
		t.Log(rest, p.errs.String())
	}
	again := h.tare(t, "run", "--dry-run", saved)
	if status, rest := again.end(); status != 0 || !strings.Contains(rest, "The image's own server under the load of redis") {
		t.Errorf("status %d\n%s%s", status, rest, again.errs.String())
	}
	profile := h.tare(t, "profile", "tar:"+archive, "--blocks", "1", "--quiet")
	if status, rest := profile.end(); status != 0 || !strings.Contains(rest, "What one operation (requests) of load asks of the kernel in native.") || !strings.Contains(rest, "writes to TCP sockets") {
		t.Errorf("status %d\n%s%s", status, rest, profile.errs.String())
	}
	h.clean(t)
}

func TestACommandIsProfiledInOneStep(t *testing.T) {
	h := aHome(t)
	p := h.tare(t, "profile", "--blocks", "1", "--quiet", "--", "sh", "-c", "true; /bin/true")
	if status, rest := p.end(); status != 0 || !strings.Contains(rest, "What one operation (run) of command asks of the kernel in native.") || !strings.Contains(rest, "\nprograms") {
		t.Errorf("status %d\n%s%s", status, rest, p.errs.String())
	}
}

// mariadbEntry does what the entrypoint of the official image does at the first start: it
// makes the tables, the password of root and the database that the variables name.
const mariadbEntry = `#!/bin/bash
set -e
data=/var/lib/mysql
if [ "$(id -u)" = 0 ]; then
  mkdir -p $data /run/mysqld
  chown -R mysql:mysql $data /run/mysqld
  exec setpriv --reuid=mysql --regid=mysql --clear-groups "$0" "$@"
fi
if [ ! -d $data/mysql ]; then
  [ -n "$MARIADB_ROOT_PASSWORD" ] || { echo "database is uninitialized: set MARIADB_ROOT_PASSWORD" >&2; exit 1; }
  mariadb-install-db --datadir=$data --skip-test-db --auth-root-authentication-method=normal > /dev/null
  mariadbd --datadir=$data --bootstrap <<END
FLUSH PRIVILEGES;
ALTER USER root@localhost IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
CREATE USER root@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
CREATE DATABASE $MARIADB_DATABASE;
END
fi
exec "$@"
`

func TestADatabaseIsTriedWithTheLoginOfItsVariables(t *testing.T) {
	needs.Minutes(t, "makes an image of a database and its load driver")
	needsInstances(t)
	needsKind(t, "docker")
	pack, err := workload.Builtin("mysql-oltp")
	if err != nil {
		t.Fatal(err)
	}
	recipe := recipe.Recipe{
		Packages: pack.Image.Packages, Commands: []string{"rm -rf /var/lib/mysql/*"},
		Files: []recipe.File{{Path: "/usr/local/bin/entry.sh", Mode: 0o755, Content: mariadbEntry}},
	}
	archive := published(t, recipe, v1.Config{
		Entrypoint: []string{"/usr/local/bin/entry.sh"}, Cmd: []string{"mariadbd", "--bind-address=0.0.0.0"}, ExposedPorts: map[string]struct{}{"3306/tcp": {}},
	})
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("correct horse battery\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "run")
	// Arguments replace those of the image, and the port of the metadata is not listened at.
	p := h.tare(t, "try", "--env", "docker,gvisor", "--secret", "MARIADB_ROOT_PASSWORD="+password, "--env-var", "MARIADB_DATABASE=shop",
		"--budget", "90s", "--quiet", "--out", out, "tar:"+archive, "--", "mariadbd", "--bind-address=0.0.0.0", "--port=3310")
	status, rest := p.end()
	tookPart(t, out, "docker", "gvisor")
	for _, want := range []string{
		"transactions ", "CPU per 1000 ", "memory ", "first answer ", "port 3310: the image listens there", "load mysql: it greets as MySQL",
		"user root, database shop, with the password of the variables",
	} {
		if !strings.Contains(strings.Join(strings.Fields(rest), " ")+" ", strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is not there", want)
		}
	}
	if status != 0 || t.Failed() {
		t.Errorf("status %d\n%s\n%s", status, rest, p.errs.String())
	}
	h.clean(t)
}

func TestAJobOfAnImageIsTried(t *testing.T) {
	needsInstances(t)
	archive := published(t, testenv.Recipe(), v1.Config{Entrypoint: []string{"sh", "-c"}, Cmd: []string{"seq 20000 | sha256sum"}, User: "nobody"})
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	p := h.tare(t, "try", "tar:"+archive, "--budget", "20s", "--quiet")
	status, rest := p.end()
	for _, want := range []string{"wall time ", "CPU time ", "memory ", "instance start ", "load job: the command ended by itself with status 0"} {
		if !strings.Contains(rest, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if status != 0 || t.Failed() {
		t.Errorf("status %d\n%s%s", status, rest, p.errs.String())
	}
	h.clean(t)
}

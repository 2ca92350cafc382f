package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"tare/internal/image/recipe"
	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/workload"
)

// The api is a replica of the store: it is healthy once it found the store by its name and
// has what seed wrote there.
const replicated = `
name: pair
services:
  api:
    image: tar:%[1]s
    entrypoint: [sh, -c, 'exec redis-server --protected-mode no --save "" --replica-read-only no --replicaof store 6379 --masterauth "$$(cat /run/secrets/password)"']
    environment: {SEEDED: "yes"}
    depends_on: {seed: {condition: service_completed_successfully}}
    healthcheck: {test: 'test "$$(redis-cli get seeded)" = "$$SEEDED"'}
    secrets: [password]
    deploy: {resources: {limits: {memory: 128M}}}
  seed:
    image: tar:%[1]s
    entrypoint: [sh, -c, 'redis-cli -h store -a "$$(cat /run/secrets/password)" set seeded yes']
    secrets: [password]
    depends_on: {store: {condition: service_healthy}}
  store:
    image: tar:%[1]s
    entrypoint: [sh, -c, 'exec redis-server /store.conf --requirepass "$$(cat /run/secrets/password)"']
    configs: [{source: store, target: /store.conf}]
    secrets: [password]
    healthcheck: {test: 'redis-cli -a "$$(cat /run/secrets/password)" ping | grep PONG'}
    volumes: [data:/var/lib/redis]
volumes: {data: {}}
configs: {store: {content: "protected-mode no\nsave \"\"\ndir /var/lib/redis\n"}}
secrets: {password: {file: ./password}}
`

func TestAComposeApplicationRunsInDockerAndGVisor(t *testing.T) {
	needs.Minutes(t, "makes an image of a server and its load driver")
	needsInstances(t)
	needsKind(t, "docker")
	needsKind(t, "gvisor")
	archive := redisImage(t)
	directory, password := t.TempDir(), "the-password-of-the-store"
	for name, text := range map[string]string{
		"compose.yaml": fmt.Sprintf(replicated, archive),
		"password":     password,
		"study.yaml": `
study: two services
baseline: docker
environments: {docker: {}, gvisor: {}}
workloads:
  - {use: redis, as: all, server: {compose: ./compose.yaml, service: api}, port: 6379}
  - {use: redis, as: api, server: {compose: ./compose.yaml, service: api, under: [api]}, port: 6379}
`} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runsWithoutItsSecret(t, directory, password)
}

// redisImage is an archive of an image with Redis and its load driver.
func redisImage(t *testing.T) string {
	t.Helper()
	var recipes []recipe.Recipe
	for _, pack := range []string{"redis", "startup-port"} { // as for tare try: one image is built
		p, err := workload.Builtin(pack)
		if err != nil {
			t.Fatal(err)
		}
		recipes = append(recipes, p.Image)
	}
	recipe, err := recipe.Merge(recipes...)
	if err != nil {
		t.Fatal(err)
	}
	return published(t, recipe, v1.Config{
		Entrypoint: []string{"redis-server"}, User: "redis", WorkingDir: "/var/lib/redis",
		Volumes: map[string]struct{}{"/var/lib/redis": {}}, ExposedPorts: map[string]struct{}{"6379/tcp": {}},
	})
}

// runsWithoutItsSecret runs the study of a directory, whose workloads are all and api: all
// services of an application, and one of them, in docker and gvisor.
func runsWithoutItsSecret(t *testing.T, directory, password string) {
	t.Helper()
	out := filepath.Join(directory, "run")
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	p := h.tare(t, "run", filepath.Join(directory, "study.yaml"), "--blocks", "1", "--quiet", "--out", out)
	if status, rest := p.end(); status != 0 {
		t.Fatalf("status %d\n%s\n%s", status, rest, p.errs.String())
	}
	tookPart(t, out, "docker", "gvisor")
	run, err := rundir.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	memory := map[string]float64{}
	for _, trial := range run.Trials {
		memory[trial.Environment+" "+trial.Workload] = trial.Metrics["memory"]
	}
	for _, e := range []string{"docker", "gvisor"} {
		if all, one := memory[e+" all"], memory[e+" api"]; !(one > 0 && all > 1.3*one) {
			t.Errorf("in %s all services have %g B of memory, and one of them %g B", e, all, one)
		}
	}
	hasNot(t, out, password)
}

// hasNot fails where a file of a run has a secret.
func hasNot(t *testing.T, out, password string) {
	t.Helper()
	err := filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), password) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

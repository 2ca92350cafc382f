package study

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/application/secret"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/workload"
)

const shop = `
name: shop
services:
  api:
    build: .
    command: [serve, "--greeting=$${NAME}"]
    user: www
    environment: {A: b}
    depends_on: {cache: {condition: service_healthy}, prepare: {condition: service_completed_successfully}}
    volumes: [./static:/static:ro, shared:/shared, {type: tmpfs, target: /cache, tmpfs: {size: 1m}}]
    secrets: [token]
    configs: [{source: settings, target: /settings, uid: "5", mode: 0400}, note]
    stop_signal: SIGINT
    stop_grace_period: 3s
    expose: ["8080"]
    mem_limit: 64m
    extra_hosts: ["partner=192.0.2.7"]
  cache:
    image: redis:7
    healthcheck: {test: redis-cli ping, interval: 1m, retries: 2}
    volumes: [shared:/shared:ro, /var/lib/redis]
  prepare:
    image: redis:7
    entrypoint: [redis-cli, -h, cache]
    healthcheck: {disable: true}
volumes: {shared: {}}
secrets: {token: {file: token}}
configs: {settings: {file: settings}, note: {content: text}}
`

const ofShop = `
study: x
baseline: docker
environments: {docker: {}, gvisor: {}}
workloads:
  - {use: nginx-open, as: shop, server: {compose: ./compose.yaml, service: api, under: [api]}, port: 8080, path: /health}
`

// resolveShop resolves a study with an application next to it, and returns the directory.
func resolveShop(t *testing.T, app, study string) (*Plan, string, error) {
	t.Helper()
	directory := t.TempDir()
	for name, text := range map[string]string{"compose.yaml": app, "study.yaml": study, "token": "secret text", "settings": "a=b", "static/index.html": ""} {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := Open(filepath.Join(directory, "study.yaml"), Overrides{})
	return plan, directory, err
}

func TestTheServicesOfAnApplicationAreTheServersOfAWorkload(t *testing.T) {
	plan, directory, err := resolveShop(t, shop, ofShop)
	if err != nil {
		t.Fatal(err)
	}
	w := plan.Workloads[0]
	check(t, "application", *w.Application, Application{
		Name: "shop", Files: []string{filepath.Join(directory, "compose.yaml")}, Service: "api", Under: []string{"api"},
		Services: []Service{
			{Name: "cache", Role: "cache", Names: []string{"cache"}, Volumes: []Volume{{Name: "shared", To: "/shared", ReadOnly: true}, {To: "/var/lib/redis"}}},
			{Name: "prepare", Role: "prepare", Names: []string{"prepare"}},
			{
				Name: "api", Role: "api", Names: []string{"api"}, Hosts: map[string]string{"partner": "192.0.2.7"},
				Limits:  environment.Limits{Memory: 64 * quantity.MiB},
				Mounts:  []environment.Mount{{From: filepath.Join(directory, "static"), To: "/static", ReadOnly: true}, {Memory: true, Size: quantity.MiB, To: "/cache"}},
				Volumes: []Volume{{Name: "shared", To: "/shared"}},
				Files: []ServiceFile{
					{To: "/run/secrets/token", Mode: 0o444, Secret: &secret.Source{Name: "shop api /run/secrets/token", File: filepath.Join(directory, "token"), As: secret.AtPath}},
					{To: "/settings", From: filepath.Join(directory, "settings"), SHA256: "42144f3939c3ffbbf0bf8b1f12affb5c23a4c5bd41e0ff672d54a5754f062058", User: "5:0", Mode: 0o400},
					{To: "/note", Content: "text", Mode: 0o444},
				},
			},
		},
	})
	check(t, "images", plan.Images, map[string]image.Source{
		"docker-daemon:shop-api": {Reference: "docker-daemon:shop-api"}, "redis:7": {Reference: "redis:7", Engine: true},
	})
	check(t, "servers", w.Pack.Servers, []workload.Server{
		{Step: workload.Step{Entrypoint: true, Role: "cache"}, Health: &workload.Health{Exec: []string{"/bin/sh", "-c", "redis-cli ping"}, Timeout: 3 * time.Minute}},
		{Step: workload.Step{Entrypoint: true, Role: "prepare", Program: []string{"redis-cli", "-h", "cache"}}, Completes: true, Health: &workload.Health{NotImage: true, Timeout: time.Minute}},
		{
			Step:  workload.Step{Entrypoint: true, Role: "api", Argv: []string{"serve", "--greeting=$${NAME}"}, Env: []string{"A=b"}, User: "www"},
			Ready: w.Pack.Servers[2].Ready, Stop: "SIGINT", StopTime: 3 * time.Second, Health: &workload.Health{Port: 8080, Timeout: time.Minute},
		},
	})
	if got := w.Pack.Servers[2].Ready.HTTP; got != "http://${address.api}:${port}${path}" {
		t.Errorf("the service is ready with %s", got)
	}
	check(t, "roles", w.Levels[0].Shape.Roles, []RoleShape{
		{Name: "api", Count: 1, Image: "docker-daemon:shop-api"}, {Name: "cache", Count: 1, InBaseline: true, Image: "redis:7"},
		{Name: "driver", Count: 1, OnHost: true, Image: workload.OwnImage}, {Name: "prepare", Count: 1, InBaseline: true, Image: "redis:7"},
	})
	if words := w.Application.Words("docker"); words != "api of compose.yaml; the load is for api; cache, prepare in docker, whichever environment is measured" {
		t.Error(words)
	}
	if text, _ := json.Marshal(plan); strings.Contains(string(text), "secret text") {
		t.Error("the plan has a secret")
	}
	var options fakeOptions
	if err := json.Unmarshal(plan.Environment("gvisor").Options, &options); err != nil || options.Runtime != "gvisor" {
		t.Errorf("the options of the other environment are not settled: %+v, %v", options, err)
	}
}

func TestWhatAnApplicationNeedsAndAnEnvironmentLacksIsAnError(t *testing.T) {
	type edit [2]string
	for name, c := range map[string]struct {
		app, study edit
		want       string
	}{
		"no service":      {edit{}, edit{"service: api, ", ""}, "service: is missing; it names the service that the load is for: cache, prepare, api"},
		"unknown service": {edit{}, edit{"service: api", "service: apu"}, `service: unknown service "apu"; did you mean "api"?`},
		"unknown under":   {edit{}, edit{"[api]", "[db]"}, `under: unknown service "db"`},
		"nothing under":   {edit{}, edit{"[api]", "[]"}, "under: has no service, so nothing would be in the environment"},
		"no file":         {edit{}, edit{"./compose.yaml", "./absent.yaml"}, "absent.yaml: no such file"},
		"no server":       {edit{}, edit{"nginx-open", "fio"}, "server: workload fio has no server that another one could replace"},
		"the start":       {edit{}, edit{"nginx-open", "startup-service"}, "workload startup-service measures the start of one instance, and an application has several"},
		"a word":          {edit{}, edit{"{compose: ./compose.yaml, service: api, under: [api]}", "compose"}, `server: "compose" is not known: image is the image's own server`},
		"privileged":      {edit{"user: www", "privileged: true"}, edit{}, "services.api.privileged: true: tare does not support this"},
		"two keys":        {edit{"user: www", "privileged: true\n    scale: 2"}, edit{}, "services.api.scale: 2; privileged: true: tare does not support this: if the application works without it, remove it in a second Compose file, services: {api: {scale: !reset null, privileged: !reset null}}, and name both files, compose: [compose.yaml, for-tare.yaml]"},
		"two services":    {edit{"image: redis:7\n    h", "image: redis:7\n    shm_size: 1m\n    h"}, edit{}, "services.cache.shm_size: 1m"},
		"a signal":        {edit{"SIGINT", "SIGWHAT"}, edit{}, `services.api.stop_signal: "SIGWHAT" is not a signal of Linux`},
		"its own":         {edit{"./static:/static:ro", "./static:/data"}, edit{}, "services.api.volumes: /data is each instance's own directory"},
		"no mounts":       {edit{}, edit{"gvisor: {}", "qemu: {}"}, "environment qemu, services.api.volumes: /static: its instances have disks of their own"},
		"no memory":       {edit{}, edit{"gvisor: {}", "native: {}"}, "environment native, services.api.volumes: /cache: kind native has no directories in memory"},
		"another network": {edit{}, edit{"gvisor: {}", "gvisor: {network: none}"}, "under: instances of gvisor (gvisor) and of the baseline docker (docker) cannot join one network"},
	} {
		_, _, err := resolveShop(t, strings.Replace(shop, c.app[0], c.app[1], 1), strings.Replace(ofShop, c.study[0], c.study[1], 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestAVolumeThatServicesHaveOneAfterTheOtherNeedsNoMounts(t *testing.T) {
	const app = `
name: shop
services:
  api: {image: api, volumes: [work:/work], depends_on: {prepare: {condition: service_completed_successfully}}}
  prepare: {image: tools, volumes: [work:/made]}
volumes: {work: {}}
`
	study := strings.Replace(strings.Replace(ofShop, "gvisor: {}", "qemu: {}", 1), ", under: [api]", "", 1)
	plan, _, err := resolveShop(t, app, study)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Workloads[0].Application.Services {
		if v := s.Volumes[0]; v.Name != "work" || !v.Passed {
			t.Errorf("%s: %+v", s.Name, v)
		}
	}
	_, _, err = resolveShop(t, strings.Replace(app, "service_completed_successfully", "service_started", 1), study)
	if want := "services.api.volumes: work: several services have it at the same time"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/study"
)

const web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'nginx:1.27', ports: [{containerPort: 8080}], CONTAINER}]}}}}\n"
const front = "---\n{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}\n"

// asked is the container of web with a client that asks it.
func asked(container, client string) string {
	return strings.Replace(web, "CONTAINER", container, 1) + front + "---\n{apiVersion: v1, kind: Pod, metadata: {name: client}, spec: {containers: [{name: c, image: busybox, " + client + "}]}}\n"
}

// What init writes, run takes: without a line that is marked, a study is resolved as it is, and
// where run would refuse it a line is marked and the reason stands above it. The files have the
// shapes that public collections have.
func TestWhatInitWritesRunTakes(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		says string // of a marked study: why
	}{
		"a server":                    {"services: {web: {image: 'nginx:1.27', ports: ['8080:80']}}", ""},
		"a server and its database":   {"services: {web: {image: 'nginx:1.27', ports: ['8080:80'], depends_on: [db]}, db: {image: 'postgres:17', volumes: ['data:/var/lib/postgresql/data'], environment: {POSTGRES_PASSWORD: x}}}\nvolumes: {data: {}}", ""},
		"a read-only root":            {"services: {web: {image: 'nginx:1.27', ports: ['8080:80'], read_only: true, cap_drop: [ALL], cap_add: [CHOWN, SETGID, SETUID, NET_BIND_SERVICE]}}", ""},
		"data in a volume of its own": {"services: {web: {image: 'nginx:1.27', ports: ['8080:80']}, cache: {image: 'redis:7', volumes: ['d:/data']}}\nvolumes: {d: {}}", ""},
		"a path that is there":        {"services: {web: {image: 'nginx:1.27', ports: ['8080:80'], volumes: ['./there:/srv']}}", ""},
		"paths that Compose makes":    {"services: {web: {image: 'nginx:1.27', ports: ['8080:80'], volumes: ['./uploads:/srv/uploads', './cache:/srv/cache']}, job: {image: 'busybox', volumes: ['./cache:/c']}}", "mkdir -p ./cache ./uploads"},
		"a path at /data":             {"services: {web: {image: 'nginx:1.27', ports: ['8080:80']}, cache: {image: 'redis:7', volumes: ['./there:/data']}}", "/data is each instance's own directory"},
		"a path at /data, not there":  {"services: {web: {image: 'nginx:1.27', ports: ['8080:80']}, cache: {image: 'redis:7', volumes: ['./redis:/data']}}", "/data is each instance's own directory"},
		"a socket":                    {"services: {web: {image: 'nginx:1.27', ports: ['8080:80'], volumes: ['/var/run/none.sock:/x.sock']}}", "web (volumes)"},
		"devices":                     {"services: {web: {image: 'nginx:1.27', ports: ['8080:80'], devices: ['/dev/kvm'], cap_add: [SYS_ADMIN, CHOWN]}}", "web (cap_add, devices)"},
		"a deployment":                {strings.Replace(web, "CONTAINER", "securityContext: {readOnlyRootFilesystem: true, capabilities: {drop: [ALL], add: [CHOWN, SETGID, SETUID, NET_BIND_SERVICE]}}", 1) + front, ""},
		"a controller":                {strings.NewReplacer("apps/v1, kind: Deployment", "v1, kind: ReplicationController", "{matchLabels: {app: web}}", "{app: web}", "CONTAINER", "env: []").Replace(web) + front, ""},
		"a client that names a port":  {asked("env: []", "command: [wget, 'http://web:80/']"), ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir("there", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("app.yaml", []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			app, paths, err := Application(t.Context(), []string{"app.yaml"})
			if err != nil {
				t.Fatal(err)
			}
			o := options()
			o.File, o.Environments = "study.yaml", Networked
			s, err := o.FromApplication(app, paths...)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("study.yaml", s.Text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err = study.Open("study.yaml", study.Overrides{})
			text := strings.Join(strings.Fields(strings.ReplaceAll(string(s.Text.Bytes()), "\n# ", " ")), " ")
			if marked := len(s.Text.Todos()) > 0; marked != (err != nil) || marked != (c.says != "") || !strings.Contains(text, c.says) {
				t.Errorf("%d lines are marked, and a run says %v; want %q in\n%s", len(s.Text.Todos()), err, c.says, s.Text.Bytes())
			}
		})
	}
}

// All problems of a Compose file are said at once.
func TestAllProblemsOfAComposeFileAreSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	text := `
services:
  a: {image: x, expose: [x-y], volumes: [{type: cluster, source: v, target: /v}]}
  b: {image: x, secrets: [outside], configs: [outside], volumes: ['data:/v']}
volumes: {data: {external: true}}
secrets: {outside: {external: true}}
configs: {outside: {external: true}}
`
	if err := os.WriteFile("compose.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := Application(t.Context(), []string{filepath.Join("compose.yaml")})
	for _, want := range []string{"services.a.expose", "services.a.volumes: /v: tare has no volumes of type cluster", "secrets.outside: it is external", "configs.outside: it is external", "volumes.data: it is external"} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// What can be written in a study can be written on the command line.
func TestOptionsOfEnvironmentsAreListsAndOfGroups(t *testing.T) {
	o := options()
	o.Environments = []string{"docker", "docker+network=publish+ports=[16379]", "oci+runtime=runsc+gvisor.directfs=false"}
	if _, err := o.begin("options", "tar:x.tar"); err != nil {
		t.Error(err)
	}
	for environment, want := range map[string]string{
		"docker+ports=[a]":                       `"a" is not a TCP port`,
		"oci+runtime=runsc+gvisor.drectfs=false": `did you mean "directfs"?`,
	} {
		o.Environments = []string{environment}
		if _, err := o.begin("options", "tar:x.tar"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", environment, err)
		}
	}
}

package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/application"
	"tare/internal/testing/apptest"
	"tare/internal/testing/fuzzing"
)

func TestAnApplicationIsWhatItsObjectsSay(t *testing.T) {
	app, err := Load([]string{filepath.Join("testdata", "shop.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	got := apptest.Golden(t, app, "shop.json")
	if strings.Contains(got, "password of the store") {
		t.Error("the application has the value of a secret")
	}
}

// load reads a text as a file of objects.
func load(t testing.TB, text string) (*application.Application, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("app.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load([]string{"app.yaml"})
}

// deployed is a Deployment with a pod of this spec, in one line.
func deployed(name, spec string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: " + name + "}, spec: {selector: {matchLabels: {app: " + name + "}}, template: {metadata: {labels: {app: " + name + "}}, spec: {" + spec + "}}}}\n"
}

// Nothing here forwards connections: the port of the pod is written where others name a Service
// with its own, if each of them does.
func TestAServiceWithAnotherPortIsNamedWithThatOfItsPod(t *testing.T) {
	service := func(ports string) string {
		return "---\n{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: a}, ports: [" + ports + "]}}\n"
	}
	both := func(ports, client string) string {
		return deployed("a", "containers: [{name: c, image: x}]") + service(ports) + "---\n" + deployed("b", "containers: [{name: c, image: x, "+client+"}]")
	}
	for what, c := range map[string]struct{ text, env, command, problem string }{
		"a variable":        {both("{port: 80, targetPort: 8080}", "env: [{name: A, value: 'http://web:80/x,web.default:80'}]"), "A=http://web:8080/x,web.default:8080", "", ""},
		"a command":         {both("{port: 80, targetPort: 8080}", "command: [get, 'web:80'], env: [{name: A, value: 'my-web:80'}]"), "A=my-web:80", "web:8080", ""},
		"another port":      {both("{name: a, port: 80, targetPort: 8080}, {name: b, port: 90}", "env: [{name: A, value: 'web:90 web:80'}]"), "A=web:90 web:8080", "", ""},
		"no port beside it": {both("{port: 80, targetPort: 8080}", "env: [{name: A, value: 'http://web/'}]"), "", "", "without the port beside the name"},
		"two that swap":     {both("{name: a, port: 80, targetPort: 90}, {name: b, port: 90, targetPort: 80}", "env: [{name: A, value: 'web:90'}]"), "", "", "nothing here forwards it"},
		"a secret": {both("{port: 80, targetPort: 8080}", "env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]") +
			"---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: 'http://web:80/'}}\n", "", "", "nothing here forwards it"},
	} {
		app, err := load(t, c.text)
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		b := app.Service("b")
		if got := strings.Join(b.Env, " "); got != c.env || c.command != "" && b.Entrypoint[1] != c.command {
			t.Errorf("%s: %s, %q", what, got, b.Entrypoint)
		}
		if !strings.Contains(strings.Join(app.Notes, "\n"), "web:80: no effect in b: nothing here forwards it, so web:8080, the targetPort, is written in its place.") {
			t.Errorf("%s: %q", what, app.Notes)
		}
	}
}

func TestTheFirstOfSeveralVersionsIsBehindTheirService(t *testing.T) {
	version := func(name string) string {
		return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", labels: {app: reviews}}, spec: {containers: [{name: c, image: x}]}}\n"
	}
	app, err := load(t, version("v1")+version("v2")+"---\n{apiVersion: v1, kind: Service, metadata: {name: reviews}, spec: {selector: {app: reviews}, ports: [{port: 80}]}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(app.Service("v1").Names, " "); !strings.HasPrefix(names, "reviews ") || strings.Contains(strings.Join(app.Service("v2").Names, " "), "reviews") {
		t.Error(names, app.Service("v2").Names)
	}
	if !strings.Contains(strings.Join(app.Notes, "\n"), "Service reviews: no effect in v2: nothing here shares connections among pods: all go to v1, the first in the files.") {
		t.Error(app.Notes)
	}
}

// A folder often has an object twice, and variants of what tare leaves out.
func TestTwoOfANameAreNoProblemWhereOneIsRunAnyway(t *testing.T) {
	route := func(host string) string {
		return "---\n{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: {rules: [{host: " + host + "}]}}\n"
	}
	one := deployed("a", "containers: [{name: c, image: x}]")
	app, err := load(t, one+"---\n"+one+route("a")+route("b"))
	if err != nil || len(app.Services) != 1 {
		t.Errorf("%+v, %v", app, err)
	}
}

func TestWhatCannotBeRunIsAProblemAtItsPlace(t *testing.T) {
	one := func(container string) string { return deployed("a", "containers: [{name: c, image: x"+container+"}]") }
	volume := func(volume string) string {
		return deployed("a", "volumes: ["+volume+"], containers: [{name: c, image: x, volumeMounts: [{name: v, mountPath: /v}]}]")
	}
	for text, want := range map[string][]string{
		"":                         {"app.yaml: it has no Deployment, StatefulSet, Pod or Job, so there is nothing to run"},
		"- a":                      {"app.yaml:1:1: expected an object of Kubernetes, a mapping with apiVersion and kind"},
		"a: b":                     {"app.yaml:1:1: it has no apiVersion and kind"},
		"{apiVersion: v1, kind: [": {"app.yaml: this is not YAML:"},
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: {{replicas}}\n": {"app.yaml:5:13: {{...}} is a template: render it, with helm template"},
		"{{- if .Values.a }}\napiVersion: v1\nkind: Pod\n{{ end }}\n":                                   {"app.yaml:1:1: {{...}} is a template"},
		"{apiVersion: v1, kind: Pod, metadata: {}}":                                                     {"Pod: metadata.name is missing"},
		"{apiVersion: apps/v1, kind: Deploymnt, metadata: {name: a}}":                                   {`app.yaml:1:1: deploymnt a: apps/v1 Deploymnt is not a kind that tare reads; did you mean "Deployment"?`},
		"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a}}":                                   {"daemonset a: there are no nodes here: make it a Deployment"},
		one(", prots: []"): {`app.yaml:1:185: deployment a: prots: Kubernetes has no such key in Container; did you mean "ports"?`},
		one(", imagePullPolicy: 1, ports: [{containerPort: http}], env: [{name: A, value: 5}]"): {`expected a whole number`, `expected text: put it in quotes, "5"`},
		one(", lifecycle: {preStop: {exec: {command: [x]}}}"):                                   {"deployment a: lifecycle: make it a part of command:, or of the image"},
		one(", securityContext: {privileged: true, capabilities: {add: [NET_ADMIN]}}"):          {"privileged: instances have nothing of their node", "add: instances have nothing of their node"},
		one(", resources: {limits: {nvidia.com/gpu: 1}}"):                                       {"resources.limits.nvidia.com/gpu: instances have no such resource"},
		one(", resources: {limits: {cpu: many}}"):                                               {"deployment a: quantities must match"},
		one(", env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]"):             {"variable A: status.podIP is not known before a pod starts: write value:"},
		one(", env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]"):        {"resourceFieldRef: its value is not known here: write value:"},
		one(", env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]"):                 {"there is no Secret s with the key k in the files"},
		one(", env: [{name: A, value: '$(secret:B)'}]"):                                         {"tare writes $(secret:NAME) in the place of a secret"},
		one(", readinessProbe: {httpGet: {port: http}}"):                                        {`the container has no port "http"`},
		one(", readinessProbe: {}"):                                                             {"readinessProbe has no check"},
		one(", ports: [{containerPort: 99999999}, {containerPort: -1}]"):                        {"99999999 is not a port: ports are 1 to 65535", "-1 is not a port"},
		one(", resources: {limits: {memory: -5Ei, cpu: -1}}"):                                   {"resources.limits.memory is -5Ei: a limit is not below 0", "resources.limits.cpu is -1"},
		one(", readinessProbe: {grpc: {port: 99999999}}"):                                       {`the container has no port "99999999"`},
		strings.Replace(one(""), "spec: {", "spec: {replicas: -2, ", 1):                         {"replicas is -2: it is a number of pods"},
		one(", volumeMounts: [{name: v, mountPath: /v}]"):                                       {`the pod has no volume "v"`},
		one("}, {name: d, image: y"):                                                            {"it has containers besides c: d. tare runs one container a pod"},
		one("}, {name: d, image: y, restartPolicy: Always"):                                     {"restartPolicy: a container beside another one"},
		volume("{name: v, hostPath: {path: /no/such}}"):                                         {"volume v: hostPath /no/such is not on this machine"},
		volume("{name: v, downwardAPI: {}}"):                                                    {"downwardAPI: tare has no volumes of this type: make it emptyDir"},
		volume("{name: v, persistentVolumeClaim: {claimName: p}}"):                              {"there is no PersistentVolumeClaim p in the files"},
		deployed("a", "hostNetwork: true, containers: [{name: c, image: x}]"):                   {"hostNetwork: instances have nothing of their node"},
		deployed("a", "containers: []"):                                                         {"it has no container"},
		deployed("a", "containers: [{name: c}]"):                                                {"container c has no image"},
		one("") + "---\n" + one(", args: [x]"):                                                  {"app.yaml:3:1: deployment a: there are two of this name, which differ, the other in ", "app.yaml:1"},
		strings.Replace(one(""), "matchLabels: {app: a}", "matchLabels: {app: b}", 1):           {"its selector does not match the labels of its template"},
		one("") + "---\n" + deployed("b", "containers: [{name: c, image: x, env: [{name: A, value: 'http://web/'}]}]") +
			"---\n{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: a}, ports: [{port: 80, targetPort: 8080}]}}": {"service web: port 80 is port 8080 of the pod, and nothing here forwards it: variable A of b names it, without the port beside the name; make both 8080, and connect there"},
		one("") + "---\n" + deployed("b", "containers: [{name: c, image: x}]") +
			"---\n{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}], selector: {}}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: 5}}": {"secret s"},
		"a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e]": {"do aliases repeat them?"},
		strings.Repeat("[", 100) + strings.Repeat("]", 100): {"nested more than 64 deep"},
	} {
		_, err := load(t, text)
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s\n  %v\n  want %s", text, err, part)
			}
		}
	}
}

func FuzzManifest(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "shop.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		f.Add(document)
	}
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) {
		fuzzing.Allocates(t, 1<<30, func() {
			path := filepath.Join(t.TempDir(), "app.yaml")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			app, err := Load([]string{path})
			if err != nil {
				return
			}
			apptest.Whole(t, app)
		})
	})
}

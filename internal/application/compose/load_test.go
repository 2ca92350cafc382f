package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/application"
	"tare/internal/testing/apptest"
	"tare/internal/testing/fuzzing"
)

// environ is the environment of the tests.
var environ = []string{"SHOP_PASSWORD=s3cret of the shop", "HOME=/root"}

func TestAnApplicationIsWhatItsFilesSay(t *testing.T) {
	for _, name := range []string{"shop/compose.yaml", "wordpress/compose.yml", "voting/compose.yaml"} {
		t.Run(filepath.Dir(name), func(t *testing.T) {
			app, err := Load(context.Background(), Options{Files: []string{filepath.Join("testdata", name)}, Environ: environ})
			if err != nil {
				t.Fatal(err)
			}
			apptest.Golden(t, app, filepath.Dir(name)+".json")
		})
	}
}

// load reads a text as a Compose file in a new directory.
func load(t testing.TB, text string, o Options) (*application.Application, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Files = append([]string{path}, o.Files...)
	app, err := Load(context.Background(), o)
	if err != nil {
		return nil, shortened{err, filepath.Dir(path) + "/"}
	}
	return app, nil
}

// shortened is an error without the directory of a test.
type shortened struct {
	error
	dir string
}

func (s shortened) Error() string { return strings.ReplaceAll(s.error.Error(), s.dir, "") }

func TestWhatIsNoApplicationIsAnErrorWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "compose.yaml: empty compose file",
		"services: {}":                           "compose.yaml: it has no service",
		"- a":                                    "compose.yaml: top-level object must be a mapping",
		"services: [a, b]":                       "compose.yaml: services must be a mapping",
		"services: {a: {}}":                      `compose.yaml: service "a" has neither an image nor a build context specified`,
		"services: {a: {image: x, prots: []}}":   `compose.yaml: services.a.prots: Compose has no such key; did you mean "ports"?`,
		"services: {a: {image: x, colour: red}}": "compose.yaml: services.a.colour: Compose has no such key",
		"servces: {a: {image: x}}":               `compose.yaml: servces: Compose has no such key; did you mean "services"?`,
		"services: {a: {image: x}}\nvolums: {}\ncolour: red":                                                              `compose.yaml: colour: Compose has no such key; volums: Compose has no such key; did you mean "volumes"?`,
		"services: {a: {image: x, deploy: {resource: {}}}}":                                                               `compose.yaml: services.a.deploy.resource: Compose has no such key; did you mean "resources"?`,
		"services: {a: {image: x, healthcheck: {tes: y}}}":                                                                `compose.yaml: services.a.healthcheck.tes: Compose has no such key; did you mean "test"?`,
		"services: {a: {image: x}}\nsecrets: {s: {fil: y}}":                                                               `compose.yaml: secrets.s.fil: Compose has no such key; did you mean "file"?`,
		"services: {a: {image: x, depends_on: {b: {conditon: y}}}}":                                                       `compose.yaml: services.a.depends_on.b.conditon: Compose has no such key; did you mean "condition"?`,
		"services:\n  a:\n    image: x\n   ports: [80]":                                                                   "compose.yaml:4:4: this is not YAML: value is not allowed in this context",
		"services:\n  a: {image: x\n  b: {}":                                                                              "compose.yaml:3:3: this is not YAML: ',' or '}' must be specified",
		"services:\n  a:\n    image: x\n    image: y":                                                                     `compose.yaml:4:5: the key "image" is already in line 3`,
		"services: {a: {image: *x}}":                                                                                      "compose.yaml: this is not YAML: line 1, column 24: unknown anchor 'x' referenced",
		"services: {a: {image: '${X:?set X}'}}":                                                                           "compose.yaml: error while interpolating services.a.image: required variable X is missing a value: set X",
		"services: {a: {image: x, depends_on: [b]}, b: {image: x, depends_on: [a]}}":                                      "compose.yaml: dependency cycle detected: a -> b -> a",
		"services: {a: {image: x, depends_on: [b]}}":                                                                      `compose.yaml: service "a" depends on undefined service "b"`,
		"services: {a: {image: x, profiles: [debug]}}":                                                                    "compose.yaml: every service is of a profile that is off (a): name one in COMPOSE_PROFILES",
		"services: {a: {image: x, expose: ['9-3']}}":                                                                      `compose.yaml: services.a.expose: "9-3" is not a port or a range of ports, such as 8080 or 8080-8090`,
		"services: {a: {image: x, ports: [{target: 99999999}]}}":                                                          "compose.yaml: services.a.ports: 99999999 is not a port: they are 1 to 65535",
		"services: {a: {image: x, mem_limit: -5}}":                                                                        "compose.yaml: services.a.deploy.resources.limits, cpus or mem_limit is below 0",
		"services: {a: {image: x, cpus: -1}}":                                                                             "compose.yaml: services.a.deploy.resources.limits, cpus or mem_limit is below 0",
		"services: {a: {image: x, healthcheck: {test: [CMD]}}}":                                                           "compose.yaml: services.a.healthcheck: test needs a command after CMD, for example [CMD-SHELL, curl -f http://localhost/]",
		"services: {a: {image: x, post_start: [{command: y}]}}":                                                           "compose.yaml: services.a.post_start: make it a part of command:, or of the image",
		"services: {a: {image: x, volumes_from: [b]}, b: {image: x}}":                                                     "compose.yaml: services.a.volumes_from: give both services a named volume",
		"services: {a: {image: x, volumes: [{type: bind, source: ./none, target: /x, bind: {create_host_path: false}}]}}": "compose.yaml: services.a.volumes: /x: there is no none on this machine, and Compose creates none: create it",
		"services: {a: {image: x, volumes: ['vol:/x']}}\nvolumes: {vol: {external: true}}":                                "compose.yaml: volumes.vol: it is external, and tare changes no data of others: mount a directory, or leave out external",
		"services: {a: {image: x, volumes: ['vol:/x']}}\nvolumes: {vol: {driver: nfs}}":                                   "compose.yaml: volumes.vol: tare has no volume driver nfs: mount a directory, or leave out driver",
		"services: {a: {image: x, secrets: [s]}}\nsecrets: {s: {external: true}}":                                         "compose.yaml: secrets.s: it is external, and tare reads no store of an engine: give file: or environment:",
		"services: {a: {image: x, secrets: [s]}}\nsecrets: {s: {environment: NOT_SET}}":                                   "compose.yaml: secrets.s: the environment has no variable NOT_SET: set it",
		"services: {a: {image: x, secrets: [s]}}\nsecrets: {s: {file: none.txt}}":                                         "compose.yaml: secrets.s: file none.txt: no such file or directory",
		"services: {a: {image: x, secrets: [s]}}\nsecrets: {s: {file: compose.yaml}}\n#" + strings.Repeat("x", 1<<16):     "compose.yaml: secrets.s: file compose.yaml: it is too long: the limit is 64KiB",
		"services: {a: {image: x, secrets: [s]}}\nsecrets: {s: {environment: PIN}}":                                       "compose.yaml: secrets.s: the value from the environment variable PIN has 3 characters; with fewer than 8 it could not be masked in outputs",
		"services: {a: {image: x, env_file: none.env}}":                                                                   "compose.yaml: services.a.env_file: none.env: no such file or directory",
		"services: {a: {image: x, env_file: /dev/zero}}":                                                                  "compose.yaml: services.a.env_file: /dev/zero: /dev/zero is not a regular file",
		"include: [/dev/zero]\nservices: {a: {image: x}}":                                                                 "compose.yaml: it includes or extends /dev/zero: /dev/zero is not a regular file",
		"include: ['https://example.com/x.git']\nservices: {a: {image: x}}":                                               "compose.yaml: https://example.com/x.git is not a file of this machine, and nothing is fetched: download it and give its path",
		"include: ['oci://example.com/x']\nservices: {a: {image: x}}":                                                     "compose.yaml: oci://example.com/x is not a file of this machine, and nothing is fetched: download it and give its path",
		"services: {a: {image: x, extends: {file: /dev/zero, service: b}}}":                                               "compose.yaml: it includes or extends /dev/zero: /dev/zero is not a regular file",
		"services: {a: {image: x, extends: {file: 'git@example.com:x', service: b}}}":                                     "compose.yaml: git@example.com:x is not a file of this machine, and nothing is fetched: download it and give its path",
		"include: [compose.yaml]\nservices: {a: {image: x}}":                                                              "compose.yaml: include cycle detected: compose.yaml include compose.yaml",
		"services: {a: {image: x, network_mode: host, networks: [n]}}\nnetworks: {n: {}}":                                 "compose.yaml: service a declares mutually exclusive `network_mode` and `networks`",
		"services: {a: {image: x, mem_limit: 1g, deploy: {resources: {limits: {memory: 2g}}}}}":                           "compose.yaml: services.a: can't set distinct values on 'mem_limit' and 'deploy.resources.limits.memory'",
	} {
		_, err := load(t, text, Options{Environ: []string{"PIN=abc"}})
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestAFileThatIsTooLongIsNotRead(t *testing.T) {
	_, err := load(t, "services: {a: {image: x}}\n#"+strings.Repeat("x", 1<<20), Options{})
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, []byte("#"+strings.Repeat("x", 1<<20)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err = load(t, "include: ["+large+"]\nservices: {a: {image: x}}", Options{}); err == nil || !strings.Contains(err.Error(), "it is too long: the limit is 1MiB") {
		t.Error(err)
	}
}

func TestAFileThatTheLibraryWouldNotFinishIsRefused(t *testing.T) {
	var many, ways strings.Builder
	for n := range 600 {
		fmt.Fprintf(&many, "  s%d: {image: x}\n", n)
	}
	for n := range 40 { // each service of a layer depends on both of the next one
		for _, side := range []string{"a", "b"} {
			depends := fmt.Sprintf(", depends_on: [a%d, b%d]", n+1, n+1)
			if n == 39 {
				depends = ""
			}
			fmt.Fprintf(&ways, "  %s%d: {image: x%s}\n", side, n, depends)
		}
	}
	for text, want := range map[string]string{
		"services:\n" + many.String():                                                                 "compose.yaml: it has 600 services, and the limit is 500",
		"services:\n" + ways.String():                                                                 "compose.yaml: services depend on each other in more than 100000 ways: leave out from depends_on what others depend on already",
		"services: {a: {image: '" + strings.Repeat("${A}", 2001) + "'}}":                              "Compose file compose.yaml: it has ${NAME} 2001 times, and the limit is 2000",
		"services: {a: {image: '" + strings.Repeat("${A:-", 1000) + strings.Repeat("}", 1000) + "'}}": "Compose file compose.yaml: variables in defaults of variables are more than 16 deep",
	} {
		if _, err := load(t, text, Options{}); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
}

func TestWhatTheLibraryExpandsIsBounded(t *testing.T) {
	var ranges, extending strings.Builder
	for n := range 300 {
		fmt.Fprintf(&ranges, "  s%d: {image: x, ports: ['${P:-1-65535:1-65535}']}\n", n)
		fmt.Fprintf(&extending, "  s%d: {extends: {service: base}}\n", n)
	}
	many := strings.Repeat("a,", 40_000)
	for text, want := range map[string]string{
		"services:\n" + ranges.String(): "the ranges of ports have too many ports: leave out those that are not driven, since none is published",
		"services:\n  base: {image: x, command: [" + many + "]}\n" + extending.String(): "what it includes and extends has more than 4MiB, counted once for each service that extends another one: divide it",
	} {
		fuzzing.Allocates(t, 2<<30, func() {
			if _, err := load(t, text, Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Error(err)
			}
		})
	}
}

func TestARangeOfPortsIsItsFirstOnes(t *testing.T) {
	for entry, want := range map[string][]int{
		"1-65535":                   {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"127.0.0.1:5-65000:6-65001": {6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
		"1000-2000:80":              {80},
		"[::1]:1-2:3-4/tcp":         {3, 4},
		"1-65535/udp":               nil,
		"${P}":                      {7, 8},
	} {
		app, err := load(t, "services: {a.b: {image: x, ports: ['"+entry+"']}}", Options{Environ: []string{"P=7-8"}})
		if err != nil {
			t.Error(entry, err)
			continue
		}
		got := slices.Sorted(slices.Values(app.Services[0].Ports))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", entry, diff)
		}
	}
	for _, entry := range []string{"1-65535:1-2", "9-3", "1-99999"} {
		if app, err := load(t, "services: {a: {image: x, ports: ['"+entry+"']}}", Options{}); err == nil || !strings.Contains(err.Error(), entry) && !strings.Contains(err.Error(), "invalid") {
			t.Error(entry, app, err)
		}
	}
}

func TestLoadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(path, []byte("services: {a: {image: x}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	logger.Lock() // as another load has it that does not end
	defer logger.Unlock()
	if _, err := Load(ctx, Options{Files: []string{path}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAKeyOfAServiceThatTareDoesNotKnowIsAsked(t *testing.T) {
	app, err := load(t, "services: {a: {image: x, oom_kill_disable: true, gpus: all, init: false, privileged: false, use_api_socket: true, x-own: 1}}", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []application.Ask{{Key: "gpus", What: "count=all"}, {Key: "oom_kill_disable", What: "true"}, {Key: "use_api_socket", What: "true"}}
	if diff := cmp.Diff(want, app.Services[0].Asks); diff != "" {
		t.Error(diff)
	}
	if len(app.Notes) > 0 {
		t.Error(app.Notes)
	}
}

func TestWhatIsAskedIsTakenOutByASecondFile(t *testing.T) {
	text := "services: {a: {image: x, privileged: true, cap_add: [SYS_TIME], deploy: {mode: global-job, replicas: 3, resources: {limits: {pids: 9}}}}, b: {image: x, scale: 2, expose: [1]}}"
	app, err := load(t, text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "services: {a: {deploy: {replicas: !reset null, mode: !reset null}, cap_add: !reset null, privileged: !reset null}, b: {scale: !reset null}}"
	if got := Resets(app); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	second := filepath.Join(t.TempDir(), "for-tare.yaml")
	if err := os.WriteFile(second, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
	without, err := load(t, text, Options{Files: []string{second}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range app.Services {
		app.Services[i].Asks = nil
	}
	if diff := cmp.Diff(app.Services, without.Services); diff != "" {
		t.Error(diff)
	}
	if got := Resets(without); got != "" {
		t.Errorf("%s for nothing", got)
	}
}

func TestProfilesFilesAndVariablesAreThoseOfTheOptions(t *testing.T) {
	dir := t.TempDir()
	more, variables := filepath.Join(dir, "more.yaml"), filepath.Join(dir, "own.env")
	for path, text := range map[string]string{
		more:      "services: {a: {command: [two], environment: {ONE: '${ONE}', TWO: '${TWO}'}}}",
		variables: "ONE=file\nTWO=file\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := "services: {a: {image: x, command: [one]}, b: {image: y, profiles: [p]}, c: {image: z, profiles: [q]}}"
	app, err := load(t, text, Options{Files: []string{more}, EnvFiles: []string{variables}, Environ: []string{"ONE=caller"}, Profiles: []string{"p"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(app.Services) != 2 || app.Service("b") == nil || app.Service("c") != nil {
		t.Error("not the services of the profile:", app.Services)
	}
	a := app.Service("a")
	if diff := cmp.Diff([]string{"two"}, a.Command); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ONE=caller", "TWO=file"}, a.Env); diff != "" {
		t.Error(diff)
	}
	if app, err = load(t, text, Options{Environ: []string{"COMPOSE_PROFILES=p,q", "COMPOSE_PROJECT_NAME=own"}}); err != nil || len(app.Services) != 3 || app.Name != "own" {
		t.Error(app, err)
	}
}

func FuzzCompose(f *testing.F) {
	for _, name := range []string{"shop/compose.yaml", "wordpress/compose.yml", "voting/compose.yaml", "voting/store/compose.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzing.Allocates(t, 1<<30, func() {
			app, err := load(t, text, Options{Environ: environ})
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("more than one line: %v", err)
				}
				return
			}
			apptest.Whole(t, app)
		})
	})
}

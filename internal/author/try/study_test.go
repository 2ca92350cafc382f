package try

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/application/secret"
	"tare/internal/image"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

func TestTheSavedStudyIsTheOneThatWasRun(t *testing.T) {
	seed := uint64(7)
	for name, s := range map[string]seen{
		"http":     {answers: map[int]answer{80: {port: 80, load: "http"}}},
		"redis":    {answers: map[int]answer{6379: {port: 6379, load: "redis"}}},
		"postgres": {answers: map[int]answer{5432: {port: 5432, load: "postgres"}}},
		"tcp":      {answers: map[int]answer{25: {port: 25, load: "tcp"}}},
	} {
		o := options()
		o.Environments, o.Seed = []string{"docker+network=host", "vm"}, &seed
		o.Env = []string{`POSTGRES_PASSWORD=a "quoted" ${word}: {no} #mark`, "EMPTY="}
		g, err := o.guess(&image.Image{}, s)
		if err != nil {
			t.Fatal(err)
		}
		made, err := o.study(g)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, made.YAML)
		}
		again, err := study.Resolve(&study.File{Origin: MadeBy, Name: o.name(), Source: made.YAML}, study.Overrides{Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(made.Plan, again); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		env := again.Workloads[0].Pack.Servers[0].Env
		if want := `POSTGRES_PASSWORD=a "quoted" $${word}: {no} #mark`; !strings.Contains(strings.Join(env, "\n"), want) {
			t.Errorf("%s: %q", name, env)
		}
		if e := again.Environments; e[0].Kind != "docker" || e[1].Kind != "qemu" || again.Baseline != e[0].Name {
			t.Errorf("%+v", e)
		}
	}
}

func TestAStudyWithValuesOfVariablesIsPrivate(t *testing.T) {
	for _, c := range []struct {
		image, env, load string
		want             bool
	}{
		{"", "", "http", false},
		{"", "DEBUG=1", "http", true},
		{"POSTGRES_PASSWORD=p", "", "postgres", true}, // the load's variable
		{"POSTGRES_USER=app", "", "postgres", false},
	} {
		o := options()
		o.Env = strings.Fields(c.env)
		g, err := o.guess(&image.Image{Env: strings.Fields(c.image)}, seen{answers: map[int]answer{1: {port: 1, load: c.load}}})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := o.study(g); err != nil || s.Private != c.want {
			t.Errorf("%+v: %t, %v", c, s.Private, err)
		}
	}
}

func TestTheUserOfADatabaseIsThatOfTheVariables(t *testing.T) {
	for _, c := range []struct {
		load, image, env, want string
	}{
		{"postgres", "", "", "database=postgres user=postgres"},
		{"postgres", "POSTGRES_USER=app", "POSTGRES_PASSWORD=p", "database=app user=app PGPASSWORD=p"},
		{"postgres", "POSTGRES_USER=app POSTGRES_DB=d", "POSTGRES_USER=me", "database=d user=me"},
		{"postgres", "", "secret:POSTGRES_PASSWORD", "database=postgres user=postgres secret:PGPASSWORD"},
		{"mysql", "", "secret:MYSQL_ROOT_PASSWORD MYSQL_DATABASE=d", "database=d user=root secret:MYSQL_PWD"},
		{"mysql", "", "", "database=sbtest user=tare"},
		{"mysql", "", "MYSQL_ROOT_PASSWORD=r MYSQL_DATABASE=d", "database=d user=root MYSQL_PWD=r"},
		{"mysql", "MARIADB_USER=u MARIADB_PASSWORD=p MARIADB_DATABASE=d", "", "database=d user=u MYSQL_PWD=p"},
		{"mysql", "", "MYSQL_ROOT_PASSWORD=r", "the load needs a database in which root may make tables: name one with --env-var MYSQL_DATABASE=NAME, which official images make at their first start"},
	} {
		o := options()
		for _, word := range strings.Fields(c.env) {
			if name, is := strings.CutPrefix(word, "secret:"); is {
				o.Secrets = append(o.Secrets, secret.Source{Name: name, Env: name})
			} else {
				o.Env = append(o.Env, word)
			}
		}
		g, err := o.guess(&image.Image{Env: strings.Fields(c.image)}, seen{answers: map[int]answer{1: {port: 1, load: c.load}}})
		got := fmt.Sprint(err)
		if err == nil {
			var list []string
			for _, s := range append(sorted(g.parameters), sorted(g.env)...) {
				list = append(list, s.Key+"="+s.Value)
			}
			for _, s := range g.secrets {
				list = append(list, "secret:"+s.Name)
			}
			got = strings.Join(list, " ")
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestAPackOfOnesOwnDrivesTheImage(t *testing.T) {
	const pack = `workload: own
stresses: network
image: {packages: [curl]}
parameters: {port: {default: 80}PATH}
servers: [{run: "serve PAGE", role: server, ready: {tcp: "${address.server}:${port}"}}]
driver: {argv: [drive, "${address.server}:${port}PAGE"], role: driver}
metrics: [{name: wall_seconds, unit: s, better: lower, primary: true}]
`
	for _, c := range []struct {
		parameter, url string
		answer         answer
		load, start    string
	}{
		{"", "", answer{port: 8080, load: "http", status: 200}, "port: 8080}", "use: startup-service, as: startup, server: image, port: 8080, path: /}"},
		{", path: {default: /, form: page}", "/a?b=c", answer{port: 8080, load: "http", status: 200}, "port: 8080, path: \"/a?b=c\"}", "path: \"/a?b=c\"}"},
		{"", "", answer{port: 8080, load: "http", status: 404, wrong: "no page"}, "port: 8080}", "use: startup-port, as: startup, server: image, port: 8080}"},
		{"", "", answer{port: 25, load: "tcp"}, "port: 25}", "use: startup-port, as: startup, server: image, port: 25}"},
	} {
		o := options()
		o.Load, o.URL = filepath.Join(t.TempDir(), "own.yaml"), c.url
		page := ""
		if c.parameter != "" {
			page = "${path}"
		}
		if err := os.WriteFile(o.Load, []byte(strings.NewReplacer("PATH", c.parameter, "PAGE", page).Replace(pack)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		g, err := o.guess(&image.Image{}, seen{answers: map[int]answer{c.answer.port: c.answer}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := o.study(g)
		if err != nil {
			t.Fatalf("%v\n%s", err, s.YAML)
		}
		if load := "use: " + o.Load + ", as: load, server: image, " + c.load; !strings.Contains(string(s.YAML), load) || !strings.Contains(string(s.YAML), c.start) {
			t.Errorf("%+v\n%s", c, s.YAML)
		}
	}
}

func TestOptionsThatCannotBeRightAreRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.Load = "reddis" }, `--load reddis: unknown load "reddis"; did you mean "redis"?`},
		{func(o *Options) { o.Port = 70000 }, "--port 70000: a port is a number from 1 to 65535"},
		{func(o *Options) { o.URL = "health" }, "--url health: is neither a path"},
		{func(o *Options) { o.URL = "https://localhost/" }, "--url https://localhost/: is neither a path"},
		{func(o *Options) { o.URL = "http://example.com/" }, "--url http://example.com/: is neither a path"},
		{func(o *Options) { o.URL, o.Port = "http://localhost:8080/x", 80 }, "--url http://localhost:8080/x: has another port than --port 80"},
		{func(o *Options) { o.URL = "http://localhost:8080/x" }, ""},
		{func(o *Options) { o.URL = "/a?b=c&d=%20" }, ""},
		{func(o *Options) { o.URL = "/a b" }, `"/a b" is not the path of a page`},
		{func(o *Options) { o.URL, o.Load = "/", "redis" }, "--url /: only --load http has a URL"},
		{func(o *Options) { o.Port, o.Load = 80, "job" }, "--load job: a job has no port"},
		{func(o *Options) { o.Load = "./no-such.yaml" }, "--load ./no-such.yaml: "},
		{func(o *Options) { o.Env, o.Secrets = []string{"A=1"}, []secret.Source{{Name: "A", Env: "A"}} }, "--env-var A: it is also a secret"},
		{func(o *Options) { o.Secrets = []secret.Source{{Name: "A", Env: "A"}, {Name: "A", Env: "B"}} }, "A"},
		{func(o *Options) { o.Env = []string{"A"} }, "--env-var A: is not NAME=VALUE"},
		{func(o *Options) { o.Env = []string{"A B=1"} }, "--env-var A B=1: is not NAME=VALUE"},
		{func(o *Options) { o.Environments = []string{"martian"} }, `unknown kind of environment "martian"`},
		{func(o *Options) { o.Environments = nil }, "none of native, docker, gvisor works on this machine"},
		{func(o *Options) { o.Margin = "much" }, "--margin"},
	} {
		o := options()
		c.change(&o)
		if err := o.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %s", err, c.want)
		}
	}
}

func TestAVariableKeepsWhateverItsValueIs(t *testing.T) {
	for _, value := range []string{"", "null", "Null", "true", "1.10", "017", "~", "-", "x: y", "a b#c"} {
		o := Options{Image: "docker-daemon:x:1", Environments: []string{"native"}, Env: []string{"A=" + value}, Budget: DefaultBudget}
		s, err := o.study(guesses{load: loadOf("http"), port: 80, path: "/"})
		if err != nil {
			t.Errorf("%q: %v", value, err)
		} else if env := s.Plan.Workloads[0].Pack.Driver.Env; !slices.Contains(env, "A="+value) {
			t.Errorf("%q: %q", value, env)
		}
	}
}

func TestARunIsNamedByItsImage(t *testing.T) {
	for reference, want := range map[string]string{
		"nginx": "try-nginx", "nginx:1.27": "try-nginx", "localhost:5000/team/My_API:1": "try-my-api",
		"docker-daemon:my-api:1.4": "try-my-api", "tar:/tmp/x/api.tar": "try-api", "oci:layout:v1": "try-layout", "a/b@sha256:0123": "try-b", "tar:.tar": "try",
	} {
		if got := (Options{Image: reference}).name(); got != want {
			t.Errorf("%s: %s, not %s", reference, got, want)
		}
	}
}

func TestTheTableHasTheFiguresOfALoad(t *testing.T) {
	for name, want := range map[string]string{
		"nginx":           "requests, latency p99, memory",
		"redis":           "GET, SET, GET p99, SET p99, memory",
		"postgres":        "transactions, latency p95, latency p99, memory",
		"mysql-oltp":      "transactions, latency p95, memory",
		"image-command":   "wall time, memory",
		"startup-service": "first answer",
		"startup-port":    "first answer",
		"startup":         "instance start",
	} {
		pack, err := workload.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		p, as := *pack, loadName
		if len(p.Servers) > 0 {
			if p, err = p.ServedByImage(); err != nil {
				t.Fatal(err)
			}
		}
		if p.FromStart() {
			as = startName
		}
		var titles []string
		for _, m := range p.Metrics {
			if title := Figure(as, m); title != "" {
				titles = append(titles, title)
			}
		}
		if got := strings.Join(titles, ", "); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestWhatTheBudgetDidNotDecideIsSaid(t *testing.T) {
	decided := []verdict.Contrast{{Primary: true, Verdict: verdict.Slower}, {Verdict: verdict.Inconclusive}}
	if got := options().Undecided(decided); got != "" {
		t.Error(got)
	}
	open := append(decided, verdict.Contrast{Primary: true, Verdict: verdict.None}, verdict.Contrast{Primary: true, Verdict: verdict.Inconclusive})
	if got := options().Undecided(open); !strings.HasPrefix(got, "2 of 3 comparisons") || !strings.Contains(got, "budget of 3m0s") {
		t.Error(got)
	}
}

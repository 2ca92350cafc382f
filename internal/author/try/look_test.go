package try

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/application/secret"
	"tare/internal/image"
	"tare/internal/image/origin"
	"tare/internal/linux/listener"
	"tare/internal/study"
	"tare/internal/testing/freeport"
	"tare/internal/testing/fuzzing"
	"tare/internal/testing/needs"

	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/qemu"
)

func TestPortsToAskAreThoseThatTheImageExposes(t *testing.T) {
	listens := []listener.Socket{{Port: 9000}, {Port: 80}, {Port: 443}, {Port: 6000, Local: true}, {Port: 80}}
	for _, c := range []struct {
		given   int
		exposed []int
		late    bool
		want    []int
	}{
		{0, []int{80, 443, 8443}, false, []int{80, 443}},
		{0, nil, false, []int{80, 443, 9000}},
		{0, []int{5000}, false, nil},
		{0, []int{5000}, true, []int{80, 443, 9000}},
		{9000, []int{80}, false, []int{9000}},
		{5000, []int{80}, true, nil},
		{0, []int{6000}, false, nil},
	} {
		if got := candidates(c.given, c.exposed, listens, c.late); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestThePageOfAHealthCheckIsFound(t *testing.T) {
	for test, want := range map[string]string{
		"CMD curl -f http://localhost:8000/health":                         "/health",
		"CMD-SHELL curl -f http://127.0.0.1/a/b.html?x=1 || exit 1":        "/a/b.html?x=1",
		"CMD-SHELL wget -q -O- http://localhost:${PORT}/ready >/dev/null":  "/ready",
		"CMD-SHELL pg_isready -U postgres":                                 "",
		"CMD curl https://localhost/health":                                "",
		"CMD curl http://example.com/health":                               "",
		"CMD python3 -c import urllib; urllib.urlopen('http://0.0.0.0/h')": "/h",
	} {
		if got := HealthPath(strings.Fields(test)); got != want {
			t.Errorf("%s: %q", test, got)
		}
	}
}

func TestAProtocolIsRecognizedByItsAnswers(t *testing.T) {
	for protocol, want := range map[string]string{
		"http":         "http 200 it answers GET /page with 200 OK",
		"absent":       "http 404 it answers GET /page with 404 Not Found GET /page gets the answer 404 Not Found: name a page with --url /PATH",
		"redis":        "redis 0 it answers PING with PONG",
		"closed-redis": `redis 0 it answers PING as Redis does Redis answers "-NOAUTH Authentication required.": set its password with --env-var REDISCLI_AUTH=..., or start it without one and with protected-mode no`,
		"postgres":     "postgres 0 it answers PostgreSQL's request for TLS",
		"new-postgres": `postgres 0 it answers PostgreSQL's request for TLS PostgreSQL refuses user me, database mine: "the database system is starting up": name others with --env-var POSTGRES_USER=... and POSTGRES_DB=...`,
		"its-postgres": "postgres 0 it answers PostgreSQL's request for TLS PostgreSQL asks for a password of user me, database mine: set it with --env-var POSTGRES_PASSWORD=...",
		"mysql":        `mysql 0 it greets as MySQL "8.4.3"`,
		"smtp":         `tcp 0 it greets with "220 mail ESMTP\r\n"`,
		"silent":       "tcp 0 it accepts connections, and answered neither HTTP nor Redis nor PostgreSQL nor MySQL",
	} {
		t.Run(protocol, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = serveOn(protocol, l); close(ended) }()
			port := l.Addr().(*net.TCPAddr).Port
			a, err := identify(t.Context(), "127.0.0.1", port, asked{path: "/page", user: "me", database: "mine"})
			l.Close()
			<-ended
			if got := strings.TrimSpace(fmt.Sprint(a.load, " ", a.status, " ", a.reason, " ", a.wrong)); err != nil || got != want || a.port != port {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A server of an image may say anything, for as long as it likes.
func TestAHostileServerTakesLittleAndSaysLittle(t *testing.T) {
	long := strings.Repeat("A\x1b[2J\u2028", 100_000)
	for name, said := range map[string]string{
		"a long status":          "HTTP/1.1 200 " + long + "\r\n\r\n",
		"a status with escapes":  "HTTP/1.1 299 \x1b[2J\u2028study: x\r\nContent-Length: 9000000000000\r\n\r\n",
		"headers without an end": "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+long+"\r\n", 50),
		"interim answers":        strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100_000),
		"a redirection":          "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
		"MySQL":                  "J\x00\x00\x00\x0a" + long,
		"an error of MySQL":      "J\x00\x00\x00\xff" + long,
		"Redis":                  "-NOAUTH " + long + "\r\n",
		"a greeting":             long,
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			first := strings.HasPrefix(said, "J") || strings.HasPrefix(said, "A")
			ended, bytes := make(chan struct{}), []byte(said)
			go func() {
				defer close(ended)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					if !first {
						_, _ = c.Read(make([]byte, 4096))
					}
					_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
					_, _ = c.Write(bytes)
					c.Close()
				}
			}()
			var a answer
			fuzzing.Allocates(t, 8<<20, func() {
				a, err = identify(t.Context(), "127.0.0.1", l.Addr().(*net.TCPAddr).Port, asked{path: "/"})
			})
			l.Close()
			<-ended
			if text := a.reason + a.wrong; err != nil || len(text) > 1500 || strings.ContainsAny(text, "\x1b\u2028") || strings.Contains(text, "study:") {
				t.Errorf("%d bytes, %.300q, %v", len(text), text, err)
			}
		})
	}
}

func TestThePasswordOfRedisIsTried(t *testing.T) {
	i := newInstance(t)
	for _, c := range []struct{ env, secret, argument, want string }{
		{"REDIS_PASSWORD=open sesame", "", "", "env: {REDISCLI_AUTH: \"open sesame\", REDIS_PASSWORD: \"open sesame\"}"},
		{"REDISCLI_AUTH=open sesame", "", "", "env: {REDISCLI_AUTH: \"open sesame\"}"},
		{"", "REDIS_PASSWORD", "", "secret:\n  REDIS_PASSWORD: {env: THE_PASSWORD}\n  REDISCLI_AUTH: {env: THE_PASSWORD}\n"},
		{"", "REDISCLI_AUTH", "", "secret:\n  REDISCLI_AUTH: {env: THE_PASSWORD}\n"},
		{"", "", "open sesame", "arguments: [\"--requirepass\", \"open sesame\"], env: {REDISCLI_AUTH: \"open sesame\"}"},
		{"REDISCLI_AUTH=other", "", "", "WRONGPASS"},
	} {
		port := freeport.New(t)
		img := served(t, "closed-redis", fmt.Sprintf("0.0.0.0:%d", port), fmt.Sprintf("%d/tcp", port))
		o := options()
		var secrets []string
		if c.env != "" {
			o.Env = []string{c.env}
		}
		if c.secret != "" {
			o.Secrets, secrets = []secret.Source{{Name: c.secret, Env: "THE_PASSWORD"}}, []string{c.secret + "=open sesame"}
		}
		if c.argument != "" {
			o.Arguments = []string{"--requirepass", c.argument}
		}
		made, err := o.Look(t.Context(), img, i, secrets)
		got := fmt.Sprint(err)
		if err == nil {
			got = string(made.YAML)
		}
		if !strings.Contains(got, c.want) || c.secret != "" && strings.Contains(got, "sesame") {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// served is an image whose command is the test program, as a server.
func served(t *testing.T, protocol, address string, exposed ...string) *image.Image {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &image.Image{
		Name: "app", Env: append(os.Environ(), isServer+"="+protocol+" "+address),
		Config: origin.Config{Entrypoint: []string{self}, Ports: exposed},
	}
}

func shell(command string) *image.Image {
	return &image.Image{Name: "app", Env: os.Environ(), Config: origin.Config{Cmd: []string{"/bin/sh", "-c", command}}}
}

func options() Options {
	return Options{Image: "tar:app.tar", Environments: []string{"native", "docker"}, Margin: DefaultMargin, Budget: DefaultBudget, Wait: time.Minute}
}

func TestAnImageIsStartedAndItsLoadChosen(t *testing.T) {
	i := newInstance(t)
	for protocol, want := range map[string]string{
		"http": "load nginx, startup startup-service", "redis": "load redis, startup startup-port", "postgres": "load postgres, startup startup-port",
		"mysql": "load mysql-oltp, startup startup-port",
	} {
		t.Run(protocol, func(t *testing.T) {
			port := freeport.New(t)
			img := served(t, protocol, fmt.Sprintf("0.0.0.0:%d", port), fmt.Sprintf("%d/tcp", port))
			made, err := options().Look(t.Context(), img, i, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := uses(made.Plan); got != want || made.Plan.Workloads[0].Levels[0].Parameters["port"] != fmt.Sprint(port) {
				t.Errorf("%s\n%s", got, made.YAML)
			}
			if g := made.Guesses[0]; g.String() != fmt.Sprintf("port %d: the image exposes it (--port)", port) {
				t.Error(g)
			}
		})
	}
}

// While an image is looked at, another process begins to serve pages, which are taken before
// anything else.
func TestAnotherProcessThatBeginsToListenIsNotTakenForTheImage(t *testing.T) {
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	other, ended := make(chan net.Listener, 1), make(chan struct{})
	go func() {
		defer close(ended)
		c, err := gate.Accept()
		if err != nil {
			return
		}
		l, err := net.Listen("tcp", "0.0.0.0:0")
		c.Close() // now the server of the image begins to listen
		if err == nil {
			other <- l
			_ = serveOn("http", l)
		}
	}()
	port := freeport.New(t)
	img := served(t, "redis", fmt.Sprintf("0.0.0.0:%d", port))
	img.Env = append(img.Env, waitsFor+"="+gate.Addr().String())
	made, err := options().Look(t.Context(), img, newInstance(t), nil)
	gate.Close()
	select {
	case l := <-other:
		l.Close()
	default:
		t.Error("nobody else listened")
	}
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	if got, want := made.Guesses[0].String(), fmt.Sprintf("port %d: the image listens there", port); !strings.HasPrefix(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

func uses(p *study.Plan) string {
	var list []string
	for _, w := range p.Workloads {
		list = append(list, w.Name+" "+w.Pack.Name)
	}
	return strings.Join(list, ", ")
}

func TestAJobIsACommandThatEnds(t *testing.T) {
	made, err := options().Look(t.Context(), shell("exit 0"), newInstance(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := uses(made.Plan); got != "load image-command, startup startup" {
		t.Errorf("%s\n%s", got, made.YAML)
	}
}

func TestWhatAnImageLacksIsSaid(t *testing.T) {
	i := newInstance(t)
	port := freeport.New(t)
	for name, c := range map[string]struct {
		img  *image.Image
		load string
		port int
		want []string // WAIT is the time that it has
	}{
		"a variable": {shell("echo POSTGRES_PASSWORD is missing >&2; exit 3"), "", 0,
			[]string{"exited with status 3 after", "--env-var NAME=VALUE", "its last output:\n  POSTGRES_PASSWORD is missing"}},
		"a program": {&image.Image{Config: origin.Config{Cmd: []string{"/no/such/program"}}}, "", 0, []string{"the image's command `/no/such/program`"}},
		"an address": {served(t, "redis", fmt.Sprintf("127.0.0.1:%d", port)), "", 0,
			[]string{fmt.Sprintf("listens only at the loopback, at port %d", port), "0.0.0.0"}},
		"a port":   {shell("echo at work; exec sleep 60"), "", 0, []string{"listens at no port within WAIT", "--load job", "at work"}},
		"an end":   {shell("exec sleep 60"), "job", 0, []string{"did not end within WAIT: raise --wait", "it printed nothing"}},
		"a server": {shell("exit 0"), "redis", 0, []string{"so --load redis has no server to drive"}},
		"that port": {served(t, "redis", fmt.Sprintf("0.0.0.0:%d", port)), "", freeport.New(t),
			[]string{fmt.Sprintf("but at port %d: choose another --port", port)}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Load, o.Port = c.load, c.port
			// On a busy machine the command is late for what it does in the first seconds.
			const most = 32 * time.Second
			for o.Wait = time.Second; ; o.Wait *= 2 {
				_, err := o.Look(t.Context(), c.img, i, nil)
				lacks := slices.IndexFunc(c.want, func(want string) bool {
					return err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(want, "WAIT", o.Wait.String()))
				})
				if lacks < 0 {
					return
				}
				if o.Wait >= most {
					t.Fatalf("%q is not in: %v", c.want[lacks], err)
				}
			}
		})
	}
}

func TestAPortOfThisMachineThatIsInUseIsSaid(t *testing.T) {
	needs.Program(t, "true")
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	img := shell("exit 0")
	img.Config.Ports = []string{fmt.Sprintf("%d/tcp", port)}
	if _, err := options().Look(t.Context(), img, newInstance(t), nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d of this machine is in use", port)) {
		t.Error(err)
	}
}

// Package try makes a study of an image. It starts the image once, as its metadata says,
// sees at which port it answers in which protocol, and chooses a load that fits. What it
// guesses has a reason, and the flag that changes it.
//
// It must not know how an environment runs an image, nor how a study is run.
package try

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/application/secret"
	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/study"
	"tare/internal/workload"
)

// Options are what to try, and what the user said instead of leaving it to a guess.
type Options struct {
	Image        string   // an OCI reference
	Environments []string // NAME or NAME+OPTION=VALUE...; the first is the baseline
	Port         int      // 0 is guessed
	URL          string   // a path, or http://localhost:PORT/PATH; "" is guessed
	Load         string   // one of Loads, or the file of a pack; "" is guessed
	Env          []string // NAME=VALUE, for the image's command
	Secrets      []secret.Source
	Arguments    []string // of the image's command; nil for those of the image
	Margin       string
	Budget       time.Duration
	Seed         *uint64
	// Wait is how long the image has to answer.
	Wait time.Duration
}

// The defaults of a command line.
const (
	DefaultMargin = "5%"
	DefaultBudget = 3 * time.Minute
	DefaultWait   = time.Minute
)

// DefaultEnvironments are those of a command line that names none.
var DefaultEnvironments = []string{"native", "docker", "gvisor"}

// load is a way of driving an image.
type load struct {
	name     string // of the flag
	protocol string // for people
	workload string // that drives it; "" for none
	start    string // that measures its start
}

// What measures the start of a server.
const (
	startOfPage = "startup-service"
	startOfPort = "startup-port"
)

var loads = []load{
	{"http", "HTTP", "nginx", startOfPage},
	{"redis", "Redis", "redis", startOfPort},
	{"postgres", "PostgreSQL", "postgres", startOfPort},
	{"mysql", "MySQL", "mysql-oltp", startOfPort},
	{"tcp", "TCP", "", startOfPort},
	{"job", "", "image-command", "startup"},
}

// Loads lists the values of Options.Load.
func Loads() []string { return lists.Map(loads, func(l load) string { return l.name }) }

func loadOf(name string) load {
	if strictyaml.IsPath(name) {
		return load{name: name, protocol: "what its pack drives"}
	}
	return loads[slices.IndexFunc(loads, func(l load) bool { return l.name == name })]
}

// Workloads are those that drive a load and that measure the start; "" is none.
func Workloads(name string) (drive, start string) {
	l := loadOf(name)
	return l.workload, l.start
}

// Check refuses options that cannot be right, before anything is started.
func (o Options) Check() error {
	own := strictyaml.IsPath(o.Load)
	if o.Load != "" && !own && !slices.Contains(Loads(), o.Load) {
		return fmt.Errorf("--load %s: %s", o.Load, strictyaml.Unknown("load", o.Load, Loads()))
	}
	port, path, err := o.target()
	if err != nil {
		return err
	}
	if o.Load == "job" && (port > 0 || o.URL != "") {
		return fmt.Errorf("--load job: a job has no port: leave out --port and --url")
	}
	if o.URL != "" && o.Load != "" && o.Load != "http" && !own {
		return fmt.Errorf("--url %s: only --load http has a URL", o.URL)
	}
	for _, e := range o.Env {
		if name, _, given := strings.Cut(e, "="); !given || !study.IsVariable(name) {
			return fmt.Errorf("--env-var %s: is not NAME=VALUE", e)
		} else if slices.ContainsFunc(o.Secrets, func(s secret.Source) bool { return s.Name == name }) {
			return fmt.Errorf("--env-var %s: it is also a secret: use only one of them", name)
		}
	}
	// The rest is what a study refuses, whatever the guesses will be.
	environments, err := o.environments()
	if err != nil {
		return err
	}
	draft := o.draft(environments)
	draft.Use = startOfPage
	if path != "" {
		pack, err := workload.Builtin(draft.Use)
		if err == nil {
			err = pack.Parameters["path"].Check(path)
		}
		if err != nil {
			return fmt.Errorf("--url %s: %w", o.URL, err)
		}
	}
	draft.Parameters = []study.Setting{{Key: "server", Value: "image"}}
	if _, err = draft.Resolve(study.Overrides{Budget: o.Budget}); err == nil && own {
		draft.Use = o.Load
		if _, err = draft.Resolve(study.Overrides{Budget: o.Budget}); err != nil {
			err = fmt.Errorf("--load %s: %w", o.Load, err)
		}
	}
	return err
}

// target is what --port and --url say; 0 and "" are not said.
func (o Options) target() (port int, path string, err error) {
	if o.Port < 0 || o.Port > 65535 {
		return 0, "", fmt.Errorf("--port %d: a port is a number from 1 to 65535", o.Port)
	}
	if o.URL == "" || strings.HasPrefix(o.URL, "/") {
		return o.Port, o.URL, nil
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" || !slices.Contains([]string{"localhost", "127.0.0.1"}, u.Hostname()) {
		return 0, "", fmt.Errorf("--url %s: is neither a path, such as /health, nor http://localhost:PORT/PATH", o.URL)
	}
	port = 80
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return 0, "", fmt.Errorf("--url %s: a port is a number from 1 to 65535", o.URL)
		}
	}
	if o.Port > 0 && o.Port != port {
		return 0, "", fmt.Errorf("--url %s: has another port than --port %d", o.URL, o.Port)
	}
	if path = u.RequestURI(); path == "" {
		path = "/"
	}
	return port, path, nil
}

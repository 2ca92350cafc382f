// Package scaffold writes the study that somebody begins with: of an image, a Compose file
// or a command, with a comment on each key. A line that only a person can complete is
// marked TODO, and the study is refused at it.
//
// It must start nothing, and not know how a study is run.
package scaffold

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/author/try"
	"tare/internal/base/lists"
	"tare/internal/image/origin"
	"tare/internal/study"
)

// Options are what is the same for all studies.
type Options struct {
	Command      string   // that the study is made by, for its first line
	File         string   // of the study; its paths are relative to it
	Environments []string // NAME or NAME+OPTION=VALUE...; the first is the baseline
	Missing      []string // that would be among them if they worked here
}

// Study is a study to begin with.
type Study struct {
	Text *study.Text
	// Pack is the workload that the study uses, in PackFile beside it; nil for none.
	Pack     *study.Text
	PackFile string
	// Remarks are what its user should know.
	Remarks []string
}

// Environments are those of a study where the command line names none.
var Environments = try.DefaultEnvironments

// Networked are those of an application of several services.
var Networked = []string{"docker", "gvisor"}

// Choose takes those of some environments that work here, unless the command line names
// others. Where none works it takes docker and gvisor, for another machine.
func (o *Options) Choose(from, available []string) {
	if len(o.Environments) > 0 {
		return
	}
	o.Environments = available
	if len(available) == 0 {
		o.Environments = Networked
	}
	o.Missing = lists.Filter(from, func(name string) bool { return !slices.Contains(o.Environments, name) })
}

// about says what the environments of a kind are.
var about = map[string]string{
	"native":     "as root of this machine, not isolated",
	"docker":     "containers of Docker",
	"podman":     "containers of Podman",
	"containerd": "containers of containerd",
	"gvisor":     "the sandbox gVisor (runsc)",
	"qemu":       "virtual machines under QEMU",
}

// begin writes what comes before the workloads.
func (o Options) begin(title, image string) (*study.Text, error) {
	environments, err := study.ParseEnvironments(o.Environments)
	if err != nil {
		return nil, err
	}
	// What is wrong with the environments is said before anything is written.
	draft := study.Draft{Title: title, Name: "init", Origin: "tare init", Baseline: environments[0].Name, Environments: environments, Use: "startup"}
	if _, err := draft.Resolve(study.Overrides{}); err != nil {
		return nil, err
	}
	t := &study.Text{}
	t.Note("Made by `%s`, which started nothing.", o.Command)
	t.Note("Plan: tare run %s --dry-run. All keys: docs/reference/studies.md.", o.File)
	t.Add("study: "+study.Quoted(title), "the title of the report")
	if image != "" {
		t.Add("image: "+study.Flow([]study.Setting{{Key: "reference", Value: image}}), "what each environment runs")
	}
	t.Add("baseline: "+environments[0].Name, "the others are compared with it")
	t.Add("environments:", "")
	t.Environments(environments, about)
	for _, name := range o.Missing {
		t.Off("  "+name+": {}", "does not work here now, see tare doctor")
	}
	return t, nil
}

// end writes what comes after the workloads.
func end(t *study.Text) {
	t.Add("design:", "")
	t.Add("  margin: 5%", "differences within it are equivalent")
	t.Add("  budget: 10m", "no sample begins later")
	t.Off("  blocks: {max: 30}", "default: {min: 6, max: 60}")
}

// limits writes the limits that a person may want.
func limits(t *study.Text) {
	t.Off("limits: {cpus: 1, memory: 512MiB}", "the same for each environment")
}

// server is what a load drives. Where it is not known, a person has to say it.
type server struct {
	load          string // "" is not known
	port          int    // 0 is not known
	portWhy       string
	ports         []int // that it can be one of
	page, pageWhy string
	variables     map[string]string
	lines         [][2]string // what server: is, and its comment
	start         bool        // the time to the first answer is measured too
}

// drives says what a load does.
var drives = map[string]string{
	"nginx":      "the load: requests by HTTP",
	"redis":      "the load: SET and GET of redis-benchmark",
	"postgres":   "the load: transactions of pgbench",
	"mysql-oltp": "the load: transactions of sysbench",
}

// workloads writes the load and the start.
func (s server) workloads(t *study.Text) {
	drive, start := "", "startup-port"
	if s.load != "" {
		drive, start = try.Workloads(s.load)
	}
	t.Add("workloads:", "")
	switch {
	case drive != "":
		t.Add("  - use: "+drive, drives[drive])
	default:
		t.Note("  One of nginx (HTTP), redis, postgres, mysql-oltp%s.", map[bool]string{true: "; for a job that ends by itself image-command, without server and port"}[s.start && s.port == 0])
		t.Ask("  - use: TODO", "what drives it")
	}
	s.driven(t, "load", drive)
	if s.start && s.port > 0 {
		t.Add("  - use: "+start, "from the start to the first answer")
		s.driven(t, "startup", start)
	}
}

// driven writes the settings of a workload that drives the server.
func (s server) driven(t *study.Text, as, workload string) {
	t.Add("    as: "+as, "its name in the report")
	for _, l := range s.lines {
		if what, todo := strings.CutPrefix(l[1], study.Todo+": "); todo {
			t.Ask("    "+l[0], what)
		} else {
			t.Add("    "+l[0], l[1])
		}
	}
	others := lists.Map(lists.Filter(s.ports, func(p int) bool { return p != s.port }), strconv.Itoa)
	why, ask := s.portWhy, "the TCP port at which it answers"
	if len(others) > 0 {
		why += "; others: " + strings.Join(others, ", ")
		ask += ": " + joined(others, "or")
	}
	if s.port > 0 {
		t.Add("    port: "+strconv.Itoa(s.port), why)
	} else {
		t.Ask("    port: TODO", ask)
	}
	switch workload {
	case "nginx", "startup-service":
		t.Add("    path: "+study.Quoted(cmp.Or(s.page, "/")), cmp.Or(s.pageWhy, "the page that is asked for"))
	case "postgres":
		user, database, _ := try.PostgresLogin(s.variables)
		login(t, user, database, "PGPASSWORD")
	case "mysql-oltp":
		user, database, _ := try.MySQLLogin(s.variables)
		if user == "" {
			user, database = "tare", "sbtest"
		}
		login(t, user, cmp.Or(database, "sbtest"), "MYSQL_PWD")
	}
}

// login writes the settings of a load that logs in. The password stays where it is.
func login(t *study.Text, user, database, variable string) {
	t.Add("    user: "+study.Quoted(user), "of the load, which makes tables")
	t.Add("    database: "+study.Quoted(database), "where it makes them")
	t.Off("    env: {"+variable+": ...}", "its password; with secret: not stored")
}

// choose is the port to drive, and its load: the one that its number, or the page of a
// health check, tells of. Without that a single port is chosen, and no load.
func choose(ports []int, page string) (port int, load string) {
	known := lists.Filter(ports, func(p int) bool { return try.Usual(p) != "" })
	if page != "" {
		known = lists.Filter(ports, func(p int) bool { return try.Usual(p) == "http" })
	}
	switch {
	case len(known) > 0:
		port, load = known[0], try.Usual(known[0])
	case len(ports) == 1:
		port = ports[0]
	}
	if page != "" {
		load = "http"
	}
	return port, load
}

// joined are texts as a sentence has them.
func joined(texts []string, last string) string {
	texts = slices.Clone(texts)
	if n := len(texts); n > 1 {
		texts[n-2] = fmt.Sprintf("%s %s %s", texts[n-2], last, texts[n-1])
		texts = texts[:n-1]
	}
	return strings.Join(texts, ", ")
}

// elsewhere are the references of images that are not in a registry.
var elsewhere = regexp.MustCompile(`^(docker-daemon|oci|tar):`)

// FromImage is the study of an image's own server. The description is nil where nobody was
// there to give it; silence is the reason.
func (o Options) FromImage(reference string, d *origin.Description, silence error) (*Study, error) {
	t, err := o.begin(cmp.Or(try.ImageName(reference), "image"), reference)
	if err != nil {
		return nil, err
	}
	s := &Study{Text: t}
	one := server{lines: [][2]string{{"server: image", "the image's own server is driven"}}, start: true}
	if d == nil {
		s.Remarks = append(s.Remarks, silence.Error())
		d = &origin.Description{}
	}
	one.page = try.HealthPath(d.Health)
	if one.page != "" {
		one.pageWhy = "the image's health check asks for it"
	}
	one.variables = try.Variables(d.Env)
	one.ports = try.ExposedPorts(d.Config)
	one.port, one.load = choose(one.ports, one.page)
	one.portWhy = "the image exposes it"
	limits(t)
	one.workloads(t)
	end(t)
	switch {
	case len(t.Todos()) == 0:
	case silence != nil && !elsewhere.MatchString(reference):
		s.Remarks = append(s.Remarks, "an image that is on this machine is docker-daemon:NAME or tar:FILE")
	default:
		s.Remarks = append(s.Remarks, "`tare try "+reference+"` starts the image once, and finds out what is marked")
	}
	return s, nil
}

package try

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/application/secret"
	"tare/internal/base/lists"
	"tare/internal/base/quoted"
	"tare/internal/base/strictyaml"
	"tare/internal/image"
	"tare/internal/image/origin"
	"tare/internal/linux/listener"
	"tare/internal/study"
	"tare/internal/workload"
)

// Guess is something that the user did not say.
type Guess struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
	Flag   string `json:"flag"` // that changes it; "" for none
}

func (g Guess) String() string {
	text := g.What + ": " + g.Reason
	if g.Flag != "" {
		text += " (" + g.Flag + ")"
	}
	return text
}

// guesses are what a study is made from.
type guesses struct {
	load       load
	pack       *workload.Pack // the user's own; nil for none
	port       int
	path       string
	parameters map[string]string // of the load, beside its port and path
	env        map[string]string // of the load, beside that of the image
	secrets    []secret.Source   // of the load, beside the options'
	list       []Guess
}

func (g *guesses) add(what, reason, flag string) { g.list = append(g.list, Guess{what, reason, flag}) }

// guess makes of what an image did what it is and how it is driven. The error says what
// the user has to add.
func (o Options) guess(img *image.Image, s seen) (g guesses, err error) {
	given, path, err := o.target()
	if err != nil {
		return g, err
	}
	if s.exit != nil || o.Load == "job" {
		return o.guessJob(img, s)
	}
	a, answered := best(s.answers)
	switch {
	case !answered:
		return g, o.silent(img, s, given)
	case o.Load != "" && o.Load != a.load:
		a.wrong = ""
	case a.wrong != "":
		return g, fmt.Errorf("port %d: %s", a.port, a.wrong)
	}
	g.load, g.port = loadOf(a.load), a.port
	if given == 0 {
		reason := "the image listens there, and exposes no port that answers"
		if slices.Contains(ExposedPorts(img.Config), a.port) {
			reason = "the image exposes it"
		}
		g.add(fmt.Sprintf("port %d", a.port), reason, "--port")
	}
	if o.Load == "" {
		g.add("load "+g.load.name, a.reason, "--load")
	} else {
		g.load = loadOf(o.Load)
	}
	if strictyaml.IsPath(o.Load) {
		if err := g.own(o.Load, a); err != nil {
			return g, err
		}
	}
	g.path = path
	if g.load.start == startOfPage && path == "" {
		if g.path = HealthPath(img.Config.Health); g.path != "" {
			g.add("page "+g.path, "the image's health check asks for it", "--url")
		} else {
			g.path = "/"
			g.add("page /", "the image has no health check with another one", "--url")
		}
	}
	switch g.load.name {
	case "postgres":
		user, database, password := PostgresLogin(o.variables(img))
		o.login(&g, user, database, "PGPASSWORD", password, "--env-var POSTGRES_USER=..., POSTGRES_DB=..., POSTGRES_PASSWORD=...")
	case "mysql":
		if err := o.mysql(&g, img); err != nil {
			return g, err
		}
	case "redis":
		o.redis(&g, img)
	}
	g.volumes(img)
	return g, nil
}

func (o Options) guessJob(img *image.Image, s seen) (g guesses, err error) {
	command := strings.Join(o.command(img), " ")
	const hint = "if it needs variables, set them with --env-var NAME=VALUE"
	switch {
	case s.exit == nil:
		return g, fmt.Errorf("the image's command `%s` did not end within %v: raise --wait%s", command, o.Wait, said(s.words))
	case !s.exit.OK():
		how := fmt.Sprintf("exited with status %d", s.exit.Code)
		if s.exit.Signal != "" {
			how = "was ended by " + s.exit.Signal
		}
		return g, fmt.Errorf("the image's command `%s` %s after %.1f s: %s%s", command, how, s.took.Seconds(), hint, said(s.words))
	case len(s.sockets) > 0:
		return g, fmt.Errorf("the image's command `%s` exited after %.1f s and left a server behind, at %s: let it stay in the foreground, as engines expect", command, s.took.Seconds(), ports(s.sockets))
	case o.Load != "" && o.Load != "job":
		return g, fmt.Errorf("the image's command `%s` exited after %.1f s, so --load %s has no server to drive: %s%s", command, s.took.Seconds(), o.Load, hint, said(s.words))
	}
	g.load = loadOf("job")
	if o.Load == "" {
		g.add("load job", fmt.Sprintf("the command ended by itself with status 0, after %.1f s", s.took.Seconds()), "--load")
	}
	g.volumes(img)
	return g, nil
}

// own takes the user's pack as the load. The start is measured by what the port answered.
func (g *guesses) own(file string, a answer) (err error) {
	pack, err := workload.Find(file)
	if err != nil {
		return err
	}
	served, err := pack.ServedByImage()
	if err != nil {
		return err
	}
	g.pack = &served
	if g.load.workload, err = filepath.Abs(file); err != nil {
		return err
	}
	g.load.start = startOfPort
	if a.load == "http" && a.status < 400 {
		g.load.start = startOfPage
	}
	return nil
}

// silent is the error of an image at whose ports no load can be driven.
func (o Options) silent(img *image.Image, s seen, given int) error {
	command, wait := strings.Join(o.command(img), " "), o.Wait.Round(time.Second)
	local := lists.Filter(s.sockets, func(s listener.Socket) bool { return s.Local })
	open := lists.Filter(s.sockets, func(s listener.Socket) bool { return !s.Local })
	switch {
	case len(local) > 0 && len(open) == 0:
		return fmt.Errorf("the image's command `%s` listens only at the loopback, at %s, where nothing outside of a container reaches it: let it listen at 0.0.0.0, for example by a variable (--env-var)%s", command, ports(local), said(s.words))
	case given > 0 && len(open) > 0:
		return fmt.Errorf("the image's command `%s` does not listen at port %d within %v, but at %s: choose another --port, or raise --wait%s", command, given, wait, ports(open), said(s.words))
	case len(open) > 0:
		return fmt.Errorf("the image's command `%s` listens at %s, and accepts no connection from outside within %v: raise --wait%s", command, ports(open), wait, said(s.words))
	}
	return fmt.Errorf("the image's command `%s` runs, and listens at no port within %v: raise --wait, or choose --load job if it ends by itself%s", command, wait, said(s.words))
}

func ports(sockets []listener.Socket) string {
	numbers := lists.Map(sockets, func(s listener.Socket) int { return s.Port })
	slices.Sort(numbers)
	return "port " + strings.Join(lists.Map(slices.Compact(numbers), strconv.Itoa), ", ")
}

// said are the last words of a command, for the end of a message.
func said(words string) string {
	if words == "" {
		return "; it printed nothing"
	}
	return quoted.Lines("its last output", strings.Split(words, "\n"))
}

// volumes says where the directories are that an engine would put elsewhere.
func (g *guesses) volumes(img *image.Image) {
	if v := img.Config.Volumes; len(v) > 0 {
		g.add("volumes "+strings.Join(v, ", "), "they are part of the root file system of each instance, and new with it", "")
	}
}

// ExposedPorts are the TCP ports that an image exposes.
func ExposedPorts(c origin.Config) (list []int) {
	for _, text := range c.Ports {
		number, protocol, _ := strings.Cut(text, "/")
		if port, err := strconv.Atoi(number); err == nil && (protocol == "" || protocol == "tcp") {
			list = append(list, port)
		}
	}
	slices.Sort(list)
	return list
}

var healthURL = regexp.MustCompile(`http://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\$?\{?\w+\}?)?(/[A-Za-z0-9_./,@%+:=~?-]*)`)

// HealthPath is the page that a health check asks for; "" if it asks for none.
func HealthPath(test []string) string {
	found := healthURL.FindStringSubmatch(strings.Join(test, " "))
	if found == nil {
		return ""
	}
	return found[1]
}

// sorted lists a map as settings in the order of their names.
func sorted(m map[string]string) []study.Setting {
	return lists.Map(slices.Sorted(maps.Keys(m)), func(name string) study.Setting { return study.Setting{Key: name, Value: m[name]} })
}

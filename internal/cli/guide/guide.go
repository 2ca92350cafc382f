// Package guide says what to do next on this machine: which environments work, which one
// command adds others, what keeps tare from measuring, and which commands suit the runs
// that are there.
//
// It must not change or start anything, and needs no network. It must not know kinds of
// environments by name.
package guide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/linux/private"
	"tare/internal/run/doctor"
	"tare/internal/rundir"
	"tare/internal/study"
)

// Guide is what there is, and what to do next.
type Guide struct {
	Works   []string `json:"works"`   // environments, with the label of their results
	Caveats []string `json:"caveats"` // of them, those that work with a caveat
	Adds    []Add    `json:"adds"`    // what one command would add
	Others  []string `json:"others"`  // kinds that need more than one command
	Unknown []string `json:"unknown"` // kinds whose checks took too long
	Blocked []string `json:"blocked"` // what keeps tare from measuring
	// Alone is the only environment that works, where there is one: it can be measured, and
	// compared with nothing.
	Alone  string `json:"alone,omitempty"`
	Images string `json:"images,omitempty"` // why none can be built
	Runs   int    `json:"runs"`             // of the home
	Newest *Run   `json:"newest,omitempty"` // of them
	// Elsewhere says where runs are that this user does not see; "" for nowhere.
	Elsewhere string `json:"elsewhere,omitempty"`
	Next      []Step `json:"next"` // commands to try
}

// Add is a command and what it adds.
type Add struct {
	Command string   `json:"command"`
	Adds    []string `json:"adds"` // environments, and images
	// Maybe says that these may need more, which is only seen after the command.
	Maybe bool `json:"maybe,omitempty"`
	// Then says what is still to be done for some of them; "" for nothing.
	Then string `json:"then,omitempty"`
}

// Run is a run of the home.
type Run struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	About  string `json:"about,omitempty"`  // why it ended
	Report string `json:"report,omitempty"` // path; "" where there is none
}

// Step is a command to try.
type Step struct {
	Command string `json:"command"`
	Does    string `json:"does"`
}

// checksWithin bounds the checks of the environments: a probe of KVM that hangs, or a
// cluster that does not answer, takes longer.
const checksWithin = time.Second

// Look looks at this machine and at a home, which keeps images and runs in these
// directories.
func Look(ctx context.Context, home, images, runs string) Guide {
	checked, unchecked := doctor.Glance(ctx, checksWithin)
	m := machine{
		root:     os.Geteuid() == 0,
		systemd:  exists("/run/systemd/system"),
		checkout: checkout(),
		checked:  checked, unchecked: unchecked,
		home: usable(home),
	}
	m.install, m.images = recipe.Able()
	if made, err := image.Existing(images).List(); err == nil {
		m.made = len(made)
	}
	if newest, all, err := rundir.Newest(runs, 10); err == nil {
		m.runs, m.all = lists.Filter(newest, func(r *rundir.Run) bool { return plain.MatchString(filepath.Base(r.Directory)) }), all
		m.underWay = len(m.runs) > 0 && rundir.UnderWay(m.runs[0].Directory)
	}
	if plan, err := study.Open(first, study.Overrides{}); err == nil {
		m.budget = plan.Design.Budget
		for _, e := range plan.Environments {
			if e.Name == plan.Baseline {
				m.baseline = e.Kind
			} else {
				m.compared = append(m.compared, e.Kind)
			}
		}
	}
	return m.guide()
}

// first is the study to begin with.
const first = "quick"

// plain are the names of runs that a shell takes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// checkout is the directory of the source that this program was built in; "" where it was
// installed.
func checkout() string {
	program, err := os.Executable()
	if root := filepath.Dir(filepath.Dir(program)); err == nil && exists(filepath.Join(root, installer)) {
		return root
	}
	return ""
}

// installer is a script of the source, by which a checkout is known.
const installer = "scripts/install-runsc.sh"

// usable says why a home cannot be used; nil where it can, or could be made.
func usable(home string) error {
	if err := private.Check(home); err != nil {
		return err
	}
	at, err := filepath.Abs(home)
	if err != nil {
		return err
	}
	for {
		err := unix.Access(at, unix.W_OK|unix.X_OK)
		if parent := filepath.Dir(at); errors.Is(err, unix.ENOENT) && parent != at {
			at = parent
			continue
		}
		if err != nil {
			return fmt.Errorf("%s cannot be used, since %s cannot be written: %w; name another directory with --home", home, at, err)
		}
		return nil
	}
}

// machine is what the guide follows from.
type machine struct {
	root, systemd bool
	checkout      string
	checked       []doctor.Environment
	unchecked     []string
	home          error
	images        error    // why none can be made
	install       []string // packages that would be enough for that
	made          int      // images
	runs          []*rundir.Run
	all           int // runs, also those that are not among the newest
	underWay      bool
	baseline      string   // kind of the first study's
	compared      []string // kinds that it compares with that one
	budget        time.Duration
}

func (m machine) guide() Guide {
	g := Guide{Works: []string{}, Caveats: []string{}, Adds: []Add{}, Others: []string{}, Unknown: append([]string{}, m.unchecked...), Blocked: []string{}, Runs: m.all, Next: []Step{}}
	m.environments(&g)
	m.blocked(&g)
	m.newest(&g)
	m.next(&g)
	return g
}

func (m machine) environments(g *Guide) {
	var packages, installed, started, asRoot []string
	for _, e := range m.checked {
		name := e.Kind
		if e.Label != "" {
			name += " [" + e.Label + "]"
		}
		if e.State != environment.Missing {
			g.Works = append(g.Works, name)
			if e.State == environment.Caveat {
				g.Caveats = append(g.Caveats, name)
			}
			continue
		}
		lacks := lists.Filter(e.Findings, func(f environment.Finding) bool { return f.State == environment.Missing })
		last := lacks[len(lacks)-1]
		switch {
		case !slices.ContainsFunc(lacks, func(f environment.Finding) bool { return f.Fix.Code != environment.FixInstall }):
			for _, f := range lacks {
				packages = append(packages, f.Fix.Packages...)
			}
			installed = append(installed, name)
			if last.Fix.Service {
				started = append(started, name)
			}
		case len(lacks) == 1 && last.Fix.Code == environment.FixRoot && !m.root:
			asRoot = append(asRoot, name)
		case len(lacks) == 1 && m.command(last.Fix) != "":
			g.Adds = append(g.Adds, Add{Command: m.command(last.Fix), Adds: []string{name}})
		default:
			g.Others = append(g.Others, name)
		}
	}
	if len(m.install) > 0 {
		packages, installed = append(packages, m.install...), append(installed, "images")
	}
	if len(packages) > 0 {
		add := Add{Command: m.asRoot("apt-get install -y " + strings.Join(lists.Add(nil, packages...), " ")), Adds: installed}
		if len(started) > 0 && !m.systemd {
			add.Then = strings.Join(started, " and ") + " must then be started"
		}
		g.Adds = slices.Insert(g.Adds, 0, add)
	}
	if len(asRoot) > 0 {
		g.Adds = slices.Insert(g.Adds, 0, Add{Command: "sudo tare", Adds: asRoot, Maybe: true})
	}
}

// command is the one command that a fix is here; "" where it is none, or another one.
func (m machine) command(fix environment.Fix) string {
	switch {
	case fix.Code == environment.FixStart:
		command := fix.Alternative
		if m.systemd {
			command = fix.Command
		}
		if fix.Own {
			return command
		}
		return m.asRoot(command)
	case fix.Code == environment.FixRun:
		return m.asRoot(fix.Command)
	case fix.Code == environment.FixScript && m.checkout != "":
		if built := filepath.Join(m.checkout, "build/bin"); exists(filepath.Join(built, fix.Program)) {
			return "export PATH=" + built + ":$PATH"
		}
		return m.asRoot(filepath.Join(m.checkout, fix.Script) + " " + fix.Arguments)
	}
	return ""
}

// asRoot adds sudo to a command where it is needed.
func (m machine) asRoot(command string) string {
	if m.root {
		return command
	}
	return "sudo " + command
}

// underWay is the state of a run that a process works on.
const underWay = "under way"

// two environments are what a comparison needs.
const two = 2

func (m machine) blocked(g *Guide) {
	if len(m.unchecked) == 0 {
		switch len(g.Works) {
		case 0:
			g.Blocked = append(g.Blocked, "no environment works here")
		case 1:
			g.Alone, _, _ = strings.Cut(g.Works[0], " ")
		}
	}
	if m.images != nil && m.made == 0 {
		g.Images = visible.Line(m.images.Error())
	}
	if m.home != nil {
		g.Blocked = append(g.Blocked, "no place for runs: "+visible.Line(m.home.Error()))
	}
}

func (m machine) newest(g *Guide) {
	if len(m.runs) == 0 {
		return
	}
	r := m.runs[0]
	g.Newest = &Run{Name: visible.Line(filepath.Base(r.Directory))}
	g.Newest.State, g.Newest.About = r.Manifest.State()
	g.Newest.About = visible.Line(g.Newest.About)
	switch {
	case r.Manifest.Import != nil:
		g.Newest.State = "imported"
	case m.underWay:
		g.Newest.State = underWay
	}
	if report := filepath.Join(r.Directory, "report.html"); exists(report) {
		g.Newest.Report = report
	}
}

// next are the commands that suit the state: first what makes measuring possible, then
// what is begun, then what is done.
func (m machine) next(g *Guide) {
	add := func(command, does string) { g.Next = append(g.Next, Step{command, does}) }
	if len(g.Blocked) > 0 {
		add("tare doctor", "every requirement of each environment, and its fix")
	}
	if n := g.Newest; n != nil {
		switch n.State {
		case rundir.Interrupted, rundir.NotEnded:
			command := "run"
			if len(m.runs[0].Plan.Steps) > 0 {
				command = "explain"
			}
			add(fmt.Sprintf("tare %s --resume %s", command, n.Name), "finish it; what was measured is kept")
		case underWay:
			add("tare show "+n.Name, "its verdicts so far")
		default:
			add("tare show "+n.Name, "its verdicts again")
		}
		if other := m.comparable(); other != "" {
			add(fmt.Sprintf("tare compare %s %s", other, n.Name), "before and after")
		}
		add("tare serve", "all runs in a browser")
	}
	switch {
	case len(g.Blocked) > 0 || m.underWay: // another would wait for it
		return
	case g.Alone != "" && (g.Alone == m.baseline || g.Images == ""): // without isolation no image is needed
		add("tare bench --env "+g.Alone+" "+command, "measure one command there")
		add("tare doctor", "what other environments need, and the fix")
		return
	case len(g.Works) < two: // others may work
		add("tare doctor", "what works here; it waits for all checks")
		return
	case g.Images != "":
		if m.works(m.baseline) && m.comparesFirst() {
			add("tare run "+first, "a small study: what needs no image of it")
		} else {
			add(imageless, "the start of a program: nothing is built")
		}
		add("tare try IMAGE", "measure an image that is made")
		return
	}
	study := func() { add("tare run "+first, "a small study with a report"+m.duration()) }
	switch {
	case m.made > 0:
	case m.works(m.baseline) && m.comparesFirst():
		study()
	default:
		add(imageless, "the start of a program: nothing is built")
	}
	if m.baseline != "" && !m.works(m.baseline) {
		kinds := lists.Map(g.Works, func(name string) string { kind, _, _ := strings.Cut(name, " "); return kind })
		add("tare bench --env "+strings.Join(kinds, ",")+" "+command, "measure one command in each environment")
		return
	}
	add("tare bench "+command, "measure one command in each environment")
	if m.made > 0 && m.comparesFirst() {
		study()
	}
	if g.Newest == nil {
		add("tare try IMAGE", "measure a service of yours, from its image")
	}
}

// command to measure, for an example.
const command = "-- gzip -k -c /bin/bash"

// imageless measures where no image is there, with the one that tare has in itself.
const imageless = "tare bench --image tare:agent -- true"

func (m machine) works(kind string) bool {
	return slices.ContainsFunc(m.checked, func(e doctor.Environment) bool { return e.Kind == kind && e.State != environment.Missing })
}

// comparesFirst says whether any environment works, or may once it is checked, that the
// first study compares.
func (m machine) comparesFirst() bool {
	return slices.ContainsFunc(m.compared, func(kind string) bool { return m.works(kind) || slices.Contains(m.unchecked, kind) })
}

// duration of the first study, and what is made meanwhile.
func (m machine) duration() string {
	text := ""
	if m.budget > 0 {
		text = ", in at most " + strings.TrimSuffix(m.budget.String(), "0s")
	}
	if m.made == 0 {
		text += "; its image is built meanwhile"
	}
	return text
}

// comparable is the run before the newest of the same study, if both have ended.
func (m machine) comparable() string {
	if len(m.runs) < two || m.underWay {
		return ""
	}
	for _, r := range m.runs[:two] {
		if state, _ := r.Manifest.State(); state != rundir.Ended {
			return ""
		}
	}
	if rundir.SameStudy(m.runs[1], m.runs[0]) != nil {
		return ""
	}
	return visible.Line(filepath.Base(m.runs[1].Directory))
}

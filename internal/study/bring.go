package study

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"tare/internal/application/secret"
	"tare/internal/base/bounded"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
)

// Input is a file of this machine of which each instance gets a copy, through its agent,
// before anything is measured. The run has the checksum, not the content.
type Input struct {
	From   string `json:"from"` // absolute
	To     string `json:"to"`   // inside, absolute
	SHA256 string `json:"sha256"`
}

// resolveBring reads mounts: and inputs:, what instances get from this machine. Paths are
// relative to the study; the plan has them absolute.
func resolveBring(mounts, inputs section, directory string) (given []environment.Mount, copied []Input) {
	var taken []string
	apart := func(at strictyaml.Node, to string) bool {
		for _, other := range taken {
			if within(to, other) || within(other, to) {
				at.Problemf("%s and %s are in each other's way inside", other, to)
				return false
			}
		}
		taken = append(taken, to)
		return true
	}
	for at, text := range texts(mounts) {
		if m, err := environment.ParseMount(text, directory); err != nil {
			at.Problemf("%s", err)
		} else if apart(at, m.To) {
			given = append(given, m)
		}
	}
	for at, text := range texts(inputs) {
		if i, err := parseInput(text, directory); err != nil {
			at.Problemf("%s", err)
		} else if apart(at, i.To) {
			copied = append(copied, i)
		}
	}
	return given, copied
}

func within(name, directory string) bool {
	return name == directory || strings.HasPrefix(name, directory+"/")
}

// texts are the items of a list of texts.
func texts(s section) func(yield func(strictyaml.Node, string) bool) {
	return func(yield func(strictyaml.Node, string) bool) {
		for _, at := range s.Items() {
			var text string
			if at.Decode(&text); text != "" && !yield(at, text) {
				return
			}
		}
	}
}

// DefaultInput is where an input is inside that does not say it.
const DefaultInput = "/data/input"

// parseInput reads HOST[:INSIDE], and the file for its checksum.
func parseInput(text, directory string) (i Input, err error) {
	from, to, _ := strings.Cut(text, ":")
	if from == "" || strings.Contains(to, ":") {
		return i, fmt.Errorf("%q is not FILE or FILE:INSIDE, such as ./requests.txt:/data/requests.txt; neither path can have a colon", text)
	}
	i.From, i.To = from, cmp.Or(to, DefaultInput)
	if !within(i.To, "/data") || i.To == "/data" || path.Clean(i.To) != i.To {
		err = environment.CheckInside(i.To)
	}
	if err != nil {
		return i, err
	}
	i.From = strictyaml.Absolute(directory, i.From)
	if i.SHA256, err = bounded.Sum(i.From); err != nil {
		return i, fmt.Errorf("%s: %w", i.From, bounded.Cause(err))
	}
	return i, nil
}

// checkMounts reports environments that cannot have the plan's mounts.
func checkMounts(root strictyaml.Node, plan *Plan) {
	if len(plan.Mounts) == 0 {
		return
	}
	for _, e := range plan.Environments {
		options, err := e.Decode()
		if err != nil {
			continue // reported already
		}
		if err = environment.CheckMounts(e.Kind, options); e.Inside != nil || e.Host != "" {
			err = environment.ErrNoMounts
		}
		if err != nil {
			root.At("environments", e.Name).ProblemAtKey("mounts: %s", err)
		}
	}
	for _, w := range plan.Workloads {
		for _, name := range w.Pack.RoleNames() {
			if hosts := w.Pack.Roles[name].Hosts; slices.ContainsFunc(hosts, func(h string) bool { return h != "" }) {
				root.At("mounts").Problemf("mounts: role %s of workload %s runs on another machine (%s), which does not have the directories of this one", name, w.Name, strings.Join(hosts, ", "))
			}
		}
	}
}

// resolveSecret reads secret:, where values come from that the study does not have. A
// path is relative to the study; the plan has it absolute, as a run may be resumed from
// anywhere.
func resolveSecret(s section, directory string) (sources []secret.Source) {
	for _, p := range s.Pairs() {
		source := secret.Source{Name: p.Key}
		if !p.Value.IsMapping() {
			p.Value.Problemf("secret %s: write where its value is, {file: PATH} or {env: VARIABLE}, not the value", p.Key)
			continue
		}
		p.Value.Decode(&source)
		if err := source.Validate(); err != nil {
			problemAt(p.Value, err, strictyaml.Node.ProblemAtKey)
			continue
		}
		if source.File != "" {
			source.File = strictyaml.Absolute(directory, source.File)
		}
		sources = append(sources, source)
	}
	slices.SortFunc(sources, func(a, b secret.Source) int { return cmp.Compare(a.Name, b.Name) })
	return sources
}

// Lacking lists the files and directories of this machine that the plan names and that
// are not there, or not with the content that they had when it was made: a plan of
// another machine, or of an earlier time.
func (p *Plan) Lacking() (problems []string) {
	file := func(what, from, sum string) {
		switch got, err := bounded.Sum(from); {
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s %s: %v", what, from, bounded.Cause(err)))
		case got != sum:
			problems = append(problems, fmt.Sprintf("%s %s: it has other content (SHA-256 %.12s, and it was %.12s)", what, from, got, sum))
		}
	}
	directory := func(from string) {
		if from == "" {
			return // in memory
		}
		if _, err := os.Stat(from); err != nil {
			problems = append(problems, fmt.Sprintf("mount %s: %v", from, bounded.Cause(err)))
		}
	}
	for _, m := range p.Mounts {
		directory(m.From)
	}
	for _, in := range p.Inputs {
		file("input", in.From, in.SHA256)
	}
	for _, s := range p.services() {
		for _, m := range s.Mounts {
			directory(m.From)
		}
		for _, f := range s.Files {
			if f.From != "" && f.Secret == nil {
				file("config of "+s.Role, f.From, f.SHA256)
			}
		}
	}
	for _, s := range p.Secrets() {
		if _, set := os.LookupEnv(s.Env); s.Env != "" && !set {
			problems = append(problems, fmt.Sprintf("secret %s: the variable %s is not set", s.Name, s.Env))
		}
		if _, err := os.Stat(s.File); s.File != "" && err != nil {
			problems = append(problems, fmt.Sprintf("secret %s: %s: %v", s.Name, s.File, bounded.Cause(err)))
		}
	}
	return problems
}

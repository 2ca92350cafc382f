package study

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
		if !s.Exists() || s.IsNull() {
			return
		}
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
	if !filepath.IsAbs(i.From) {
		i.From = filepath.Join(directory, i.From)
	}
	if i.From, err = filepath.Abs(i.From); err != nil {
		return i, err
	}
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

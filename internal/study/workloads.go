package study

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/image/recipe"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// longestPause is the longest that a study may ask for.
const longestPause = time.Hour

var workloadName = regexp.MustCompile(`^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$`)

func resolveWorkloads(root strictyaml.Node, s, scaled section, file *File, fresh string, hosts map[string]Host, costs []cost.Cost, problems *strictyaml.Problems) ([]Workload, []recipe.Recipe) {
	if s.IsNull() {
		root.At("workloads").Problemf("workloads: is missing; name at least one, such as - use: %s", workload.Names()[0])
		return nil, nil
	}
	var workloads []Workload
	var recipes []recipe.Recipe
	names := map[string]bool{}
	for _, entry := range s.Items() {
		pack := packOf(entry, file, problems)
		if pack == nil {
			continue
		}
		pack, app := servedBy(entry, pack, file.directory)
		pack = withEnv(entry, withArguments(entry, pack, app))
		w := Workload{Name: pack.Name, Pack: *pack, Fresh: fresh, Application: app}
		if pack.Fresh != "" {
			w.Fresh = pack.Fresh
		}
		if at, given := entry.Get("as"); given {
			if at.Decode(&w.Name); !workloadName.MatchString(w.Name) {
				at.Problemf("as: %q is not a valid name of a workload: use letters, digits, dots and dashes", w.Name)
			}
		}
		if at, given := entry.Get("fresh"); given {
			at.Decode(&w.Fresh)
			oneOf(at, "fresh", w.Fresh, freshes)
		}
		if names[w.Name] {
			entry.Problemf("two workloads are called %s; give this one another name with as:", w.Name)
		}
		names[w.Name] = true
		pairs := settings(entry.Pairs())
		if over, given := scaled.Get(w.Name); given {
			pairs = withLength(pairs, over, pack).over(over)
		}
		w.Levels = resolveLevels(pairs, pack)
		resolveSamples(pairs, pack, w.Levels)
		if at := pairs.at("image"); at.Exists() && !pack.Has("image") {
			if at.Decode(&w.Image); w.Image == "" {
				at.Problemf("image: needs the reference of an image, such as debian:12; without the key the workload runs in that of the study")
			}
		}
		if at := pairs.at("pause"); at.Exists() && !pack.Has("pause") {
			if at.Decode(&w.Pause); w.Pause < 0 || w.Pause > longestPause {
				at.Problemf("pause: needs a time from 0s to %v, such as 60s", longestPause)
			}
		}
		if !pack.Has("total") {
			resolveTotal(pairs, w)
		}
		w.Pack.Roles = resolvePlaces(pairs, pack, hosts)
		w.resolveNeighbour(entry, pairs, file, problems)
		w.Find = resolveFind(pairs, pack, w.Levels)
		w.Pack.Metrics = append(slices.Clone(pack.Metrics), derived(pack, w.Levels, costs)...)
		loaded := resolveLoad(pairs, w)
		if w.Find != nil {
			w.Pack.Metrics = append(w.Find.metrics(pack), derived(pack, w.Levels, costs)...)
		}
		if err := w.expandShapes(); err != nil {
			entry.Problemf("%s", err)
		}
		workloads = append(workloads, w)
		if loaded != nil {
			if names[loaded.Name] {
				entry.Problemf("two workloads are called %s, which is what load: makes of %s; give one of them another name with as:", loaded.Name, w.Name)
			}
			names[loaded.Name] = true
			if err := loaded.expandShapes(); err == nil { // else it was reported
				workloads = append(workloads, *loaded)
			}
		}
		if w.Image == "" {
			recipes = append(recipes, pack.Image)
		}
		if w.Neighbour != nil {
			recipes = append(recipes, w.Neighbour.Image)
		}
	}
	return workloads, recipes
}

// servedBy resolves server:, what takes the place of the pack's server: with image, the
// image's own; with a mapping, the services of an application.
func servedBy(entry strictyaml.Node, pack *workload.Pack, directory string) (*workload.Pack, *Application) {
	at, given := entry.Get("server")
	if !given {
		return pack, nil
	}
	if at.IsMapping() {
		return resolveApplication(at, pack, directory)
	}
	var by string
	if at.Decode(&by); by != "image" {
		at.Problemf("server: %q is not known: image is the image's own server, in place of the workload's; {compose: FILE, service: NAME} are the services of an application", by)
		return pack, nil
	}
	served, err := pack.ServedByImage()
	if err != nil {
		at.Problemf("server: %s", err)
		return pack, nil
	}
	return &served, nil
}

// withArguments resolves arguments:, those of the image's own command.
func withArguments(entry strictyaml.Node, pack *workload.Pack, app *Application) *workload.Pack {
	at, given := entry.Get("arguments")
	if !given {
		return pack
	}
	var arguments []string
	at.Decode(&arguments)
	switch {
	case app != nil:
		at.Problemf("arguments: an application has several commands: write them as command: of its services")
	case len(pack.StartsImage()) == 0:
		at.Problemf("arguments: workload %s does not start the image's own command, which would have them; with server: image one that has a server does", pack.Name)
	case len(arguments) == 0:
		at.Problemf("arguments: is empty: write a list of words, or leave it out for those of the image")
	}
	with := pack.WithArguments(arguments)
	return &with
}

// IsVariable reports whether a name is one of an environment variable.
func IsVariable(name string) bool { return variableName.MatchString(name) }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// withEnv resolves env:, the environment variables of the workload's commands.
func withEnv(entry strictyaml.Node, pack *workload.Pack) *workload.Pack {
	at, given := entry.Get("env")
	if !given {
		return pack
	}
	var env map[string]string
	at.Decode(&env)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !IsVariable(name) {
			at.At(name).ProblemAtKey("env: %q is not a valid name of a variable: use letters, digits and _", name)
		}
		list = append(list, name+"="+env[name])
	}
	with := pack.WithEnv(list)
	return &with
}

// resolvePlaces resolves place:, where the roles of a pack run.
func resolvePlaces(pairs settings, pack *workload.Pack, hosts map[string]Host) map[string]workload.Role {
	roles := maps.Clone(pack.Roles)
	if roles == nil {
		roles = map[string]workload.Role{}
	}
	known := pack.RoleNames()
	for _, p := range pairs {
		if p.Key != "place" {
			continue
		}
		for _, at := range p.Value.Pairs() {
			place, on := readPlace(at.Value, hosts)
			switch role, listed := roles[at.Key]; {
			case !slices.Contains(known, at.Key):
				at.Value.ProblemAtKey("workload %s: %s", pack.Name, strictyaml.Unknown("role", at.Key, known))
			case !slices.Contains(workload.Places, place):
				switch _, host := hosts[place]; {
				case host && pack.HasServer(at.Key):
					at.Value.Problemf("%s is a host of the study; did you mean {apart: [%s]}?", place, place)
				case host:
					at.Value.Problemf("%s is a host of the study; did you mean {host: %s}?", place, place)
				case place != "": // else it was reported already
					at.Value.Problemf("%s", strictyaml.Unknown("place", place, workload.Places))
				}
			case listed && role.Count != "" && place != workload.Apart:
				at.Value.Problemf("role %s of workload %s has several instances, so it is always apart", at.Key, pack.Name)
			case place == workload.OnHost && pack.HasServer(at.Key):
				at.Value.Problemf("role %s of workload %s is a server: its environment is measured, so it cannot run on the host", at.Key, pack.Name)
			default:
				role.Place, role.Hosts = place, on
				roles[at.Key] = role
			}
		}
	}
	if len(roles) == 0 {
		return nil
	}
	return roles
}

// packOf finds the pack that an entry uses: a built-in one by its name, or a file
// by its path, which has a slash or ends in .yaml.
func packOf(entry strictyaml.Node, file *File, problems *strictyaml.Problems) *workload.Pack {
	if !entry.IsMapping() {
		entry.Problemf("write a workload as - use: NAME")
		return nil
	}
	at, given := entry.Get("use")
	if !given {
		entry.Problemf("use: is missing; it names a workload: %s", strings.Join(workload.Names(), ", "))
		return nil
	}
	var use string
	at.Decode(&use)
	var pack *workload.Pack
	var err error
	if own := file.packs[use]; own != nil {
		return own
	}
	if strictyaml.IsPath(use) {
		use = strictyaml.In(file.directory, use)
	}
	pack, err = workload.Find(use)
	var inPack strictyaml.Problems
	if errors.As(err, &inPack) {
		*problems = append(*problems, inPack...)
		return nil
	}
	if err != nil {
		at.Problemf("use: %s", err)
		return nil
	}
	return pack
}

// derived are the metrics that do not come from the driver's output: the time until
// a server answered, and the processor time of the whole environment, or the cost
// of operations where they are counted.
func derived(p *workload.Pack, levels []Level, costs []cost.Cost) []workload.Metric {
	spent := []workload.Metric{{Name: workload.CPUSeconds, Unit: "s", Better: "lower", About: "CPU time of the whole environment"}}
	switch {
	case p.Startup:
		spent[0].About = "CPU time of the instance's own processes until the agent's first message, without an engine's daemons"
	case p.Operations != "":
		spent = costMetrics(costs)
	default:
		whole := lists.Filter(costs, func(c cost.Cost) bool { return c.Whole })
		spent = append(spent, costMetrics(whole)...)
	}
	if p.Startup && slices.ContainsFunc(levels, func(l Level) bool { return l.Instances > 1 }) {
		return append([]workload.Metric{{Name: workload.StartAll, Unit: "s", Better: "lower", About: "until the agent of the last of the instances that start together sent its first message"}}, spent...)
	}
	asked := func(m workload.Metric) bool { return m.FieldName() == workload.ReadySeconds }
	if len(p.Servers) == 0 || slices.ContainsFunc(p.Metrics, asked) {
		return spent
	}
	return append([]workload.Metric{{Name: workload.ReadySeconds, Unit: "s", Better: "lower", About: "from the start of the server to its first answer"}}, spent...)
}

// NeighbourRole is the entry of pin: that applies to all steps of neighbours;
// without it the entries of their own roles apply.
const NeighbourRole = "neighbour"

// HasNeighbours says whether any level has neighbours.
func (w Workload) HasNeighbours() bool {
	return slices.ContainsFunc(w.Levels, func(l Level) bool { return l.Neighbours > 0 })
}

// resolveNeighbour resolves what the neighbours run: the workload that the entry
// names, or the measured one.
func (w *Workload) resolveNeighbour(entry strictyaml.Node, pairs settings, file *File, problems *strictyaml.Problems) {
	at := pairs.at("neighbour")
	if !w.HasNeighbours() {
		if at.Exists() {
			at.Problemf("neighbour: has no effect without neighbours: set their number, such as neighbours: 2")
		}
		return
	}
	same := w.Pack
	w.Neighbour = &same // unless another one is named
	switch {
	case w.Pack.FromStart():
		entry.Problemf("neighbours: workload %s measures the start of instances, so it cannot have neighbours", w.Pack.Name)
		return
	case !at.Exists():
		for i := range w.Levels {
			if w.Levels[i].Neighbours > 0 {
				w.Levels[i].Neighbour = w.Levels[i].Parameters
			}
		}
		return
	}
	pack := packOf(at, file, problems)
	if pack == nil {
		return
	}
	if pack.Startup {
		at.Problemf("neighbour: workload %s has no driver that could run as a neighbour", pack.Name)
		return
	}
	var own []strictyaml.Pair
	for _, p := range at.Pairs() {
		if p.Key != "use" && (slices.Contains(workload.Reserved, p.Key) || slices.Contains(workload.SoftReserved, p.Key) && !pack.Has(p.Key)) {
			p.Value.ProblemAtKey("neighbour: %s: not possible for neighbours: their pack defines how they run, and neighbours: their number", p.Key)
			continue
		}
		own = append(own, p)
	}
	levels := resolveLevels(own, pack)
	if len(levels) != 1 {
		at.Problemf("neighbour: has several levels; give each of its parameters one value, and sweep only neighbours:")
		return
	}
	for i := range w.Levels {
		if w.Levels[i].Neighbours > 0 {
			w.Levels[i].Neighbour = levels[0].Parameters
		}
	}
	w.Neighbour = pack
}

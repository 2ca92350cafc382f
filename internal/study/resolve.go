package study

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/parity"
	"tare/internal/stats"
)

// Overrides are values of a command line that replace those of the file. The zero
// value changes nothing.
type Overrides struct {
	Blocks int           // exactly so many
	Budget time.Duration // in place of the file's
	// Only names the environments and workloads to keep; where it names none of
	// one sort, all of that sort are kept. The baseline is always kept.
	Only []string
	Seed *uint64 // nil draws one
	// Scale is one of the study's scales; "" is the study as it is written.
	Scale string
	// Parallel is how many nodes work at the same time; 0 is what the file says.
	Parallel int
}

// Resolve makes the plan of a study. The error about a file is a
// strictyaml.Problems with every problem found in it.
func Resolve(file *File, over Overrides) (*Plan, error) {
	var problems strictyaml.Problems
	root, err := strictyaml.Parse(file.Origin, file.Source, &problems)
	if err != nil {
		return nil, err
	}
	if err := strictyaml.Unfinished(file.Origin, file.Source); err != nil {
		return nil, err
	}
	return resolve(root, file, over, &problems)
}

// resolve makes the plan of a document, which was read from a file or composed.
func resolve(root strictyaml.Node, file *File, over Overrides, problems *strictyaml.Problems) (*Plan, error) {
	var d document
	root.Decode(&d)
	plan := &Plan{Format: 1, Study: d.Study, Name: file.Name, Origin: file.Origin, Baseline: d.Baseline}
	if d.Study == "" {
		root.At("study").Problemf("study: is missing; it is the title of the report")
	}
	plan.Scale = over.Scale
	for _, p := range d.Scales.Pairs() {
		plan.Scales = append(plan.Scales, p.Key)
	}
	scaled, err := resolveScale(d.Scales, over.Scale)
	if err != nil {
		return nil, err
	}
	if over.Scale != "" {
		plan.Name, plan.Study = plan.Name+"-"+over.Scale, plan.Study+" (scale "+over.Scale+")"
	}
	limitsAt, designAt := root.At("limits"), root.At("design")
	if scaled.Limits.Exists() {
		scaled.Limits.Decode(&d.Limits)
		limitsAt = scaled.Limits.Node
	}
	if scaled.Design.Exists() {
		if d.Design == nil {
			d.Design = &designSection{}
		}
		scaled.Design.Decode(d.Design)
		designAt = scaled.Design.Node
	}
	plan.Limits, plan.Pin = d.Limits.resolve(limitsAt)
	plan.Hosts = resolveHosts(d.Hosts)
	plan.Secret = resolveSecret(d.Secret, file.directory)
	plan.Mounts, plan.Inputs = resolveBring(d.Mounts, d.Inputs, file.directory)
	plan.Environments = resolveEnvironments(root, d.Environments, scaled.Environments, plan.Limits, plan.Hosts, file.directory)
	plan.Baseline = resolveBaseline(root, d.Baseline, plan.Environments)
	design := d.Design.resolve(designAt)
	plan.Design = design.Design
	plan.AutoPin = d.Limits.Pin.word == "auto" || d.Limits.Pin.word == "" && plan.Pin == nil && plan.Design.Order == Alternating
	var recipes []recipe.Recipe
	plan.Sampling = d.Sampling.resolve(root.At("sampling"))
	if plan.Price = d.Price; d.Price != nil {
		validate(root.At("price"), d.Price)
	}
	plan.Accept = d.Accept
	for i, name := range plan.Accept {
		if known := parity.Builtin().Confounds(); !slices.Contains(known, name) {
			root.At("accept", i).Problemf("accept: %s", strictyaml.Unknown("confound", name, known))
		}
	}
	plan.Workloads, recipes = resolveWorkloads(root, d.Workloads, scaled.Workloads, file, design.fresh, plan.Hosts, plan.costs(), problems)
	checkScales(d.Scales, plan)
	plan.resolveWith(d.Environments, scaled.Environments)
	plan.shareLoads()
	if slices.ContainsFunc(plan.Workloads, Workload.Loaded) && plan.Design.Order != Alternating {
		designAt.At("order").Problemf("load: the rate of all environments follows from the baseline's search, so it needs order: %s", Alternating)
	}
	kept := plan.only(over.Only)
	checkPorts(root, scaled.Environments, kept)
	checkMounts(root, kept)
	checkLimits(root, kept)
	checkRoles(limitsAt.At("pin"), plan.Pin, plan.Workloads)
	plan.Image = d.Image.resolve(root.At("image"), recipes, file.directory)
	plan.Images = roleImages(root, plan)
	checkApplications(root, plan, plan.only(over.Only))
	checkNames(root, plan.only(over.Only))
	resolveNodes(root, d.Nodes, d.Parallel, plan)
	checkEntrypoints(root, plan)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if err := over.apply(plan); err != nil {
		return nil, err
	}
	return plan, nil
}

func (o Overrides) apply(plan *Plan) error {
	if o.Blocks < 0 || o.Budget < 0 {
		return fmt.Errorf("blocks and budget must not be negative")
	}
	if o.Blocks > 0 {
		plan.Design.Blocks = Blocks{Min: o.Blocks, Max: o.Blocks, Fixed: true}
	}
	if o.Budget > 0 {
		plan.Design.Budget = o.Budget
		if b := plan.Design.Blocks; o.Blocks == 0 && b.Fixed && b.Max < stats.LeastLook {
			plan.Design.Blocks = Blocks{Min: stats.LeastLook, Max: stats.MostLook} // so few decide nothing
		}
	}
	if o.Seed != nil {
		plan.Seed = *o.Seed
	} else {
		plan.Seed = drawSeed()
	}
	if o.Parallel > 0 {
		if err := plan.SetParallel(o.Parallel); err != nil {
			return err
		}
	}
	if err := plan.keepOnly(o.Only); err != nil {
		return err
	}
	if d := &plan.Design; d.Order == Alternating && len(plan.Environments) == 1 { // with nothing
		d.Order, d.Rounds, d.RoundsChosen, d.Waiting = "interleaved", 0, false, ""
	}
	return nil
}

// drawSeed draws a number below 2^53, which every reader of JSON reads exactly.
func drawSeed() uint64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // documented never to happen
	}
	return binary.LittleEndian.Uint64(b[:]) >> 11
}

// only is the plan with what the names keep, for checks that must not report what
// is left out.
func (p *Plan) only(names []string) *Plan {
	kept := *p
	kept.Environments, kept.Workloads = slices.Clone(p.Environments), slices.Clone(p.Workloads)
	_ = kept.keepOnly(names) // an unknown name is reported where the names are applied
	return &kept
}

// Knows returns an error for a name that is neither an environment's nor a
// workload's.
func (p *Plan) Knows(names []string) error {
	all := append(environmentNames(p.Environments), p.workloadNames()...)
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("only: %s", strictyaml.Unknown("environment or workload", name, all))
		}
	}
	return nil
}

func (p *Plan) keepOnly(only []string) error {
	if err := p.Knows(only); err != nil {
		return err
	}
	named := func(name string) bool { return slices.Contains(only, name) }
	environments := lists.Filter(environmentNames(p.Environments), named)
	workloads := lists.Filter(p.workloadNames(), named)
	if len(environments) > 0 {
		p.Environments = slices.DeleteFunc(p.Environments, func(e Environment) bool {
			return e.Name != p.Baseline && !slices.Contains(environments, e.Name)
		})
	}
	if workloads = p.withSearches(workloads); len(workloads) > 0 {
		p.Workloads = slices.DeleteFunc(p.Workloads, func(w Workload) bool { return !slices.Contains(workloads, w.Name) })
		for _, e := range p.Environments {
			maps.DeleteFunc(e.With, func(name string, _ map[string]string) bool { return !slices.Contains(workloads, name) })
		}
	}
	return nil
}

var roleName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func (l limitsSection) resolve(at strictyaml.Node) (environment.Limits, map[string][]int) {
	limits := environment.Limits{CPUs: l.CPUs, Memory: l.Memory, PIDs: l.PIDs, IO: l.IO}
	if l.CPUs < 0 {
		at.At("cpus").Problemf("cpus: must not be negative")
	}
	if l.PIDs < 0 {
		at.At("pids").Problemf("pids: must not be negative")
	}
	validate(at.At("io"), &l.IO)
	for role, cores := range l.Pin.roles {
		if !roleName.MatchString(role) {
			at.At("pin", role).ProblemAtKey("%q is not a valid name of a role: use lower-case letters, digits and dashes", role)
		}
		if len(cores) == 0 {
			at.At("pin", role).Problemf("role %s has no cores; remove the role to let it run on all cores", role)
		}
		for i, c := range cores {
			if c < 0 || c > 4095 {
				at.At("pin", role, i).Problemf("there is no core %d", c)
			}
		}
		limits.Cores = append(limits.Cores, cores...)
	}
	slices.Sort(limits.Cores)
	limits.Cores = slices.Compact(limits.Cores)
	return limits, l.Pin.roles
}

// checkLimits reports limits that instances of an environment cannot have.
func checkLimits(root strictyaml.Node, plan *Plan) {
	for _, e := range plan.Environments {
		cannot := e.Capabilities().CannotLimit
		if cannot == nil {
			continue
		}
		for _, err := range cannot(e.Limits) {
			root.At("environments", e.Name).ProblemAtKey("%s: %s", e.Name, err)
		}
	}
}

// checkRoles reports a mistyped role: one that no pack has.
func checkRoles(at strictyaml.Node, pin map[string][]int, workloads []Workload) {
	roles := []string{"server", "driver"}
	for _, w := range workloads {
		roles = append(roles, w.Pack.RoleNames()...)
		if w.Neighbour != nil {
			roles = append(append(roles, w.Neighbour.RoleNames()...), NeighbourRole)
		}
	}
	slices.Sort(roles)
	roles = slices.Compact(roles)
	for role := range pin {
		if !slices.Contains(roles, role) {
			at.At(role).ProblemAtKey("%s", strictyaml.Unknown("role", role, roles))
		}
	}
}

func resolveBaseline(root strictyaml.Node, name string, environments []Environment) string {
	names := environmentNames(environments)
	switch {
	case slices.Contains(names, name), len(names) == 0:
	case name != "":
		root.At("baseline").Problemf("baseline: %s", strictyaml.Unknown("environment", name, names))
	case slices.Contains(names, "native"):
		return "native"
	default:
		root.Problemf("baseline: is missing; name the environment that the others are compared with: %s", strings.Join(names, ", "))
	}
	return name
}

func (s imageSection) resolve(at strictyaml.Node, recipes []recipe.Recipe, directory string) image.Source {
	additions := s.Recipe
	if s.Reference != "" {
		if additions.Suite != "" || len(additions.Packages)+len(additions.Files)+len(additions.Commands) > 0 {
			at.Problemf("image: has a reference and a recipe; a referenced image is used unchanged, so add what is missing to that image")
		}
		return image.Source{Reference: s.Reference}
	}
	err := additions.ReadFiles(directory)
	if err == nil {
		err = additions.Validate()
	}
	if err != nil {
		at.Problemf("image: %s", err)
		return image.Source{}
	}
	merged, err := recipe.Merge(append(recipes, additions)...)
	if err != nil {
		at.Problemf("image: %s", err)
	}
	return image.Source{Recipe: &merged}
}

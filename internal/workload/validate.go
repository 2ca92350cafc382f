package workload

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/strictyaml"
	"tare/internal/workload/parse"
)

// The allowed values of a pack's keys.
var (
	stresses = []string{"cpu", "memory", "syscalls", "disk", "network", "start"}
	betters  = []string{"lower", "higher"}
	freshes  = []string{"trial", "block", "run"}
	acrosses = []string{"sum", "mean", "max", "p50", "p95", "p99"}
	signals  = []string{"SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGKILL"}

	packName   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	plainName  = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	roleName   = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	metricName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// Reserved are names that parameters cannot have, since studies have keys with
// these names next to a pack's parameters.
var Reserved = []string{"use", "as", "server", "env", "arguments", "fresh", "place", "instances", "starting", "neighbours", "neighbour", "sample", "find", "objective", "load"}

// SoftReserved are keys of studies that packs may have as parameters, since packs are older
// than the keys: where a pack has one, it is the parameter.
var SoftReserved = []string{"pause", "total", "image"}

// runtime are the names of InstanceVars, which parameters cannot have.
var runtime = []string{"address", "addresses", "index"}

// The metrics that tare adds. A pack cannot have metrics with these names.
const (
	CPUSeconds = "cpu_seconds" // s, if the pack counts no operations; otherwise see package cost
	// ReadySeconds is the time from a server's start until it is ready.
	ReadySeconds = "ready_seconds"
)

// Capacity is the metric of a search for the highest rate, and the word that asks for it.
const Capacity = "capacity"

// The fields that tare measures of the driver, independent of its output.
const (
	WallSeconds   = "wall_seconds"   // s, by the instance's monotonic clock
	UserSeconds   = "user_seconds"   // s of CPU time, of the driver and its children
	SystemSeconds = "system_seconds" // s of CPU time, of the driver and its children
	MaxRSS        = "max_rss"        // B, of the largest process among them
)

// MemoryMean is the mean memory of the whole environment without the page cache, in B.
const MemoryMean = "memory_mean"

// Measured lists those fields; any pack may have metrics of them.
var Measured = []string{WallSeconds, UserSeconds, SystemSeconds, MaxRSS, ReadySeconds, MemoryMean}

// StartAll is the time until the last of several instances, started at the same
// time, is ready.
const StartAll = "start_all" // s

// The fields of packs that measure starts, of all instances that were started at
// the same time.
const (
	StartRate    = "rate"          // instances per second, until the last one is ready
	StartCPU     = "cpu_per_start" // s, of an instance's processes
	IdleMemory   = "memory"        // B, sum over idle instances, measured on the host
	HostMemory   = "memory_host"   // B, decrease of the host's available memory
	IdleCPU      = "idle_cpu"      // s per second, of all idle instances
	StartSeconds = "start"         // s, of one instance
)

// The fields of the rest of a short job's life, whose instances are stopped at once.
const (
	JobSeconds    = "job"    // s, the command true, by the host's clock
	StopSeconds   = "stop"   // s, until all that ran in the instance has exited
	RemoveSeconds = "remove" // s, from then until nothing of the instance is left
	LifeSeconds   = "life"   // s, the sum of StartSeconds and these
)

// EndFields lists them.
var EndFields = []string{JobSeconds, StopSeconds, RemoveSeconds, LifeSeconds}

// startFields are the fields of a start; restFields need measurements of idle
// instances.
var (
	startFields = []string{StartSeconds, "engine", "kernel", "agent", StartRate, StartCPU}
	restFields  = []string{IdleMemory, HostMemory, IdleCPU}
)

// longestSetup is the most that data and servers may be said to take.
const longestSetup = 24 * time.Hour

// validate reports the errors of a pack, except those of its values' types.
func validate(p *Pack, root strictyaml.Node) {
	if !packName.MatchString(p.Name) {
		root.At("workload").Problemf("workload: %q is not a valid name: use lower-case letters, digits and single dashes", p.Name)
	}
	oneOf(root, "stresses", p.Stresses, stresses, true)
	oneOf(root, "fresh", p.Fresh, freshes, false)
	if p.SetupTime < 0 || p.SetupTime > longestSetup {
		root.At("setup_time").Problemf("setup_time: needs a length up to %v, such as 16s", longestSetup)
	}
	validateParameters(p, root)
	validateRoles(p, root)
	validateSteps(p, root)
	validatePaths(p, root, "touches", p.Touches)
	validatePaths(p, root, "configuration", p.Configuration)
	validateLength(p, root)
	validateOpenLoop(p, root)
	validateParser(p, root)
	validateMetrics(p, root)
}

func oneOf(at strictyaml.Node, key, value string, known []string, must bool) {
	if value == "" && must {
		at.At(key).Problemf("%s: is missing; one of %s", key, strings.Join(known, ", "))
	} else if value != "" && !slices.Contains(known, value) {
		at.At(key).Problemf("%s", strictyaml.Unknown(key, value, known))
	}
}

// count is how many are true.
func count(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

func validateParameters(p *Pack, root strictyaml.Node) {
	for name, parameter := range p.Parameters {
		at := root.At("parameters", name)
		if !plainName.MatchString(name) {
			at.ProblemAtKey("%q is not a valid parameter name: use lower-case letters, digits and _", name)
		}
		if slices.Contains(Reserved, name) {
			at.ProblemAtKey("a parameter cannot be named %q: studies have a key with this name", name)
		}
		if slices.Contains(runtime, name) {
			at.ProblemAtKey("a parameter cannot be named %q: it is a variable of the instance", name)
		}
		if len(parameter.Values) > 0 && (parameter.Min != nil || parameter.Max != nil) {
			at.Problemf("parameter %s has both values and a range; set one of them", name)
		}
		if parameter.Min != nil && parameter.Max != nil && *parameter.Min > *parameter.Max {
			at.At("min").Problemf("parameter %s: min is above max", name)
		}
		for i, v := range parameter.Values {
			if !plainWord.MatchString(v) {
				at.At("values", i).Problemf("%q is not a plain word", v)
			}
		}
		if parameter.Form != "" && (parameter.Form != PageForm || parameter.Unit != "" || parameter.Min != nil || parameter.Max != nil || len(parameter.Values) > 0) {
			at.At("form").Problemf("parameter %s: form: the only one is %s, the path of a page, without unit, range and values", name, PageForm)
		}
		if err := parameter.Check(parameter.Default); err != nil {
			at.At("default").Problemf("parameter %s, default: %s", name, err)
		}
	}
	known := p.Defaults()
	maps.Copy(known, InstanceVars{}.texts(p.RoleNames()))
	p.rewrite(func(path []any, text string) string {
		if _, err := substitute(text, known); err != nil {
			root.At(path...).Problemf("%s", err)
		}
		return text
	})
}

func validateSteps(p *Pack, root strictyaml.Node) {
	p.eachStep(func(s Step, at ...any) Step {
		validateStep(s, root.At(at...))
		return s
	})
	switch {
	case p.Startup && (p.Driver != nil || len(p.Servers) > 0):
		root.At("startup").Problemf("startup: a pack that measures the start cannot have a driver or servers")
	case !p.Startup && p.Rest != "":
		root.At("rest").Problemf("rest: only a pack with startup: true measures idle instances")
	case !p.Startup && p.Driver == nil:
		root.Problemf("driver: is missing; it is the measured command")
	}
	for i, server := range p.Servers {
		validateServer(server, root.At("servers", i))
	}
}

func validateServer(server Server, at strictyaml.Node) {
	oneOf(at, "stop", server.Stop, signals, false)
	ready := count(server.Ready.TCP != "", server.Ready.HTTP != "", server.Ready.Unix != "", len(server.Ready.Exec) > 0)
	if ready != 1 {
		at.At("ready").Problemf("ready: needs exactly one of tcp, http, unix and exec, has %d", ready)
	}
	// What has parameters is known when they are filled in.
	if tcp := server.Ready.TCP; tcp != "" && !strings.Contains(tcp, "${") {
		_, port, err := net.SplitHostPort(tcp)
		if _, number := strconv.ParseUint(port, 10, 16); err != nil || number != nil {
			at.At("ready", "tcp").Problemf("tcp: %s is not ADDRESS:PORT, such as ${address}:6379", strictyaml.Quoted(tcp))
		}
	}
	if url := server.Ready.HTTP; url != "" && !strings.Contains(url, "${") && !strings.HasPrefix(url, "http://") {
		at.At("ready", "http").Problemf("http: %s is not http://ADDRESS:PORT/PATH", strictyaml.Quoted(url))
	}
}

func validateRoles(p *Pack, root strictyaml.Node) {
	for name, role := range p.Roles {
		at := root.At("roles", name)
		if !roleName.MatchString(name) {
			at.ProblemAtKey("%q is not a valid role name: use lower-case letters, digits and dashes", name)
		}
		if !slices.ContainsFunc(p.steps(), func(s Step) bool { return s.Role == name }) {
			at.ProblemAtKey("no step has the role %s", name)
		}
		oneOf(at, "place", role.Place, Places, false)
		oneOf(at, "image", role.Image, []string{OwnImage}, false)
		if role.Count != "" && role.Place != Apart {
			at.At("count").Problemf("count: a role with several instances needs place: apart")
		}
	}
	if p.Driver != nil && p.Roles[p.Driver.Role].Count != "" {
		root.At("driver").Problemf("the driver runs once, and its role %s has a count", p.Driver.Role)
	}
	if with, err := p.With(nil, InstanceVars{}); err == nil {
		if _, err := with.RestTime(); err != nil {
			root.At("rest").Problemf("%s", err)
		}
		for name := range p.Roles {
			if _, err := with.Count(name); err != nil {
				root.At("roles", name, "count").Problemf("%s", err)
			}
			if _, err := with.Cores(name); err != nil {
				root.At("roles", name, "cores").Problemf("%s", err)
			}
		}
	}
}

func validatePaths(p *Pack, root strictyaml.Node, key string, list []RolePath) {
	for i, at := range list {
		node := root.At(key, i)
		if !strings.HasPrefix(at.Path, "/") && !strings.HasPrefix(at.Path, "${") {
			node.At("path").Problemf("path: %q does not begin with a slash", at.Path)
		}
		if at.Role != "" && !slices.Contains(p.RoleNames(), at.Role) {
			node.At("role").Problemf("%s", strictyaml.Unknown("role", at.Role, p.RoleNames()))
		}
		if slices.Index(list, at) < i {
			node.Problemf("%s is listed twice", at.Path)
		}
	}
}

func validateStep(s Step, at strictyaml.Node) {
	switch given := count(s.Run != "", len(s.Argv) > 0, s.Entrypoint); {
	case given != 1:
		at.Problemf("a step needs exactly one of run (a shell command line), argv (a list) and entrypoint: true (the image's own command), has %d", given)
	case s.Entrypoint && (s.User != "" || s.Dir != ""):
		at.At("entrypoint").Problemf("entrypoint: the image says the user and the directory; leave out user and dir, or write the command with argv")
	}
	if s.Role != "" && !roleName.MatchString(s.Role) {
		at.At("role").Problemf("%s is not a valid role name: use lower-case letters, digits and dashes", strictyaml.Quoted(s.Role))
	}
	for i, e := range s.Env {
		if key, _, ok := strings.Cut(e, "="); !ok || key == "" {
			at.At("env", i).Problemf("%q is not KEY=VALUE", e)
		}
	}
}

func validateParser(p *Pack, root strictyaml.Node) {
	at := root.At("parser")
	given := count(p.Parser.Name != "", len(p.Parser.Regex) > 0, p.Parser.JSON, p.Parser.CSV)
	if p.Startup {
		if given > 0 {
			at.Problemf("parser: a pack that measures the start has no output to parse")
		}
		return
	}
	if given == 0 && p.onlyMeasured() {
		return
	}
	if given != 1 {
		at.Problemf("parser: needs exactly one of name, regex, json and csv, has %d", given)
	}
	if p.Parser.Name != "" && !slices.Contains(parse.Names(), p.Parser.Name) {
		at.At("name").Problemf("%s", strictyaml.Unknown("parser", p.Parser.Name, parse.Names()))
	}
	seen := map[string]bool{}
	for i, text := range p.Parser.Regex {
		pattern, err := regexp.Compile(text)
		if err != nil {
			at.At("regex", i).Problemf("%s", err)
			continue
		}
		named := 0
		for _, name := range pattern.SubexpNames() {
			if name == "" {
				continue
			}
			if named++; seen[name] {
				at.At("regex", i).Problemf("group %q is defined twice", name)
			}
			seen[name] = true
		}
		if named == 0 {
			at.At("regex", i).Problemf("the expression has no named group; write (?P<name>...) around the value")
		}
	}
}

// fields lists the fields of the parser and the measured ones, and reports whether
// the list is complete.
func (p *Pack) fields() ([]string, bool) {
	if p.Startup {
		return slices.Concat(startFields, restFields, EndFields), true
	}
	names := slices.Clone(Measured)
	if named, ok := parse.Lookup(p.Parser.Name); ok {
		return append(names, named.FieldNames()...), true
	}
	for _, text := range p.Parser.Regex {
		if pattern, err := regexp.Compile(text); err == nil {
			for _, name := range pattern.SubexpNames() {
				if name != "" {
					names = append(names, name)
				}
			}
		}
	}
	sort.Strings(names)
	return names, !p.Parser.JSON && !p.Parser.CSV
}

// gives says whether the built-in parser has the field in one of its families.
func (p *Pack) gives(field string) bool {
	named, ok := parse.Lookup(p.Parser.Name)
	return ok && named.HasField(field)
}

// CheckMetricName returns an error for a name that a metric of a command line cannot have.
func CheckMetricName(name string) error {
	switch {
	case !metricName.MatchString(name):
		return fmt.Errorf("%q is not a valid metric name: use lower-case letters, digits and _", name)
	case slices.Contains(Measured, name) || (Metric{Name: name}).derived():
		return fmt.Errorf("tare adds a metric %q; choose another name", name)
	}
	return nil
}

func validateMetrics(p *Pack, root strictyaml.Node) {
	if len(p.Metrics) == 0 {
		root.At("metrics").Problemf("metrics: is missing; at least one is needed")
	}
	fields, known := p.fields()
	var names []string
	primaries := 0
	for i, m := range p.Metrics {
		at := root.At("metrics", i)
		switch {
		case !metricName.MatchString(m.Name):
			at.At("name").Problemf("%q is not a valid metric name: use lower-case letters, digits and _", m.Name)
		case slices.Contains(names, m.Name):
			at.At("name").Problemf("metric %q is defined twice", m.Name)
		case m.derived():
			at.At("name").Problemf("tare adds a metric %q; choose another name", m.Name)
		}
		names = append(names, m.Name)
		if m.Unit == "" {
			at.Problemf("metric %s: unit: is missing; 1 for a plain count", m.Name)
		}
		oneOf(at, "better", m.Better, betters, true)
		oneOf(at, "across", m.Across, acrosses, false)
		p.validatePercentile(m, at)
		if known && !slices.Contains(fields, m.FieldName()) && !p.gives(m.FieldName()) && (m.Of == "" || m.Field != "") {
			at.At("field").Problemf("metric %s: %s", m.Name, strictyaml.Unknown("field of the parser", m.FieldName(), fields))
		}
		if err := parse.CheckPath(m.FieldName()); p.Parser.JSON && m.FromOutput() && err != nil {
			at.At("field").Problemf("metric %s: field: %s", m.Name, err)
		}
		if other, ok := p.otherParser(); ok && m.Primary && m.FromOutput() && !other.HasField(m.FieldName()) && !slices.Contains(other.DistributionNames(), m.Of) {
			at.At("field").Problemf("metric %s is primary, and the parser %s of length has no field %s", m.Name, other.Name, m.FieldName())
		}
		if p.Startup && p.Rest == "" && slices.Contains(restFields, m.FieldName()) {
			at.At("field").Problemf("metric %s: idle instances are measured only if rest: is set", m.Name)
		}
		if m.Primary {
			primaries++
		}
	}
	if len(p.Metrics) > 0 && primaries == 0 {
		root.At("metrics").Problemf("metrics: none is primary; mark the one that decides")
	}
	if p.Operations != "" && !slices.Contains(names, p.Operations) {
		root.At("operations").Problemf("%s", strictyaml.Unknown("metric", p.Operations, names))
	}
}

// validatePercentile checks the keys of a metric that is a percentile.
func (p *Pack) validatePercentile(m Metric, at strictyaml.Node) {
	switch {
	case m.Percentile == nil && m.Of != "":
		at.At("of").Problemf("metric %s: of needs percentile, the percentile of the distribution", m.Name)
		return
	case m.Percentile == nil:
		return
	case *m.Percentile < 0 || *m.Percentile > 100:
		at.At("percentile").Problemf("metric %s: percentile: %g is not between 0 and 100", m.Name, *m.Percentile)
	case m.Across != "":
		at.At("across").Problemf("metric %s: across has no effect on a percentile: what all copies count is taken together", m.Name)
	case !m.FromOutput() || p.Startup:
		at.At("percentile").Problemf("metric %s: percentile is for values from the driver's output", m.Name)
	}
	if m.Of == "" {
		return
	}
	named, ok := parse.Lookup(p.Parser.Name)
	switch other, _ := p.otherParser(); {
	case ok:
		if known := slices.Concat(named.DistributionNames(), other.DistributionNames()); !slices.Contains(known, m.Of) {
			at.At("of").Problemf("metric %s: %s", m.Name, strictyaml.Unknown("distribution of the parser", m.Of, known))
		}
	case p.Parser.JSON:
		if err := parse.CheckPath(m.Of); err != nil {
			at.At("of").Problemf("metric %s: of: %s", m.Name, err)
		}
	case len(p.Parser.Regex) > 0:
		if pattern, err := regexp.Compile(m.Of); err != nil {
			at.At("of").Problemf("metric %s: %s", m.Name, err)
		} else if pattern.SubexpIndex("value") < 0 {
			at.At("of").Problemf("metric %s: the expression has no group for the values; write (?P<value>...) around each", m.Name)
		}
	}
}

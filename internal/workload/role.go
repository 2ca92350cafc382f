package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/stats"
)

// maxInstances bounds the count of a role; a larger one is a typing error.
const maxInstances = 1000

// maxCores is what Linux can be built for.
const maxCores = 8192

// InstanceVars are the variables of an instance for a pack's commands: ${address}
// is its address, ${index} its number among the instances of its role,
// ${address.ROLE} the address of a role's first instance and ${addresses.ROLE} all
// of them, separated by commas. Without Roles all roles run in one instance, at its
// address; "" is the loopback's.
type InstanceVars struct {
	Address string
	Index   int
	Roles   map[string][]string // addresses of each role's instances
}

// loopback is the address of servers that are not exposed.
const loopback = "127.0.0.1"

func (s InstanceVars) texts(roles []string) map[string]string {
	own := cmp.Or(s.Address, loopback)
	texts := map[string]string{"address": own, "index": strconv.Itoa(max(s.Index, 1))}
	for _, role := range roles {
		addresses := s.Roles[role]
		if len(addresses) == 0 {
			addresses = []string{own}
		}
		texts["address."+role] = addresses[0]
		texts["addresses."+role] = strings.Join(addresses, ",")
	}
	return texts
}

// RoleNames returns the sorted names of all roles, listed or named by a step.
func (p Pack) RoleNames() []string {
	names := map[string]bool{}
	for name := range p.Roles {
		names[name] = true
	}
	for _, s := range p.steps() {
		if s.Role != "" {
			names[s.Role] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// steps returns all steps of the pack, without the driver of Length.
func (p Pack) steps() (all []Step) {
	p.eachStep(func(s Step, at ...any) Step {
		if at[0] != "length" {
			all = append(all, s)
		}
		return s
	})
	return all
}

// References lists the parameters that the command refers to as ${name}.
func (s Step) References() (names []string) {
	for _, text := range slices.Concat([]string{s.Run, s.Dir, s.Stdin, s.User}, s.Argv, s.Env) {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(found[0], "$$") && !slices.Contains(names, found[1]) {
				names = append(names, found[1])
			}
		}
	}
	return names
}

// Place returns the place of a role. Steps without a role run together.
func (p Pack) Place(role string) string {
	if place := p.Roles[role].Place; place != "" {
		return place
	}
	return Together
}

// RoleImage is the name of the image that a role runs in; "" is that of all. The image of
// the pack's recipe is for roles on the host.
func (p Pack) RoleImage(role string) string {
	name := p.Roles[role].Image
	if name == OwnImage && p.Place(role) != OnHost {
		return ""
	}
	return name
}

// InOwnImage reports whether a role runs on the host in an image of the pack's recipe.
func (p Pack) InOwnImage(role string) bool { return p.RoleImage(role) == OwnImage }

// Has reports whether a parameter is the pack's own.
func (p Pack) Has(parameter string) bool {
	_, has := p.Parameters[parameter]
	return has
}

// HasServer reports whether a role has a server.
func (p Pack) HasServer(role string) bool {
	return slices.ContainsFunc(p.Servers, func(s Server) bool { return s.Role == role })
}

// Count returns the number of instances of a role, with the parameters
// substituted.
func (p Pack) Count(role string) (int, error) {
	return p.number(role, "count", p.Roles[role].Count, 1, maxInstances)
}

// Cores returns how many cores a role can use, with the parameters substituted; 0 is
// as many as there are.
func (p Pack) Cores(role string) (int, error) {
	return p.number(role, "cores", p.Roles[role].Cores, 0, maxCores)
}

// number is the text of a role's key as a number from 1 on.
func (p Pack) number(role, key, text string, absent, most int) (int, error) {
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("workload %s, role %s: %s: %q is not a number from 1 to %d", p.Name, role, key, text, most)
	}
	return n, nil
}

// Divide gives each role cores of its own, of those that an instance with all roles may
// use: the driver the last ones, the others the first. Each side has half of them, or
// fewer if the role cannot use as many. The cores of a NUMA node follow each other in cores,
// and in it the hyperthreads of a core, so that no more than one is in both halves. A driver alone has as many as
// its pack says, and is not pinned if the pack does not say it. A role that is not in the
// map runs on all cores.
func (p Pack) Divide(cores []int) map[string][]int {
	names := p.RoleNames()
	together := !slices.ContainsFunc(names, func(role string) bool { return p.Place(role) != Together })
	if p.Driver == nil || !together || len(cores) < 2 {
		return nil
	}
	share := len(cores)
	if len(names) > 1 {
		share /= 2
	}
	pins := map[string][]int{}
	for _, role := range names {
		n := share
		if own, err := p.Cores(role); err == nil && own > 0 {
			n = min(n, own)
		}
		switch {
		case n == len(cores):
		case role == p.Driver.Role:
			pins[role] = slices.Sorted(slices.Values(cores[len(cores)-share:]))[share-n:]
		default:
			pins[role] = slices.Sorted(slices.Values(cores[:share]))[:n]
		}
	}
	return pins
}

// FitsOneCore reports whether driver and servers can share a core, or a driver alone
// uses one, with these parameters. Starts are measured with all cores.
func (p Pack) FitsOneCore(parameters map[string]string) bool {
	filled, err := p.With(parameters, InstanceVars{})
	if err != nil || p.FromStart() {
		return false
	}
	pins := filled.Divide([]int{0, 1}) // of two cores each role has one
	return len(pins) > 0 && len(pins) == len(p.RoleNames())
}

// UsesAddress reports whether the pack refers to an address. Then each copy needs
// its own if instances share the host's network.
func (p Pack) UsesAddress() bool {
	asks := false
	p.rewrite(func(_ []any, text string) string {
		asks = asks || usesAddress(text)
		return text
	})
	return asks
}

// ServersUseAddress reports whether a server, or a step that prepares it, refers to
// an address. If none does, the servers listen where their own configuration says.
func (p Pack) ServersUseAddress() bool {
	steps := slices.Concat(p.Begin, p.Setup)
	for _, s := range p.Servers {
		steps = append(steps, s.Step)
	}
	return slices.ContainsFunc(steps, func(s Step) bool {
		return slices.ContainsFunc(append([]string{s.Run}, slices.Concat(s.Argv, s.Env)...), usesAddress)
	})
}

func usesAddress(text string) bool {
	return slices.ContainsFunc(reference.FindAllStringSubmatch(text, -1), func(found []string) bool {
		name, _, _ := strings.Cut(found[1], ".")
		return !strings.HasPrefix(found[0], "$$") && (name == "address" || name == "addresses")
	})
}

// RestTime returns how long idle instances are measured, with the parameters
// substituted; 0 if they are not.
func (p Pack) RestTime() (time.Duration, error) {
	if p.Rest == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(p.Rest, 64)
	if err != nil || !(seconds > 0) || seconds > maxRest.Seconds() {
		return 0, fmt.Errorf("workload %s: rest: %q is not a number of seconds above 0 and up to %g", p.Name, p.Rest, maxRest.Seconds())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// maxRest bounds the time for which idle instances are measured.
const maxRest = time.Hour

// HasUnassignedSteps reports whether a step has no role, so that it runs together.
func (p Pack) HasUnassignedSteps() bool {
	return slices.ContainsFunc(p.steps(), func(s Step) bool { return s.Role == "" })
}

// Combine aggregates the values of copies that ran at the same time.
func (m Metric) Combine(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	sum := 0.0
	for _, f := range figures {
		sum += f
	}
	switch m.across() {
	case "sum":
		return sum
	case "max":
		return slices.Max(figures)
	case "p50":
		return stats.Quantile(figures, .50)
	case "p95":
		return stats.Quantile(figures, .95)
	case "p99":
		return stats.Quantile(figures, .99)
	}
	return sum / float64(len(figures))
}

// Additive reports whether the aggregate is the sum of the copies' values.
func (m Metric) Additive() bool { return m.across() == "sum" }

func (m Metric) across() string {
	switch {
	case m.Across != "":
		return m.Across
	case m.Better == "higher" && (m.Unit == "op" || m.Unit == "B" || m.Unit == "MiB" || strings.HasSuffix(m.Unit, "/s")):
		return "sum"
	}
	return "mean"
}

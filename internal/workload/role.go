package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/stats"
)

// mostInstances is more than a role needs; beyond it a count was mistyped.
const mostInstances = 1000

// InstanceVars is where commands of a pack run, as far as they can ask for it:
// ${address} is the address of their own instance, ${index} its number among
// those of its role, ${address.ROLE} the address of a role's first instance and
// ${addresses.ROLE} those of all, with commas between. The zero Spot is where
// everything runs in one instance that nobody else reaches.
type InstanceVars struct {
	Address string
	Index   int
	Roles   map[string][]string // the addresses of each role's instances
}

// loopback is where a server listens that only its own instance reaches.
const loopback = "127.0.0.1"

func (s InstanceVars) texts(roles []string) map[string]string {
	texts := map[string]string{"address": s.Address, "index": strconv.Itoa(max(s.Index, 1))}
	if s.Address == "" {
		texts["address"] = loopback
	}
	for _, role := range roles {
		addresses := s.Roles[role]
		if len(addresses) == 0 {
			addresses = []string{loopback}
		}
		texts["address."+role] = addresses[0]
		texts["addresses."+role] = strings.Join(addresses, ",")
	}
	return texts
}

// RoleNames are all roles of the pack, listed or named by a step, sorted.
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

// steps are all commands of the pack.
func (p Pack) steps() []Step {
	steps := slices.Concat(p.Begin, p.End, p.Setup, p.Teardown)
	for _, s := range p.Servers {
		steps = append(steps, s.Step)
	}
	for _, s := range []*Step{p.Warmup, p.Driver} {
		if s != nil {
			steps = append(steps, *s)
		}
	}
	return steps
}

// References lists the parameters that the command has as ${name}.
func (s Step) References() (names []string) {
	for _, text := range slices.Concat([]string{s.Run, s.Dir, s.User}, s.Argv, s.Env) {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(found[0], "$$") && !slices.Contains(names, found[1]) {
				names = append(names, found[1])
			}
		}
	}
	return names
}

// Place is where a role runs; a step without a role runs together.
func (p Pack) Place(role string) string {
	if place := p.Roles[role].Place; place != "" {
		return place
	}
	return Together
}

// HasServer says whether a role has a server.
func (p Pack) HasServer(role string) bool {
	return slices.ContainsFunc(p.Servers, func(s Server) bool { return s.Role == role })
}

// Count is how many instances play a role, once the parameters are in place.
func (p Pack) Count(role string) (int, error) {
	text := p.Roles[role].Count
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostInstances {
		return 0, fmt.Errorf("workload %s, role %s: count: %q is no number from 1 to %d", p.Name, role, text, mostInstances)
	}
	return n, nil
}

// UsesAddress says whether anything of the pack asks for an address: then copies of
// it need one each, where instances share the host's network.
func (p Pack) UsesAddress() bool {
	asks := false
	p.rewrite(func(_ []any, text string) string {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			name, _, _ := strings.Cut(found[1], ".")
			asks = asks || !strings.HasPrefix(found[0], "$$") && (name == "address" || name == "addresses")
		}
		return text
	})
	return asks
}

// RestTime is for how long started instances are watched at rest, once the
// parameters are in place; 0 where they are not.
func (p Pack) RestTime() (time.Duration, error) {
	if p.Rest == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(p.Rest, 64)
	if err != nil || !(seconds > 0) || seconds > mostRest.Seconds() {
		return 0, fmt.Errorf("workload %s: rest: %q is no number of seconds above 0 and up to %g", p.Name, p.Rest, mostRest.Seconds())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// mostRest is longer than anybody watches instances that do nothing.
const mostRest = time.Hour

// HasUnassignedSteps says whether a step has no role, so that it runs together.
func (p Pack) HasUnassignedSteps() bool {
	return slices.ContainsFunc(p.steps(), func(s Step) bool { return s.Role == "" })
}

// Combine makes one figure of those of several copies that ran at once.
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

// Additive says whether the figure grows with the number of copies.
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

package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/study"
	"tare/internal/workload"
)

// shape says which instances a workload needs at a level: how many copies of
// it, and in each an instance for what runs together and the roles that run
// elsewhere.
type shape struct {
	copies   int
	together bool
	roles    []roleShape
}

type roleShape struct {
	name   string
	onHost bool
	count  int
}

// shapeOf reads it from a pack whose parameters are in place.
func shapeOf(pack workload.Pack, level study.Level) (shape, error) {
	s := shape{copies: max(level.Instances, 1), together: pack.Startup || pack.Driver == nil}
	for _, role := range pack.RoleNames() {
		place := pack.Place(role)
		if place == workload.Together {
			s.together = true
			continue
		}
		count, err := pack.Count(role)
		if err != nil {
			return s, err
		}
		s.roles = append(s.roles, roleShape{role, place == workload.OnHost, count})
	}
	s.together = s.together || pack.Unplaced()
	return s, nil
}

// key is the same for two workloads that can use the same instances.
func (s shape) key() string {
	var parts []string
	if s.together {
		parts = append(parts, "one")
	}
	for _, r := range s.roles {
		parts = append(parts, fmt.Sprintf("%s:%d:%t", r.name, r.count, r.onHost))
	}
	return fmt.Sprintf("%d×%s", s.copies, strings.Join(parts, "+"))
}

// meets says whether something in it reaches another instance, so that a
// network between them is needed.
func (s shape) meets() bool { return len(s.roles) > 0 }

// plain says whether it is a single instance.
func (s shape) plain() bool { return s.copies == 1 && len(s.roles) == 0 }

// member is one instance of those that a lease holds.
type member struct {
	environment.Instance
	name   string
	onHost bool // no part of the environment that is measured
	index  int  // among those of its role, from 1
	begun  map[string]bool
	atEnd  []func(context.Context) error
	// Its console's.
	close    func() error
	complain func(error)
}

// cast is who plays which role in one copy of a workload.
type cast struct {
	together *member
	roles    map[string][]*member
}

// of lists the instances that play a role.
func (c cast) of(role string) []*member {
	if apart := c.roles[role]; apart != nil {
		return apart
	}
	return []*member{c.together}
}

// members are all of them, each once.
func (c cast) members() []*member {
	var list []*member
	if c.together != nil {
		list = append(list, c.together)
	}
	for _, role := range sortedRoles(c.roles) {
		list = append(list, c.roles[role]...)
	}
	return list
}

func sortedRoles(roles map[string][]*member) []string {
	var names []string
	for name := range roles {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// spot is where a member's commands run.
func (c cast) spot(m *member, network environment.Network, roles []string) workload.Spot {
	spot := workload.Spot{Index: m.index}
	if network == nil {
		return spot
	}
	spot.Address, spot.Roles = address(m, network), map[string][]string{}
	for _, role := range roles {
		for _, other := range c.of(role) {
			spot.Roles[role] = append(spot.Roles[role], address(other, network))
		}
	}
	return spot
}

// address by which the others reach a member.
func address(m *member, network environment.Network) string {
	if m.onHost {
		return network.Host()
	}
	return m.Address()
}

package trial

import (
	"context"
	"maps"
	"slices"

	"tare/internal/environment"
	"tare/internal/workload"
)

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
	for _, role := range slices.Sorted(maps.Keys(c.roles)) {
		list = append(list, c.roles[role]...)
	}
	return list
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

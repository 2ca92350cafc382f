package trial

import (
	"context"
	"maps"
	"slices"
	"time"

	"tare/internal/environment"
	"tare/internal/workload"
)

// member is one instance of those that a lease holds.
type member struct {
	environment.Instance
	name   string
	onHost bool   // no part of the environment that is measured
	at     string // the host of the study that it is on; "" is where the environment is
	// address by which the others reach it, where hosts lie between them; ""
	// where the network between the instances says it.
	address string
	index   int // among those of its role, from 1
	begun   map[string]bool
	up      time.Time // when it said its first word
	atEnd   []func(context.Context) error
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
func (c cast) spot(m *member, network environment.Network, roles []string) workload.InstanceVars {
	spot := workload.InstanceVars{Index: m.index}
	if network == nil {
		return spot
	}
	// Where ports are published, servers cannot listen where the others reach them.
	own := address(m, network)
	if p, published := m.Instance.(environment.Published); published && !m.onHost {
		own = p.Listen()
	}
	spot.Address, spot.Roles = own, map[string][]string{}
	for _, role := range roles {
		for _, other := range c.of(role) {
			if other == m {
				spot.Roles[role] = append(spot.Roles[role], own)
				continue
			}
			spot.Roles[role] = append(spot.Roles[role], address(other, network))
		}
	}
	return spot
}

// address by which the others reach a member.
func address(m *member, network environment.Network) string {
	switch {
	case m.address != "":
		return m.address
	case m.onHost:
		return network.Host()
	}
	return m.Address()
}

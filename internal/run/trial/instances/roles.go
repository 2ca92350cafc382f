package instances

import (
	"maps"
	"slices"

	"tare/internal/environment"
	"tare/internal/workload"
)

// Roles says which instances play which role in one copy of a workload.
type Roles struct {
	together *Instance // plays all roles without instances of their own; may be nil
	apart    map[string][]*Instance
}

// Of lists the instances that play a role.
func (r Roles) Of(role string) []*Instance {
	if apart := r.apart[role]; apart != nil {
		return apart
	}
	return []*Instance{r.together}
}

// Instances are all of them, each once.
func (r Roles) Instances() []*Instance {
	var list []*Instance
	if r.together != nil {
		list = append(list, r.together)
	}
	for _, role := range slices.Sorted(maps.Keys(r.apart)) {
		list = append(list, r.apart[role]...)
	}
	return list
}

// Together is the instance of the roles that have none of their own; nil where
// each has.
func (r Roles) Together() *Instance { return r.together }

// Vars are what the commands of an instance know of its address and of the
// others'.
func (r Roles) Vars(i *Instance, network environment.Network, roles []string) workload.InstanceVars {
	vars := workload.InstanceVars{Index: i.Index}
	if network == nil {
		return vars
	}
	// Where ports are published, servers cannot listen at the address by which
	// the other instances reach them.
	own := i.reachedAt(network)
	if listen := i.Details().Listen; listen != "" && !i.OnHost {
		own = listen
	}
	vars.Address, vars.Roles = own, map[string][]string{}
	for _, role := range roles {
		for _, other := range r.Of(role) {
			if other == i {
				vars.Roles[role] = append(vars.Roles[role], own)
				continue
			}
			vars.Roles[role] = append(vars.Roles[role], other.reachedAt(network))
		}
	}
	return vars
}

// reachedAt is the address by which the other instances reach this one.
func (i *Instance) reachedAt(network environment.Network) string {
	switch {
	case i.address != "":
		return i.address
	case i.OnHost:
		return network.Host()
	}
	return i.Address()
}

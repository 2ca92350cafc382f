package study

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/workload"
)

// Shape says which instances a workload needs at a level: how many copies of
// it, and in each copy an instance for what runs together and those of the roles
// with instances of their own.
type Shape struct {
	Copies   int  `json:"copies"`
	Together bool `json:"together,omitempty"`
	// Image of what runs together, as RoleShape has it.
	Image string      `json:"image,omitempty"`
	Roles []RoleShape `json:"roles,omitempty"`
	// Neighbours is the shape of what disturbs the copies; nil for nothing.
	Neighbours *Shape `json:"neighbours,omitempty"`
	// Starting is how many instances at most start at the same time; 0 is all.
	Starting int `json:"starting,omitempty"`
	// Joined says that all of them are on one network.
	Joined bool `json:"joined,omitempty"`
}

// RoleShape is a role with instances of its own.
type RoleShape struct {
	Name   string `json:"name"`
	OnHost bool   `json:"on_host,omitempty"`
	// InBaseline says that it is in an instance of the baseline's, not of the environment
	// under test.
	InBaseline bool `json:"in_baseline,omitempty"`
	Count      int  `json:"count"`
	// Image that it runs in, of the plan's images; "", or one that the plan does not have,
	// is the image of all.
	Image string `json:"image,omitempty"`
	// Hosts that the instances are on, in their order; nil is the environment's
	// own.
	Hosts []string `json:"hosts,omitempty"`
}

// ExpandShapes computes the shapes of all levels. It has to be called after a
// parameter or a role of a resolved plan was changed.
func (p *Plan) ExpandShapes() error {
	for i := range p.Workloads {
		if err := p.Workloads[i].expandShapes(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workload) expandShapes() (err error) {
	for i := range w.Levels {
		if w.Levels[i].Shape, err = w.shape(w.Levels[i]); err != nil {
			return err
		}
	}
	return nil
}

// shape of the workload at a level.
func (w Workload) shape(l Level) (Shape, error) {
	s, err := shapeOf(w.Pack, l.Parameters, max(l.Instances, 1))
	if err != nil {
		return s, err
	}
	s.Image = w.Image
	for i := range s.Roles {
		s.Roles[i].Image = w.RoleImage(s.Roles[i].Name)
	}
	s.Starting = l.Starting
	listens := w.Pack.UsesAddress()
	if w.Neighbour != nil {
		listens = listens || w.Neighbour.UsesAddress()
	}
	if l.Neighbours > 0 {
		if w.Neighbour == nil {
			return s, fmt.Errorf("workload %s has %d neighbours, but does not define what they run", w.Name, l.Neighbours)
		}
		neighbours, err := shapeOf(*w.Neighbour, l.Neighbour, l.Neighbours)
		if err != nil {
			return s, err
		}
		s.Neighbours = &neighbours
	}
	// Levels are alike in this: the number of instances must not change what an
	// instance is attached to.
	s.Joined = s.Meets() || listens && w.many()
	return s, nil
}

// many says whether any level has several copies, or neighbours.
func (w Workload) many() bool {
	return slices.ContainsFunc(w.Levels, func(l Level) bool { return l.Instances > 1 || l.Neighbours > 0 })
}

func shapeOf(p workload.Pack, parameters map[string]string, copies int) (Shape, error) {
	s := Shape{Copies: copies, Together: p.Driver == nil || p.HasUnassignedSteps()}
	pack, err := p.With(parameters, workload.InstanceVars{})
	if err != nil {
		return s, err
	}
	for _, role := range pack.RoleNames() {
		place := pack.Place(role)
		if place == workload.Together {
			s.Together = true
			continue
		}
		count, err := pack.Count(role)
		if err != nil {
			return s, err
		}
		on := pack.Roles[role].Hosts
		if len(on) > 0 && len(on) < count {
			return s, fmt.Errorf("role %s of workload %s has %d instances, but place: lists %d hosts: list one host per instance, since instances on one host would share its addresses", role, p.Name, count, len(on))
		}
		s.Roles = append(s.Roles, RoleShape{Name: role, OnHost: place == workload.OnHost, InBaseline: place == workload.InBaseline, Count: count, Image: pack.RoleImage(role), Hosts: on})
	}
	return s, nil
}

// Key is the same for two that can use the same instances.
func (s Shape) Key() string {
	var parts []string
	if s.Together {
		part := "one"
		if s.Image != "" {
			part += " in " + s.Image
		}
		parts = append(parts, part)
	}
	for _, r := range s.Roles {
		part := fmt.Sprintf("%s:%d:%t", r.Name, r.Count, r.OnHost)
		if r.InBaseline {
			part += " in the baseline's"
		}
		if r.Image != "" {
			part += " in " + r.Image
		}
		if len(r.Hosts) > 0 {
			part += " on " + strings.Join(r.Hosts, ",")
		}
		parts = append(parts, part)
	}
	key := fmt.Sprintf("%d×%s", s.Copies, strings.Join(parts, "+"))
	if s.Starting > 0 {
		key += fmt.Sprintf(", %d at a time", s.Starting)
	}
	if s.Joined {
		key += ", joined"
	}
	if s.Neighbours != nil {
		key += ", beside " + s.Neighbours.Key()
	}
	return key
}

// Meets says whether something in it reaches another instance, so that a
// network between them is needed.
func (s Shape) Meets() bool {
	return len(s.Roles) > 0 || s.Neighbours != nil && s.Neighbours.Meets()
}

// MeetsHost says whether a role is on the host.
func (s Shape) MeetsHost() bool {
	return slices.ContainsFunc(s.Roles, func(r RoleShape) bool { return r.OnHost }) || s.Neighbours != nil && s.Neighbours.MeetsHost()
}

// MeetsHostOnly says whether nothing in it is reached by more than programs on the host.
func (s Shape) MeetsHostOnly() bool {
	inside := 0
	if s.Together {
		inside++
	}
	for _, r := range s.Roles {
		if !r.OnHost {
			inside += r.Count
		}
	}
	return inside <= 1 && s.Neighbours == nil
}

// On are the hosts that its instances are on, each once, for an environment
// that is on the host own; "" is this machine.
func (s Shape) On(own string) []string {
	var hosts []string
	if s.Together {
		hosts = append(hosts, own)
	}
	for _, r := range s.Roles {
		if len(r.Hosts) == 0 {
			hosts = append(hosts, own)
		}
		hosts = append(hosts, r.Hosts[:min(r.Count, len(r.Hosts))]...)
	}
	if s.Neighbours != nil {
		hosts = append(hosts, s.Neighbours.On(own)...)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Single says whether it is one instance.
func (s Shape) Single() bool { return s.Copies == 1 && len(s.Roles) == 0 && s.Neighbours == nil }

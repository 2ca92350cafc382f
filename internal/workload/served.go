package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/agent"
)

// ServedByImage returns the pack with the server of the image in place of its own: its
// steps for servers are left out, and the driver runs on the host, in an image of its own.
// Parameters that only those steps use are left out too.
func (p Pack) ServedByImage() (Pack, error) {
	role, ready, err := p.replaceable()
	if err != nil {
		return p, err
	}
	p.Title = "The image's own server under the load of " + p.Name
	server := Server{Step: Step{Entrypoint: true, Role: role}, Ready: ready}
	return p.servedBy([]Server{server}, map[string]Role{role: {About: "the image's own"}}), nil
}

// replaceable returns the role of the pack's server, if another one can take its place,
// and the probe that says when that is ready.
func (p Pack) replaceable() (role string, ready agent.Probe, err error) {
	if p.Driver == nil || len(p.Servers) == 0 {
		return "", ready, fmt.Errorf("workload %s has no server that another one could replace", p.Name)
	}
	server, driver := p.Servers[len(p.Servers)-1], p.Driver.Role
	role, ready = server.Role, server.Ready
	switch {
	case slices.ContainsFunc(p.Servers, func(s Server) bool { return s.Role != role }):
		return "", ready, fmt.Errorf("workload %s has servers of several roles, and only one can be replaced", p.Name)
	case role == driver || role == "" || driver == "":
		return "", ready, fmt.Errorf("workload %s has no separate roles for its server and its driver, so its server cannot be replaced", p.Name)
	case p.Roles[role].Count != "":
		return "", ready, fmt.Errorf("workload %s has several servers, and only one can be replaced", p.Name)
	}
	if len(ready.Exec) > 0 || ready.Unix != "" { // what another image has nothing of
		port := probedPortText(ready)
		if port == "" {
			return "", ready, fmt.Errorf("workload %s does not say the port of its server, so it is not known when another one is ready", p.Name)
		}
		ready.Exec, ready.Unix, ready.HTTP, ready.TCP = nil, "", "", "${address."+role+"}:"+port
	}
	return role, ready, nil
}

// servedBy returns the pack with these servers and their roles in place of its own.
func (p Pack) servedBy(servers []Server, roles map[string]Role) Pack {
	driver := p.Driver.Role
	p.Servers = servers
	ofDriver := func(s Step) bool { return s.Role == driver }
	for _, steps := range []*[]Step{&p.Begin, &p.End, &p.Setup, &p.Teardown} {
		*steps = slices.DeleteFunc(slices.Clone(*steps), func(s Step) bool { return !ofDriver(s) })
	}
	if p.Warmup != nil && !ofDriver(*p.Warmup) {
		p.Warmup = nil
	}
	for _, paths := range []*[]RolePath{&p.Touches, &p.Configuration} {
		*paths = slices.DeleteFunc(slices.Clone(*paths), func(at RolePath) bool { return at.Role != driver })
	}
	about := p.Roles[driver]
	about.Place, about.Image = OnHost, OwnImage
	p.Roles = maps.Clone(roles)
	p.Roles[driver] = about
	p.Parameters = p.used()
	named := func(m Metric) bool { return m.Name == "memory" }
	if !p.FromStart() && !p.Asks(MemoryMean) && !slices.ContainsFunc(p.Metrics, named) {
		p.Metrics = append(slices.Clone(p.Metrics), Metric{
			Name: "memory", Unit: "B", Better: "lower", Field: MemoryMean, About: "mean memory of the whole environment without the page cache",
		})
	}
	return p
}

// used are the parameters that the pack's steps refer to.
func (p Pack) used() map[string]Parameter {
	var names []string
	if l := p.Length; l != nil {
		names = append(names, l.Time, l.Amount)
	}
	p.rewrite(func(_ []any, text string) string {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(found[0], "$$") {
				names = append(names, found[1])
			}
		}
		return text
	})
	used := maps.Clone(p.Parameters)
	maps.DeleteFunc(used, func(name string, _ Parameter) bool { return !slices.Contains(names, name) })
	return used
}

// Service is a service of an application that takes a place in a pack.
type Service struct {
	Server
	Image      string // of the plan
	InBaseline bool
}

// ServedBy returns the pack with the services in place of its server. The driver drives the
// one of the role, where the pack's probe has to succeed too.
func (p Pack) ServedBy(services []Service, driven string) (Pack, error) {
	replaced, ready, err := p.replaceable()
	switch {
	case err != nil:
		return p, err
	case p.FromStart():
		return p, fmt.Errorf("workload %s measures the start of one instance, and an application has several", p.Name)
	}
	var servers []Server
	roles := map[string]Role{}
	for _, s := range services {
		if s.Role == driven {
			s.Ready = ready
		}
		place := Apart
		if s.InBaseline {
			place = InBaseline
		}
		roles[s.Role] = Role{Place: place, Image: s.Image}
		servers = append(servers, s.Server)
	}
	p.Title = "An application under the load of " + p.Name
	p = p.servedBy(servers, roles)
	renamed := strings.NewReplacer("${address."+replaced+"}", "${address."+driven+"}", "${addresses."+replaced+"}", "${addresses."+driven+"}")
	return p.rewrite(func(_ []any, text string) string { return renamed.Replace(text) }), nil
}

// DriverRole is the role of the load driver; "" where there is none.
func (p Pack) DriverRole() string {
	if p.Driver == nil {
		return ""
	}
	return p.Driver.Role
}

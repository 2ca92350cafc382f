package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ServedByImage returns the pack with the server of the image in place of its own: its
// steps for servers are left out, and the driver runs on the host, in an image of its own.
// Parameters that only those steps use are left out too.
func (p Pack) ServedByImage() (Pack, error) {
	if p.Driver == nil || len(p.Servers) == 0 {
		return p, fmt.Errorf("workload %s has no server that the image's could replace", p.Name)
	}
	server, driver := p.Servers[len(p.Servers)-1], p.Driver.Role
	role := server.Role
	switch {
	case slices.ContainsFunc(p.Servers, func(s Server) bool { return s.Role != role }):
		return p, fmt.Errorf("workload %s has servers of several roles, and an image starts one", p.Name)
	case role == driver || role == "" || driver == "":
		return p, fmt.Errorf("workload %s has no separate roles for its server and its driver, so its server cannot be replaced", p.Name)
	case p.Roles[role].Count != "":
		return p, fmt.Errorf("workload %s has several servers, and an image starts one", p.Name)
	}
	ready := server.Ready
	if len(ready.Exec) > 0 || ready.Unix != "" { // what the image has nothing of
		port := probedPortText(ready)
		if port == "" {
			return p, fmt.Errorf("workload %s does not say the port of its server, so it is not known when the image's is ready", p.Name)
		}
		ready.Exec, ready.Unix, ready.HTTP, ready.TCP = nil, "", "", "${address."+role+"}:"+port
	}
	p.Title = "The image's own server under the load of " + p.Name
	p.Servers = []Server{{Step: Step{Entrypoint: true, Role: role}, Ready: ready}}
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
	p.Roles = map[string]Role{driver: about, role: {About: "the image's own"}}
	p.Parameters = p.used()
	named := func(m Metric) bool { return m.Name == "memory" }
	if !p.FromStart() && !p.Asks(MemoryMean) && !slices.ContainsFunc(p.Metrics, named) {
		p.Metrics = append(slices.Clone(p.Metrics), Metric{
			Name: "memory", Unit: "B", Better: "lower", Field: MemoryMean, About: "mean memory of the whole environment without the page cache",
		})
	}
	return p, nil
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

package compose

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"tare/internal/application"
	"tare/internal/base/lists"
)

// application is a project as tare runs it.
func (r *reader) application(p *types.Project, found []loader.UnsupportedAttribute) (*application.Application, error) {
	app := &application.Application{Name: p.Name}
	for _, f := range r.files {
		app.Files = append(app.Files, f.Filename)
	}
	var wrong error
	for _, name := range order(p) {
		s, err := r.service(p, p.Services[name])
		wrong = errors.Join(wrong, err)
		app.Services = append(app.Services, s)
	}
	if len(app.Services) == 0 {
		problem := "it has no service"
		if off := p.DisabledServiceNames(); len(off) > 0 {
			problem = fmt.Sprintf("every service is of a profile that is off (%s): name one in COMPOSE_PROFILES", strings.Join(off, ", "))
		}
		return nil, r.problemf("%s", problem)
	}
	aliases(app, p)
	if err := flat(errors.Join(wrong, r.sort(app, found))).Err(); err != nil {
		return nil, err
	}
	aside(app, p)
	return app, nil
}

// order lists the services, each after those that it depends on, and by name otherwise.
// There is no cycle: the library looks for them.
func order(p *types.Project) (all []string) {
	var add func(name string)
	add = func(name string) {
		s, on := p.Services[name]
		if !on || slices.Contains(all, name) {
			return
		}
		for _, before := range slices.Sorted(maps.Keys(s.DependsOn)) {
			add(before)
		}
		all = append(all, name)
	}
	for _, name := range p.ServiceNames() {
		add(name)
	}
	return all
}

// sort makes keys that are not read asks, notes and errors.
func (r *reader) sort(app *application.Application, found []loader.UnsupportedAttribute) (wrong error) {
	users := map[string][]string{}
	for _, one := range found {
		name, k, what := ask(one)
		s := app.Service(name)
		if s == nil {
			continue
		}
		switch k.what {
		case refused:
			wrong = errors.Join(wrong, r.problemf("services.%s.%s: %s", name, k.path, k.why))
		case asked:
			s.Asks = append(s.Asks, what)
		case noted:
			if at := strings.ReplaceAll(k.path, "networks.*.", ""); !slices.Contains(users[at], name) {
				users[at] = append(users[at], name)
			}
		}
	}
	for _, k := range keys() {
		at := strings.ReplaceAll(k.path, "networks.*.", "")
		if of := users[at]; k.what == noted && len(of) > 0 {
			app.Notes = append(app.Notes, fmt.Sprintf("%s: no effect in %s: %s.", at, strings.Join(of, ", "), k.why))
		}
	}
	return wrong
}

// aside adds notes on what is outside of services.
func aside(app *application.Application, p *types.Project) {
	var published []string
	for _, s := range app.Services {
		if len(s.Published) > 0 {
			published = append(published, s.Name)
		}
	}
	if len(published) > 0 {
		app.Notes = append(app.Notes, fmt.Sprintf("ports: not published in %s: the load reaches a service on its own network.", strings.Join(published, ", ")))
	}
	used := map[string]bool{}
	for _, s := range p.Services {
		for name := range s.Networks {
			used[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if p.Networks[name].External {
			app.Notes = append(app.Notes, fmt.Sprintf("networks.%s: it is external: what is on it besides these services is not reached.", name))
		}
	}
	if len(used) > 1 {
		app.Notes = append(app.Notes, fmt.Sprintf("networks: %s are one network: %s.", strings.Join(slices.Sorted(maps.Keys(used)), ", "), oneNet))
	}
	if jobs := slices.Sorted(maps.Keys(p.Jobs)); len(jobs) > 0 {
		app.Notes = append(app.Notes, fmt.Sprintf("jobs: %s are not run.", strings.Join(jobs, ", ")))
	}
}

func (r *reader) service(p *types.Project, c types.ServiceConfig) (application.Service, error) {
	s := application.Service{
		Name: c.Name, Image: c.Image, Built: c.Build != nil, User: c.User, Dir: c.WorkingDir,
		Entrypoint: c.Entrypoint, Command: c.Command, StopSignal: c.StopSignal,
	}
	at := "services." + c.Name + "."
	s.Asks = instances(c)
	s.Image = cmp.Or(s.Image, p.Name+"-"+c.Name)
	for _, name := range slices.Sorted(maps.Keys(c.Environment)) {
		if value := c.Environment[name]; value != nil {
			s.Env = append(s.Env, name+"="+*value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.DependsOn)) {
		if _, on := p.Services[name]; on {
			s.DependsOn = append(s.DependsOn, application.Dependency{Service: name, Condition: c.DependsOn[name].Condition})
		}
	}
	if c.StopGracePeriod != nil {
		s.StopGrace = time.Duration(*c.StopGracePeriod)
	}
	var err, wrong error
	if s.Limits = limits(c); s.Limits.CPUs < 0 || s.Limits.Memory < 0 {
		wrong = r.problemf("%sdeploy.resources.limits, cpus or mem_limit is below 0", at)
	}
	if s.Ports, s.Published, err = ports(c); err != nil {
		wrong = errors.Join(wrong, r.problemf("%s%v", at, err))
	}
	if s.Health, s.NoHealth, err = health(c.HealthCheck); err != nil {
		wrong = errors.Join(wrong, r.problemf("%shealthcheck: %v", at, err))
	}
	for _, host := range slices.Sorted(maps.Keys(c.ExtraHosts)) {
		addresses := c.ExtraHosts[host]
		if len(addresses) != 1 || addresses[0] == "host-gateway" {
			s.Asks = append(s.Asks, application.Ask{Key: "extra_hosts", What: host + "=" + strings.Join(addresses, ", ")})
			continue
		}
		if s.Hosts == nil {
			s.Hosts = map[string]string{}
		}
		s.Hosts[host] = addresses[0]
	}
	return s, errors.Join(wrong, r.mounts(p, c, &s), r.references(p, c, &s))
}

// instances are asked for where they are not one, in either notation.
func instances(c types.ServiceConfig) (asks []application.Ask) {
	if n := c.Scale; n != nil && *n != 1 {
		asks = append(asks, application.Ask{Key: "scale", What: strconv.Itoa(*n)})
	}
	if c.Deploy == nil || c.Deploy.Replicas == nil || *c.Deploy.Replicas == 1 {
		return asks
	}
	return append(asks, application.Ask{Key: "deploy.replicas", What: strconv.Itoa(*c.Deploy.Replicas)})
}

// limits are those of either notation.
func limits(c types.ServiceConfig) application.Limits {
	l := application.Limits{CPUs: float64(c.CPUS), Memory: int64(c.MemLimit), PIDs: max(c.PidsLimit, 0)}
	if c.CPUQuota > 0 && l.CPUs == 0 {
		period := c.CPUPeriod
		if period <= 0 {
			period = 100_000 // the kernel's
		}
		l.CPUs = float64(c.CPUQuota) / float64(period)
	}
	if c.Deploy == nil || c.Deploy.Resources.Limits == nil {
		return l
	}
	d := c.Deploy.Resources.Limits
	if d.NanoCPUs > 0 {
		l.CPUs = float64(d.NanoCPUs)
	}
	if d.MemoryBytes > 0 {
		l.Memory = int64(d.MemoryBytes)
	}
	if d.Pids > 0 {
		l.PIDs = d.Pids
	}
	// 0.1 has no exact value of 32 bits, which is what the library has.
	l.CPUs, _ = strconv.ParseFloat(strconv.FormatFloat(l.CPUs, 'g', 6, 64), 64)
	return l
}

// mostPorts bounds the ports of a service: a range can have all of them.
const mostPorts = 1000

// ports are the TCP ports on the container's side: the published ones first.
func ports(c types.ServiceConfig) (all, published []int, err error) {
	for _, p := range c.Ports[:min(len(c.Ports), mostPorts)] {
		if p.Target < 1 || p.Target >= 1<<16 {
			return nil, nil, fmt.Errorf("ports: %d is not a port: they are 1 to 65535", p.Target)
		}
		if port := int(p.Target); p.Protocol == "tcp" && !slices.Contains(published, port) {
			published = append(published, port)
		}
	}
	all = slices.Clone(published)
	for _, text := range c.Expose {
		number, protocol, _ := strings.Cut(text, "/")
		first, last, ranged := strings.Cut(number, "-")
		if !ranged {
			last = first
		}
		low, err := strconv.ParseUint(first, 10, 16)
		high, err2 := strconv.ParseUint(last, 10, 16)
		if err != nil || err2 != nil || low == 0 || high < low {
			return nil, nil, fmt.Errorf("expose: %q is not a port or a range of ports, such as 8080 or 8080-8090", text)
		}
		for port := low; port <= high && len(all) < mostPorts && (protocol == "tcp" || protocol == ""); port++ {
			all = lists.Add(all, int(port))
		}
	}
	return all, published, nil
}

// Compose's values for what a check does not say.
const (
	interval = 30 * time.Second
	timeout  = 30 * time.Second
	retries  = 3
)

// health is the check of a file; off says that there is none, whatever the image has.
func health(h *types.HealthCheckConfig) (check *application.Health, off bool, err error) {
	switch {
	case h == nil:
		return nil, false, nil
	case h.Disable || len(h.Test) > 0 && h.Test[0] == "NONE":
		return nil, true, nil
	}
	check = &application.Health{Interval: interval, Timeout: timeout, Retries: retries}
	for at, value := range map[*time.Duration]*types.Duration{&check.Interval: h.Interval, &check.Timeout: h.Timeout, &check.StartPeriod: h.StartPeriod} {
		if value != nil && *value > 0 {
			*at = time.Duration(*value)
		}
	}
	if h.Retries != nil && *h.Retries > 0 {
		check.Retries = int(min(*h.Retries, 1e6))
	}
	if len(h.Test) == 0 {
		return check, false, nil
	}
	check.Shell, check.Test = h.Test[0] == "CMD-SHELL", h.Test[1:]
	if len(check.Test) == 0 || check.Shell && len(check.Test) > 1 {
		return nil, false, fmt.Errorf("test needs a command after %s, for example [CMD-SHELL, curl -f http://localhost/]", h.Test[0])
	}
	return check, false, nil
}

// aliases gives the services the names that others reach them by.
func aliases(app *application.Application, p *types.Project) {
	add := func(service, name string) {
		if s := app.Service(service); s != nil && name != "" && !slices.Contains(s.Names, name) {
			s.Names = append(s.Names, name)
		}
	}
	for _, s := range app.Services {
		add(s.Name, s.Name)
	}
	for _, s := range app.Services {
		c := p.Services[s.Name]
		for _, name := range slices.Sorted(maps.Keys(c.Networks)) {
			if network := c.Networks[name]; network != nil {
				for _, alias := range network.Aliases {
					add(s.Name, alias)
				}
			}
		}
		add(s.Name, c.ContainerName)
		add(s.Name, c.Hostname)
		for _, link := range c.Links {
			service, alias, _ := strings.Cut(link, ":")
			add(service, alias)
		}
	}
}

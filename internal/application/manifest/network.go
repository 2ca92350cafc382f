package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"tare/internal/application"
	"tare/internal/application/manifest/objects"
	"tare/internal/base/lists"
)

// connect gives the pods the names of the Services that select them.
func (r *reader) connect() {
	for _, s := range r.services {
		o := s.object
		if s.spec.Type == corev1.ServiceTypeExternalName || len(s.spec.Selector) == 0 {
			r.note("Service", "it selects no pod, and what it names is not on the application's own network", o.Name)
			continue
		}
		for _, p := range r.pods {
			if p.object.Namespace != o.Namespace || p.completes || !selects(s.spec.Selector, p.template.Labels) {
				continue
			}
			if s.pod != nil {
				r.note("Service "+o.Name, "nothing here shares connections among pods: all go to "+s.pod.object.Name+", the first in the files", p.object.Name)
				continue
			}
			s.pod = p
		}
		if s.pod == nil {
			r.note("Service", "it selects no pod of the files", o.Name)
			continue
		}
		r.expose(s)
	}
	for _, p := range r.pods { // after the Services, which have the first claim
		own := p.service.Names[0]
		p.service.Names = p.service.Names[1:]
		if names := []string{own}; r.free(own) {
			if p.object.Kind == "StatefulSet" {
				names = append(names, own+"-0")
			}
			p.service.Names = append(p.service.Names, lists.Filter(names, func(name string) bool { return !slices.Contains(p.service.Names, name) })...)
		}
		if p.group != "" {
			p.service.Names = append(p.service.Names, full(own+"-0."+p.group, namespace(p.object))...)
		}
		if len(p.service.Names) == 0 { // another pod's Service has its name
			p.service.Names = []string{own + ".pod"}
		}
	}
}

// free reports whether no Service of another pod has a name.
func (r *reader) free(name string) bool {
	return !slices.ContainsFunc(r.services, func(s *service) bool {
		return s.pod != nil && s.object.Name == name && s.pod.object.Name != name
	})
}

// full are the names that a name has in a cluster.
func full(name, namespace string) []string {
	return []string{name, name + "." + namespace, name + "." + namespace + ".svc", name + "." + namespace + ".svc.cluster.local"}
}

// expose names a pod after a Service, and adds its ports to those of the pod.
func (r *reader) expose(s *service) {
	o, to := s.object, &s.pod.service
	for _, other := range r.services {
		if other != s && other.pod != nil && other.object.Name == o.Name {
			r.problem(o, nil, "another Service of this name is in namespace %s: rename one", namespace(other.object))
			return
		}
	}
	to.Names = append(to.Names, full(o.Name, namespace(o))...)
	named := r.naming(s)
	for i, port := range s.spec.Ports {
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			continue
		}
		target := port.TargetPort
		if target == (intstr.IntOrString{}) {
			target = intstr.FromInt32(port.Port)
		}
		at := objects.Find(o.Node, "spec", "ports", i)
		n, known := number(s.pod.template.Spec.Containers[0].Ports, target)
		switch {
		case !known:
			r.problem(o, at, "%s has no port %q", s.pod.object.Name, target.String())
			continue
		case n != int(port.Port) && named != "" && r.redirect(s, int(port.Port), n):
		case n != int(port.Port) && named != "":
			r.problem(o, at, "port %d is port %d of the pod, and nothing here forwards it: %s, without the port beside the name; make both %d, and connect there", port.Port, n, named, n)
		case n != int(port.Port):
			r.note("port", "nothing forwards it; the load connects to the targetPort", o.Name)
		}
		to.Ports = lists.Add(to.Ports, n)
		outside := s.spec.Type == corev1.ServiceTypeNodePort || s.spec.Type == corev1.ServiceTypeLoadBalancer
		if outside && !slices.Contains(to.Published, n) {
			to.Published = append(to.Published, n)
		}
	}
}

// naming says which other pod names a Service; "" for none.
func (r *reader) naming(s *service) string {
	for _, p := range r.pods {
		if p != s.pod {
			if what := p.names(s); what != "" {
				return what + " of " + p.object.Name + " names it"
			}
		}
	}
	return ""
}

// redirect writes the port of the pod where others name a Service with its own port, as
// front:80 becomes front:8080: nothing here forwards connections. It reports whether each of
// them names it so.
func (r *reader) redirect(s *service, from, to int) bool {
	name := regexp.MustCompile(s.pattern(`:` + strconv.Itoa(from) + `($|[^0-9])`))
	each := regexp.MustCompile(s.pattern(`(?P<port>:[0-9]+)?($|[^A-Za-z0-9_.-])`))
	known := lists.Map(s.spec.Ports, func(p corev1.ServicePort) string { return fmt.Sprintf(":%d", p.Port) })
	if slices.Contains(known, fmt.Sprintf(":%d", to)) {
		return false // what is written would stand for another port
	}
	change := func(text string) string {
		return name.ReplaceAllStringFunc(text, func(found string) string {
			return strings.Replace(found, fmt.Sprintf(":%d", from), fmt.Sprintf(":%d", to), 1)
		})
	}
	var changed []*pod
	for _, p := range r.pods {
		if p == s.pod || p.names(s) == "" {
			continue
		}
		for _, t := range p.texts {
			all := each.FindAllStringSubmatch(t.value, -1)
			unknown := slices.ContainsFunc(all, func(found []string) bool { return !slices.Contains(known, found[each.SubexpIndex("port")]) })
			if len(all) > 0 && (unknown || !p.has(t.value)) {
				return false
			}
		}
		changed = append(changed, p)
	}
	for _, p := range changed {
		for _, one := range p.services() {
			for _, list := range [][]string{one.Env, one.Entrypoint, one.Command} {
				for i := range list {
					list[i] = change(list[i])
				}
			}
			for i := range one.Files {
				one.Files[i].Content = change(one.Files[i].Content)
			}
		}
		r.note(fmt.Sprintf("%s:%d", s.object.Name, from), fmt.Sprintf("nothing here forwards it, so %s:%d, the targetPort, is written in its place", s.object.Name, to), p.object.Name)
	}
	return true
}

// services are those of a pod.
func (p *pod) services() []*application.Service {
	all := []*application.Service{&p.service}
	for i := range p.before {
		all = append(all, &p.before[i])
	}
	return all
}

// has reports whether a text stands in a service as it is, and is no secret.
func (p *pod) has(text string) bool {
	return slices.ContainsFunc(p.services(), func(s *application.Service) bool {
		return slices.Contains(s.Entrypoint, text) || slices.Contains(s.Command, text) ||
			slices.ContainsFunc(s.Env, func(v string) bool { return strings.HasSuffix(v, "="+text) }) ||
			slices.ContainsFunc(s.Files, func(f application.File) bool { return f.Content == text })
	})
}

// pattern is an expression of the name of a Service with what follows it.
func (s *service) pattern(rest string) string {
	return `(^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(s.object.Name) + `(\.` + regexp.QuoteMeta(namespace(s.object)) + `(\.svc(\.cluster\.local)?)?)?` + rest
}

// names says in what a pod names a Service; "" for nothing.
func (p *pod) names(s *service) string {
	name := regexp.MustCompile(s.pattern(`($|[^A-Za-z0-9_.-])`))
	for _, t := range p.texts {
		if name.MatchString(t.value) {
			return t.what
		}
	}
	return ""
}

// ordered are the pods, each after those that it names by their Services, as far as that
// makes no circle, and after the Jobs that do not need it. It writes what depends on what.
func (r *reader) ordered() (all []*pod) {
	needs := map[*pod][]*pod{}
	for _, p := range r.pods {
		for _, s := range r.services {
			if s.pod != nil && s.pod != p && !slices.Contains(needs[p], s.pod) && p.names(s) != "" {
				needs[p] = append(needs[p], s.pod)
			}
		}
	}
	var reaches func(from, to *pod, seen map[*pod]bool) bool
	reaches = func(from, to *pod, seen map[*pod]bool) bool {
		if from == to {
			return true
		}
		seen[from] = true
		return slices.ContainsFunc(needs[from], func(next *pod) bool { return !seen[next] && reaches(next, to, seen) })
	}
	for _, job := range r.pods {
		for _, p := range r.pods {
			if job.completes && !p.completes && !reaches(job, p, map[*pod]bool{}) {
				needs[p] = append(needs[p], job)
			}
		}
	}
	under := map[*pod]bool{}
	var add func(p *pod)
	add = func(p *pod) {
		if under[p] || slices.Contains(all, p) {
			return // a circle begins with the pod that is first in the files
		}
		under[p] = true
		var on []application.Dependency
		for _, before := range needs[p] {
			add(before)
			if slices.Contains(all, before) {
				condition := application.Healthy
				if before.completes {
					condition = application.Completed
				}
				on = append(on, application.Dependency{Service: before.service.Name, Condition: condition})
			}
		}
		for i := range p.before {
			p.before[i].DependsOn = slices.Clone(on)
			on = append(on, application.Dependency{Service: p.before[i].Name, Condition: application.Completed})
		}
		p.service.DependsOn = on
		all = append(all, p)
	}
	for _, p := range r.pods {
		add(p)
	}
	return all
}

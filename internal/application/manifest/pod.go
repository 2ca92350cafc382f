package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"tare/internal/application"
	"tare/internal/application/manifest/objects"
	"tare/internal/base/lists"
)

// container is one container of a pod, with its place.
type container struct {
	*reader
	pod     *pod
	spec    corev1.Container
	at      *yaml.Node
	service *application.Service
	known   map[string]string // variables so far, for $(NAME)
}

// find is the value at a path below the container; the container where there is none.
func (c container) find(path ...any) *yaml.Node {
	if at := objects.Find(c.at, path...); at != nil {
		return at
	}
	return c.at
}

// failed is a problem at a path below the container.
func (c container) failed(path []any, format string, values ...any) {
	c.problem(c.pod.object, c.find(path...), format, values...)
}

// pod makes services of the containers of a pod.
func (r *reader) pod(p *pod) {
	o, spec := p.object, p.template.Spec
	switch {
	case len(spec.Containers) == 0:
		r.problem(o, p.at, "it has no container")
		return
	case len(spec.Containers) > 1:
		others := lists.Map(spec.Containers[1:], func(c corev1.Container) string { return c.Name })
		r.problem(o, objects.Find(p.at, "containers", 1), "it has containers besides %s: %s. tare runs one container a pod, and no two of one network: leave them out, or make each a Deployment", spec.Containers[0].Name, strings.Join(others, ", "))
	}
	name := func(s *application.Service, name string) { s.Name, s.Names = name, []string{name} }
	name(&p.service, o.Name)
	for i, init := range spec.InitContainers {
		one := application.Service{Of: o.Name, Completes: true}
		name(&one, o.Name+"-"+init.Name)
		r.container(p, init, objects.Find(p.at, "initContainers", i), &one)
		p.before = append(p.before, one)
	}
	p.service.Completes = p.completes
	r.container(p, spec.Containers[0], objects.Find(p.at, "containers", 0), &p.service)
	if grace := spec.TerminationGracePeriodSeconds; grace != nil {
		p.service.StopGrace = time.Duration(min(max(*grace, 1), 3600)) * time.Second
	}
	for _, alias := range spec.HostAliases {
		for _, host := range alias.Hostnames {
			if p.service.Hosts == nil {
				p.service.Hosts = map[string]string{}
			}
			p.service.Hosts[host] = alias.IP
		}
	}
	r.shareVolumes(p)
}

func (r *reader) container(p *pod, spec corev1.Container, at *yaml.Node, s *application.Service) {
	c := container{reader: r, pod: p, spec: spec, at: at, service: s, known: map[string]string{}}
	if s.Image = spec.Image; s.Image == "" {
		c.failed(nil, "container %s has no image", spec.Name)
	}
	c.variables()
	s.Entrypoint, s.Command = c.words("command", spec.Command), c.words("args", spec.Args)
	s.Dir = spec.WorkingDir
	c.user()
	for i, port := range spec.Ports {
		if port.ContainerPort < 1 || port.ContainerPort >= 1<<16 {
			c.failed([]any{"ports", i, "containerPort"}, "%d is not a port: ports are 1 to 65535", port.ContainerPort)
			continue
		}
		if (port.Protocol == "" || port.Protocol == corev1.ProtocolTCP) && !slices.Contains(s.Ports, int(port.ContainerPort)) {
			s.Ports = append(s.Ports, int(port.ContainerPort))
		}
	}
	limits := spec.Resources.Limits
	s.Limits.CPUs, s.Limits.Memory = limits.Cpu().AsApproximateFloat64(), limits.Memory().Value()
	for name, limit := range limits {
		if limit.Sign() < 0 {
			c.failed([]any{"resources", "limits", string(name)}, "resources.limits.%s is %s: a limit is not below 0", name, limit.String())
		}
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage {
			c.failed([]any{"resources", "limits", string(name)}, "resources.limits.%s: instances have no such resource: leave it out, if the application works without", name)
		}
	}
	c.health()
	c.mounts()
}

// words are those of a command, with its variables.
func (c container) words(key string, words []string) (all []string) {
	for i, word := range words {
		all = append(all, c.expanded([]any{key, i}, word))
		c.pod.texts = append(c.pod.texts, text{key, word})
	}
	return all
}

func (c container) user() {
	of, own := c.pod.template.Spec.SecurityContext, c.spec.SecurityContext
	var user, group *int64
	if of != nil {
		user, group = of.RunAsUser, of.RunAsGroup
	}
	if own != nil && own.RunAsUser != nil {
		user = own.RunAsUser
	}
	if own != nil && own.RunAsGroup != nil {
		group = own.RunAsGroup
	}
	switch {
	case user != nil && group != nil:
		c.service.User = fmt.Sprintf("%d:%d", *user, *group)
	case user != nil:
		c.service.User = strconv.FormatInt(*user, 10)
	case group != nil:
		c.failed([]any{"securityContext", "runAsGroup"}, "runAsGroup without runAsUser: write both")
	}
}

// source is a ConfigMap or a Secret that variables are taken from.
type source struct {
	kind, name string
	optional   *bool
	has        bool // it is in the files
	values     map[string]string
	set        func(at []any, variable, key string)
}

// variables reads env and envFrom; a later one of the same name replaces an earlier one.
func (c container) variables() {
	values := map[string]string{}
	secrets := map[string]application.Variable{}
	var names []string
	set := func(name, value string) {
		names = lists.Add(names, name)
		values[name], c.known[name] = value, value
		delete(secrets, name)
	}
	hide := func(name string, v application.Variable) {
		set(name, "")
		v.Name = name
		secrets[name] = v
		c.known[name] = application.Hidden(name)
	}
	config := func(name string, optional *bool) source {
		found, has := c.configs[c.pod.object.Namespace+"/"+name]
		s := source{kind: "ConfigMap", name: name, optional: optional, has: has}
		if has {
			s.values = found.Data
		}
		s.set = func(at []any, name, key string) { set(name, c.literal(at, s.values[key])) }
		return s
	}
	secret := func(name string, optional *bool) source {
		found, has := c.secrets[c.pod.object.Namespace+"/"+name]
		s := source{kind: "Secret", name: name, optional: optional, has: has, values: map[string]string{}}
		if has {
			for key, value := range c.secret(found) {
				s.values[key] = string(value)
			}
		}
		s.set = func(_ []any, name, key string) { hide(name, c.variable(found, key)) }
		return s
	}
	for i, from := range c.spec.EnvFrom {
		at := []any{"envFrom", i}
		var s source
		if ref := from.ConfigMapRef; ref != nil {
			s = config(ref.Name, ref.Optional)
		} else if ref := from.SecretRef; ref != nil {
			s = secret(ref.Name, ref.Optional)
		} else {
			continue
		}
		if !s.has {
			c.absent(at, s.kind, s.name, s.optional)
		}
		for _, key := range slices.Sorted(maps.Keys(s.values)) {
			s.set(at, from.Prefix+key, key)
			c.mention("variable "+from.Prefix+key, s.values[key])
		}
	}
	for i, v := range c.spec.Env {
		at := []any{"env", i}
		var s source
		key := ""
		switch from := v.ValueFrom; {
		case from == nil:
			set(v.Name, c.expanded(append(at, "value"), v.Value))
			c.mention("variable "+v.Name, v.Value)
			continue
		case from.ConfigMapKeyRef != nil:
			s, key = config(from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional), from.ConfigMapKeyRef.Key
		case from.SecretKeyRef != nil:
			s, key = secret(from.SecretKeyRef.Name, from.SecretKeyRef.Optional), from.SecretKeyRef.Key
		case from.FieldRef != nil:
			if value, known := c.field(from.FieldRef.FieldPath); known {
				set(v.Name, c.literal(at, value))
			} else {
				c.failed(append(at, "valueFrom"), "variable %s: %s is not known before a pod starts: write value:", v.Name, from.FieldRef.FieldPath)
			}
			continue
		default:
			continue
		}
		if value, has := s.values[key]; has {
			s.set(at, v.Name, key)
			c.mention("variable "+v.Name, value)
		} else {
			c.absent(at, s.kind, s.name+" with the key "+key, s.optional)
		}
	}
	for _, name := range names {
		if v, hidden := secrets[name]; hidden {
			c.service.Secrets = append(c.service.Secrets, v)
		} else {
			c.service.Env = append(c.service.Env, name+"="+values[name])
		}
	}
}

// mention keeps a text that can name Services.
func (c container) mention(what, value string) { c.pod.texts = append(c.pod.texts, text{what, value}) }

// absent is a problem, unless the reference is optional.
func (c container) absent(at []any, kind, name string, optional *bool) {
	if optional == nil || !*optional {
		c.failed(at, "there is no %s %s in the files: add it, with kubectl get -o yaml from a cluster", kind, name)
	}
}

// secret are the values of a Secret.
func (c container) secret(o objects.Object) map[string][]byte {
	values, err := o.SecretValues()
	if err != nil {
		c.problem(o, nil, "%v", err)
	}
	return values
}

func (c container) variable(o objects.Object, key string) application.Variable {
	return application.Variable{File: c.paths[o.File], Key: objects.SecretKey(o.Namespace, o.Name, key)}
}

// field is a field of the pod, as far as it is known.
func (c container) field(path string) (string, bool) {
	o, meta := c.pod.object, c.pod.template.ObjectMeta
	key := func(prefix string, of map[string]string) (string, bool) {
		name, is := strings.CutPrefix(path, prefix+"['")
		return of[strings.TrimSuffix(name, "']")], is
	}
	switch path {
	case "metadata.name":
		if o.Kind == "StatefulSet" {
			return o.Name + "-0", true
		}
		return o.Name, true
	case "metadata.namespace":
		return namespace(o), true
	case "spec.serviceAccountName":
		return c.pod.template.Spec.ServiceAccountName, true
	}
	if value, is := key("metadata.labels", meta.Labels); is {
		return value, true
	}
	return key("metadata.annotations", meta.Annotations)
}

func namespace(o objects.Object) string {
	if o.Namespace == "" {
		return "default"
	}
	return o.Namespace
}

// reference is what Kubernetes looks for in values and commands.
var reference = regexp.MustCompile(`\$\$|\$\([^()\s]*\)`)

// expanded is a text with the variables in it. What is not one stays.
func (c container) expanded(at []any, text string) string {
	c.literal(at, text)
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, known := c.known[found[2:len(found)-1]]; known {
			return value
		}
		return found
	})
}

// literal is a text as it is. Where it looks like the place of a secret it is refused.
func (c container) literal(at []any, text string) string {
	if strings.Contains(text, application.HiddenBegins) {
		c.failed(at, "tare writes %sNAME) in the place of a secret: write something else", application.HiddenBegins)
	}
	return text
}

// Kubernetes' values for what a probe does not say.
const (
	period    = 10
	threshold = 3
)

// health is the probe that says when the container is ready.
func (c container) health() {
	key, probe := "readinessProbe", c.spec.ReadinessProbe
	start := c.spec.StartupProbe
	if probe == nil {
		key, probe = "startupProbe", start
	}
	if probe == nil {
		c.service.NoHealth = true // Kubernetes does not know the image's
		return
	}
	seconds := func(n, otherwise int32) time.Duration {
		if n <= 0 {
			n = otherwise
		}
		return time.Duration(min(n, 86400)) * time.Second
	}
	tries := func(p *corev1.Probe) int {
		if p.FailureThreshold > 0 {
			return int(min(p.FailureThreshold, 1000))
		}
		return threshold
	}
	h := &application.Health{Interval: seconds(probe.PeriodSeconds, period), Timeout: seconds(probe.TimeoutSeconds, 1), Retries: tries(probe), StartPeriod: seconds(probe.InitialDelaySeconds, 0)}
	if start != nil {
		h.StartPeriod += time.Duration(tries(start)) * seconds(start.PeriodSeconds, period)
	}
	c.service.Health = h
	switch {
	case probe.Exec != nil && len(probe.Exec.Command) > 0:
		h.Test = probe.Exec.Command
	case probe.HTTPGet != nil:
		get := probe.HTTPGet
		h.Port = c.port([]any{key, "httpGet", "port"}, get.Port)
		if h.Page = "/" + strings.TrimPrefix(get.Path, "/"); get.Scheme == corev1.URISchemeHTTPS {
			h.Page = ""
			c.note(key, "a page over HTTPS is not asked for; the pod is ready when the port accepts a connection", c.service.Name)
		}
		if get.Host != "" || len(get.HTTPHeaders) > 0 {
			c.note(key+".httpGet", "host and httpHeaders are not sent", c.service.Name)
		}
	case probe.TCPSocket != nil:
		h.Port = c.port([]any{key, "tcpSocket", "port"}, probe.TCPSocket.Port)
	case probe.GRPC != nil:
		h.Port = c.port([]any{key, "grpc", "port"}, intstr.FromInt32(probe.GRPC.Port))
		c.note(key, "its service over gRPC is not asked; the pod is ready when the port accepts a connection", c.service.Name)
	default:
		c.failed([]any{key}, "%s has no check: write exec, httpGet or tcpSocket", key)
	}
}

// port is a port by its number or its name.
func (c container) port(at []any, port intstr.IntOrString) int {
	n, known := number(c.spec.Ports, port)
	if !known {
		c.failed(at, "the container has no port %q", port.String())
	}
	return n
}

func number(ports []corev1.ContainerPort, port intstr.IntOrString) (int, bool) {
	if port.Type == intstr.Int {
		return int(port.IntVal), port.IntVal > 0 && port.IntVal < 1<<16
	}
	for _, p := range ports {
		if p.Name == port.StrVal {
			return int(p.ContainerPort), true
		}
	}
	return 0, false
}

package study

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/signal"

	"tare/internal/application"
	"tare/internal/application/compose"
	"tare/internal/application/manifest/objects"
	"tare/internal/application/secret"
	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/workload"
)

// roleOf a service is its name, unless the driver has it.
func roleOf(service, driver string) string {
	if service == driver {
		return service + "-service"
	}
	return service
}

// referenceOf is the image of a service as the store takes it.
func referenceOf(s application.Service) string {
	switch {
	case s.Built:
		return "docker-daemon:" + s.Image
	case s.Image == workload.OwnImage:
		return s.Image + ":latest" // the same image, by a name that is not another one's
	}
	return s.Image
}

// serviceOf is a service as the plan and as the pack have it. The error begins with the
// service and the key.
func serviceOf(s application.Service, app *application.Application, driver string) (one Service, server workload.Server, err error) {
	fail := func(key, format string, values ...any) (Service, workload.Server, error) {
		return one, server, fmt.Errorf("services.%s.%s: %s", s.Name, key, fmt.Sprintf(format, values...))
	}
	if len(s.Asks) > 0 {
		keys := lists.Map(s.Asks, func(a application.Ask) string { return a.Key + ": " + cmp.Or(a.What, "it is set") })
		return one, server, fmt.Errorf("services.%s.%s: tare does not support this: if the application works without it, remove it in a second Compose file, %s, and name both files, compose: [compose.yaml, for-tare.yaml]", s.Name, strings.Join(keys, "; "), compose.Resets(app))
	}
	role := roleOf(s.Name, driver)
	one = Service{Name: s.Name, Role: role, Names: s.Names, Hosts: s.Hosts,
		Limits: environment.Limits{CPUs: s.Limits.CPUs, Memory: quantity.Bytes(s.Limits.Memory), PIDs: int(s.Limits.PIDs)}}
	server.Step = workload.Step{
		Entrypoint: true, Role: role, User: workload.Literal(s.User), Dir: workload.Literal(s.Dir), Env: lists.Map(s.Env, workload.Literal),
		Program: literals(s.Entrypoint), Argv: literals(s.Command),
	}
	if s.StopSignal != "" {
		if _, err := signal.ParseSignal(s.StopSignal); err != nil {
			return fail("stop_signal", "%q is not a signal of Linux; expected one such as SIGINT", s.StopSignal)
		}
		server.Stop = s.StopSignal
	}
	server.StopTime = s.StopGrace
	server.Health = healthOf(s)
	server.Completes = completes(app, s)
	for _, v := range s.Secrets {
		source := secret.Source{Name: app.Name + " " + s.Name + " " + v.Name, File: v.File, Key: v.Key, As: secret.OfService}
		if err := checkManifest(source); err != nil {
			return fail("env."+v.Name, "%v", err)
		}
		one.Secrets = append(one.Secrets, ServiceSecret{Name: v.Name, Value: source})
	}
	if lacking := Lacking(s); len(lacking) > 0 {
		return fail("volumes", "there is no %s on this machine, and tare creates none: Compose makes directories of such paths, as mkdir -p does", strings.Join(lacking, ", "))
	}
	for _, v := range s.Volumes {
		if v.Target == "/data" && (v.Kind != "volume" || shared(app, v.Source)) {
			return fail("volumes", "/data is each instance's own directory, at which nothing else can be: use another path, or a volume of this service alone")
		}
		switch v.Kind {
		case "bind":
			from, err := filepath.EvalSymlinks(v.Source)
			if err != nil {
				return fail("volumes", "%s: %v", v.Source, bounded.Cause(err))
			}
			one.Mounts = append(one.Mounts, environment.Mount{From: from, To: v.Target, ReadOnly: v.ReadOnly})
		case "tmpfs":
			one.Mounts = append(one.Mounts, environment.Mount{Memory: true, Size: quantity.Bytes(v.Size), To: v.Target})
		default:
			volume := Volume{To: v.Target, ReadOnly: v.ReadOnly, Empty: v.Empty}
			if shared(app, v.Source) {
				volume.Name, volume.Passed = v.Source, passed(app, v.Source)
			}
			one.Volumes = append(one.Volumes, volume)
		}
	}
	for _, f := range s.Files {
		file, err := fileOf(f, app, s.Name)
		if err != nil {
			return fail(map[bool]string{true: "secrets", false: "configs"}[f.Secret], "%v", err)
		}
		one.Files = append(one.Files, file)
	}
	return one, server, nil
}

// Lacking are the paths of this machine that a service mounts and that are not there, besides
// what is refused anyway.
func Lacking(s application.Service) (paths []string) {
	for _, v := range s.Volumes {
		if _, err := os.Stat(v.Source); v.Kind == "bind" && v.Target != "/data" && errors.Is(err, os.ErrNotExist) && !slices.Contains(paths, v.Source) {
			paths = append(paths, v.Source)
		}
	}
	return paths
}

// Refused are the reasons for which a run does not take services, besides what they ask for
// and what they lack.
func Refused(app *application.Application) (reasons []string) {
	for _, s := range app.Services {
		if len(s.Asks) > 0 || len(Lacking(s)) > 0 {
			s.Asks, s.Volumes = nil, lists.Filter(s.Volumes, func(v application.Volume) bool { return v.Kind != "bind" || v.Target == "/data" })
		}
		if _, _, err := serviceOf(s, app, ""); err != nil {
			reasons = append(reasons, err.Error())
		}
	}
	return reasons
}

func literals(words []string) []string {
	if words == nil {
		return nil
	}
	return append([]string{}, lists.Map(words, workload.Literal)...)
}

// completes says whether a service runs to its end before those after it start.
func completes(app *application.Application, s application.Service) bool {
	return s.Completes || slices.ContainsFunc(app.Services, func(other application.Service) bool {
		return slices.Contains(other.DependsOn, application.Dependency{Service: s.Name, Condition: application.Completed})
	})
}

// usersOf are the services that have a named volume, in their order.
func usersOf(app *application.Application, name string) []application.Service {
	return lists.Filter(app.Services, func(s application.Service) bool {
		return slices.ContainsFunc(s.Volumes, func(v application.Volume) bool { return v.Kind == "volume" && v.Source == name })
	})
}

// shared says whether several services have a named volume.
func shared(app *application.Application, name string) bool {
	return name != "" && len(usersOf(app, name)) > 1
}

// passed says whether the services have a volume one after the other: each but the last
// runs to its end.
func passed(app *application.Application, name string) bool {
	users := usersOf(app, name)
	return !slices.ContainsFunc(users[:len(users)-1], func(s application.Service) bool { return !completes(app, s) })
}

// leastReady is how long a service has at least until it is ready.
const leastReady = time.Minute

func healthOf(s application.Service) *workload.Health {
	h := &workload.Health{NotImage: s.NoHealth, Timeout: leastReady}
	if len(s.Ports) > 0 {
		h.Port = s.Ports[0]
	}
	if c := s.Health; c != nil {
		h.Port, h.Page = cmp.Or(c.Port, h.Port), c.Page
		h.Timeout = max(leastReady, c.StartPeriod+time.Duration(c.Retries)*(c.Interval+c.Timeout))
		if h.Exec = c.Test; c.Shell {
			h.Exec = []string{"/bin/sh", "-c", c.Test[0]}
		}
	}
	return h
}

func fileOf(f application.File, app *application.Application, service string) (file ServiceFile, err error) {
	file = ServiceFile{To: f.Target, From: f.Source, Mode: f.Mode}
	if f.UID != "" || f.GID != "" {
		file.User = cmp.Or(f.UID, "0") + ":" + cmp.Or(f.GID, "0")
	}
	switch {
	case f.Secret && f.Content != "":
		return file, fmt.Errorf("%s: the secret's value is in a file of variables, which the plan would have: give file:, or set the variable in tare's own environment", f.Target)
	case f.Secret:
		file.From = ""
		file.Secret = &secret.Source{Name: app.Name + " " + service + " " + f.Target, File: f.Source, Env: f.Env, Key: f.Key, As: secret.AtPath}
		return file, checkManifest(*file.Secret)
	case f.Source == "":
		file.Content = f.Content
	default:
		content, err := bounded.ReadFile(f.Source, bounded.Output)
		if err != nil {
			return file, fmt.Errorf("%s: %w", f.Source, bounded.Cause(err))
		}
		sum := sha256.Sum256(content)
		file.SHA256 = hex.EncodeToString(sum[:])
	}
	return file, nil
}

// checkManifest says why a run would refuse a secret that is in a manifest.
func checkManifest(s secret.Source) error {
	if s.Key == "" {
		return nil // checked when the application was read
	}
	value, err := objects.SecretValue(s.File, s.Key)
	if err == nil {
		err = s.Check(value)
	}
	if err != nil {
		return fmt.Errorf("%w; a value that is not secret belongs in a ConfigMap", err)
	}
	return nil
}

// checkApplications reports environments that cannot have what services need. The plan is
// what is kept of another one.
func checkApplications(root strictyaml.Node, of, plan *Plan) {
	for i, w := range plan.Workloads {
		if w.Application == nil {
			continue
		}
		at := root.At("workloads", i, "server")
		if len(w.Application.Beside()) > 0 {
			plan.joinNetworks(at, of)
		}
		for _, e := range plan.Environments {
			for _, s := range w.Application.Services {
				in := &e
				if slices.Contains(w.Application.Beside(), s.Name) {
					in = plan.Environment(plan.Baseline)
				}
				if in == nil {
					continue // reported already
				}
				if what, err := s.lacks(in); err != nil {
					at.Problemf("server: environment %s, services.%s.volumes: %s: %s", in.Name, s.Name, what, err)
				}
			}
		}
	}
}

// lacks says what of a service's volumes an environment does not have.
func (s Service) lacks(e *Environment) (what string, err error) {
	options, err := e.Decode()
	if err != nil {
		return "", nil // reported already
	}
	mounts, memory := environment.CheckMounts(e.Kind, options), environment.CheckMemoryMounts(e.Kind, options)
	if e.Inside != nil || e.Host != "" {
		mounts, memory = environment.ErrNoMounts, environment.ErrNoMounts
	}
	for _, m := range s.Mounts {
		if err = mounts; m.Memory {
			err = memory
		}
		if err != nil {
			return m.To, err
		}
	}
	for _, v := range s.Volumes {
		if v.Name != "" && !v.Passed && mounts != nil {
			return v.Name, fmt.Errorf("several services have it at the same time: %w", mounts)
		}
	}
	return "", nil
}

// joinNetworks makes sure that instances of each environment can join a network with those
// of the baseline's, and settles their options in the whole plan too.
func (p *Plan) joinNetworks(at strictyaml.Node, whole *Plan) {
	base := p.Environment(p.Baseline)
	if base == nil {
		return // reported already
	}
	of := base.settleNetwork()
	for i := range p.Environments {
		e := &p.Environments[i]
		if own := e.settleNetwork(); own == "" || own != of {
			at.At("under").Problemf("under: instances of %s (%s) and of the baseline %s (%s) cannot join one network, as containers of one engine with network: bridge can, also with gVisor as its runtime, and pods of one cluster with network: cni; leave out under:, so that all services are in the environment, or leave out the environment", e.Name, e.KindAndHost(), base.Name, base.KindAndHost())
			return
		}
		whole.Environment(e.Name).Options = e.Options
	}
}

// settleNetwork returns what the environment's networks are part of, and gives it the
// options with which that is certain; "" is nothing that others join.
func (e *Environment) settleNetwork() string {
	if e.Inside != nil || e.Host != "" {
		return ""
	}
	can := e.Capabilities()
	if can.SharedNetwork != "" && can.Resolved != nil {
		if encoded, err := json.Marshal(can.Resolved); err == nil {
			e.Options = encoded
		}
	}
	return can.SharedNetwork
}

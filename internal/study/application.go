package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/application"
	"tare/internal/application/compose"
	"tare/internal/application/manifest"
	"tare/internal/application/secret"
	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/workload"
)

// Application is an application whose services are the servers of a workload.
type Application struct {
	Name    string   `json:"name"`
	Files   []string `json:"files"`   // absolute
	Service string   `json:"service"` // that the driver drives
	// Under are the services in the environment under test; nil is all of them. The others
	// are in instances of the baseline's, whichever environment is measured.
	Under    []string  `json:"under,omitempty"`
	Services []Service `json:"services"` // each after those that it depends on
	Notes    []string  `json:"notes,omitempty"`
}

// Service is what an instance of a service has besides what its steps say.
type Service struct {
	Name   string              `json:"name"`
	Role   string              `json:"role"` // that the service plays
	Names  []string            `json:"names"`
	Hosts  map[string]string   `json:"hosts,omitempty"`
	Limits environment.Limits  `json:"limits,omitzero"` // in place of the environment's, where they are set
	Mounts []environment.Mount `json:"mounts,omitempty"`
	// Volumes are directories of the instance's own, or of some instances together.
	Volumes []Volume      `json:"volumes,omitempty"`
	Files   []ServiceFile `json:"files,omitempty"`
	// Secrets are variables of the service alone.
	Secrets []ServiceSecret `json:"secrets,omitempty"`
}

// ServiceSecret is a variable of a service with a secret value.
type ServiceSecret struct {
	Name  string        `json:"name"`
	Value secret.Source `json:"value"` // where it is
}

// Volume is a directory with what the image has there.
type Volume struct {
	Name string `json:"name,omitempty"` // instances with the same name share it; "" is the instance's own
	To   string `json:"to"`
	// Passed: those that share it have it one after the other.
	Passed   bool `json:"passed,omitempty"`
	ReadOnly bool `json:"read_only,omitempty"`
	// Empty: it has nothing of the image, and every user can write to it.
	Empty bool `json:"empty,omitempty"`
}

// ServiceFile is a config, or a secret, of a service.
type ServiceFile struct {
	To      string `json:"to"`
	From    string `json:"from,omitempty"`    // a file of this machine, absolute
	SHA256  string `json:"sha256,omitempty"`  // of a config; a secret has none
	Content string `json:"content,omitempty"` // of a config that is in the file of the application
	// Secret says where the content is of a secret; nil for a config.
	Secret *secret.Source `json:"secret,omitempty"`
	User   string         `json:"user,omitempty"`
	Mode   uint32         `json:"mode"`
}

// Of is the service that plays a role; nil where none does.
func (a *Application) Of(role string) *Service {
	if a == nil {
		return nil
	}
	return lists.Find(a.Services, func(s *Service) bool { return s.Role == role })
}

// Key is equal for two whose services can use the same instances.
func (a *Application) Key() string {
	if a == nil {
		return ""
	}
	text, err := json.Marshal([]any{a.Files, a.Under, a.Services})
	if err != nil {
		panic(err) // of plain values
	}
	return string(text)
}

// services are those of all applications of the plan.
func (p *Plan) services() (all []Service) {
	for _, w := range p.Workloads {
		if w.Application != nil {
			all = append(all, w.Application.Services...)
		}
	}
	return all
}

// Secrets are the sources of all secrets of a run: the plan's, and those of services.
func (p *Plan) Secrets() []secret.Source {
	all := slices.Clone(p.Secret)
	add := func(s *secret.Source) {
		if s != nil && !slices.Contains(all, *s) {
			all = append(all, *s)
		}
	}
	for _, s := range p.services() {
		for _, f := range s.Files {
			add(f.Secret)
		}
		for _, v := range s.Secrets {
			add(&v.Value)
		}
	}
	return all
}

// Tested are the names of the services in the environment under test.
func (a *Application) Tested() []string { return a.names(a.tests) }

// Beside are the names of the services in the baseline's environment.
func (a *Application) Beside() []string {
	return a.names(func(s Service) bool { return !a.tests(s) })
}

func (a *Application) tests(s Service) bool {
	return a.Under == nil || slices.Contains(a.Under, s.Name)
}

func (a *Application) names(of func(Service) bool) []string {
	return lists.Map(lists.Filter(a.Services, of), func(s Service) string { return s.Name })
}

// applicationSection is server: of a workload with an application.
type applicationSection struct {
	Compose  section  `yaml:"compose"`
	Manifest section  `yaml:"manifest"`
	Service  string   `yaml:"service"`
	Under    []string `yaml:"under"`
}

// read is the application that the files say. Its problems are at the key that names them.
func (s applicationSection) read(at strictyaml.Node, directory string) (app *application.Application, key, file string) {
	key, section := "compose", s.Compose
	if s.Manifest.Exists() {
		if key, section = "manifest", s.Manifest; s.Compose.Exists() {
			at.At("manifest").Problemf("manifest: compose: is there too: an application is of one or the other")
			return nil, key, ""
		}
	}
	files := filesOf(section)
	if len(files) == 0 {
		at.Problemf("server: compose: is missing; it names a Compose file, such as ./compose.yaml; or manifest:, a file of Kubernetes objects")
		return nil, key, ""
	}
	for i, name := range files {
		files[i] = strictyaml.In(directory, name)
	}
	var err error
	if key == "manifest" {
		app, err = manifest.Load(files)
	} else {
		app, err = compose.Load(context.Background(), compose.Options{Files: files, Environ: os.Environ()})
	}
	if several := (strictyaml.Problems)(nil); errors.As(err, &several) {
		for _, one := range several {
			at.At(key).Problemf("%s: %s", key, one)
		}
		return nil, key, files[0]
	}
	if err != nil {
		at.At(key).Problemf("%s: %s", key, err)
		return nil, key, files[0]
	}
	return app, key, files[0]
}

// resolveApplication reads the application of a workload and puts its services in the
// place of the pack's server.
func resolveApplication(at strictyaml.Node, pack *workload.Pack, directory string) (*workload.Pack, *Application) {
	var s applicationSection
	at.Decode(&s)
	read, key, file := s.read(at, directory)
	if read == nil {
		return pack, nil
	}
	main := lists.Filter(read.Services, func(s application.Service) bool { return s.Of == "" })
	names := lists.Map(main, func(s application.Service) string { return s.Name })
	known := func(at strictyaml.Node, key, name string) bool {
		if !slices.Contains(names, name) {
			at.Problemf("%s: %s", key, strictyaml.Unknown("service", name, names))
		}
		return slices.Contains(names, name)
	}
	if s.Service == "" {
		at.Problemf("server: service: is missing; it names the service that the load is for: %s", strings.Join(names, ", "))
		return pack, nil
	}
	good := known(at.At("service"), "service", s.Service)
	for i, name := range s.Under {
		good = known(at.At("under", i), "under", name) && good
	}
	if under, given := at.Get("under"); given && len(s.Under) == 0 {
		under.Problemf("under: has no service, so nothing would be in the environment; leave it out for all")
		good = false
	}
	if !good {
		return pack, nil
	}
	for _, one := range read.Services { // what prepares a service is where that is
		if one.Of != "" && slices.Contains(s.Under, one.Of) {
			s.Under = append(s.Under, one.Name)
		}
	}
	app := &Application{Name: read.Name, Files: read.Files, Service: s.Service, Under: s.Under, Notes: read.Notes}
	var services []workload.Service
	for _, one := range read.Services {
		service, server, err := serviceOf(one, read, pack.DriverRole())
		if err != nil {
			at.At(key).Problemf("%s: %s: %s", key, file, err)
			good = false
			continue
		}
		app.Services = append(app.Services, service)
		services = append(services, workload.Service{Server: server, Image: referenceOf(one),
			InBaseline: s.Under != nil && !slices.Contains(s.Under, one.Name)})
	}
	if !good {
		return pack, nil
	}
	served, err := pack.ServedBy(services, roleOf(s.Service, pack.DriverRole()))
	if err != nil {
		at.Problemf("server: %s", err)
		return pack, nil
	}
	return &served, app
}

// filesOf is one file or a list.
func filesOf(s section) (files []string) {
	if one, scalar := s.Scalar(); scalar {
		return []string{one}
	}
	for _, at := range s.Items() {
		var name string
		at.Decode(&name)
		files = append(files, name)
	}
	return files
}

// Words says which services are where.
func (a *Application) Words(baseline string) string {
	words := fmt.Sprintf("%s of %s; the load is for %s", strings.Join(a.Tested(), ", "), strings.Join(lists.Map(a.Files, filepath.Base), ", "), a.Service)
	if beside := a.Beside(); len(beside) > 0 {
		words += fmt.Sprintf("; %s in %s, whichever environment is measured", strings.Join(beside, ", "), baseline)
	}
	return words
}

// Package manifest reads Kubernetes manifests, as kubectl, Helm and Kustomize write them,
// into an application.Application: each pod is a service of it.
//
// It must not know environments, studies or packs, and it starts nothing.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"tare/internal/application"
	"tare/internal/application/manifest/objects"
	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

const mostFiles = 100

// reader reads one application.
type reader struct {
	problems strictyaml.Problems
	notes    []*note
	paths    map[string]string // absolute, by the name of a file

	pods     []*pod
	services []*service
	configs  map[string]*corev1.ConfigMap // by namespace and name
	secrets  map[string]objects.Object
	claims   map[string]bool
}

// pod is one pod of a workload: the service that it becomes, and the containers before it.
type pod struct {
	object    objects.Object
	template  corev1.PodTemplateSpec
	at        *yaml.Node // of its spec
	completes bool       // a Job's
	claims    []string   // of its own, by templates of a StatefulSet
	group     string     // the Service of a StatefulSet
	service   application.Service
	before    []application.Service // init containers
	texts     []text                // that can name Services
}

// text is one that can name a Service.
type text struct{ what, value string }

type service struct {
	object objects.Object
	spec   corev1.ServiceSpec
	pod    *pod // that it selects
}

// Load reads an application from files, and starts nothing. All that is wrong is in the
// error, which is strictyaml.Problems.
func Load(files []string) (*application.Application, error) {
	if len(files) == 0 || len(files) > mostFiles {
		return nil, fmt.Errorf("%d files of manifests are given, and there can be 1 to %d", len(files), mostFiles)
	}
	app := &application.Application{}
	r := &reader{paths: map[string]string{}, configs: map[string]*corev1.ConfigMap{}, secrets: map[string]objects.Object{}, claims: map[string]bool{}}
	var all []objects.Object
	for _, name := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		if app.Files = append(app.Files, path); app.Name == "" {
			base := filepath.Base(path)
			app.Name = strings.TrimSuffix(base, filepath.Ext(base))
		}
		r.paths[name] = path
		some, err := objects.Read(path, name)
		var problems strictyaml.Problems
		if errors.As(err, &problems) {
			r.problems = append(r.problems, problems...)
		} else if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	r.objects(all)
	for _, p := range r.pods {
		r.pod(p)
	}
	if len(r.pods) == 0 && len(r.problems) == 0 {
		r.problems = append(r.problems, strictyaml.Problem{File: files[0], Message: "it has no Deployment, StatefulSet, Pod or Job, so there is nothing to run"})
	}
	r.pods = lists.Filter(r.pods, func(p *pod) bool { return p.service.Name != "" })
	r.connect()
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	for _, p := range r.ordered() {
		app.Services = append(append(app.Services, p.before...), p.service)
	}
	for _, n := range r.notes {
		app.Notes = append(app.Notes, fmt.Sprintf("%s: no effect in %s: %s.", n.key, strings.Join(n.users, ", "), n.why))
	}
	return app, nil
}

func (r *reader) problem(o objects.Object, at *yaml.Node, format string, values ...any) {
	if at == nil {
		at = o.Node
	}
	r.problems = append(r.problems, strictyaml.Problem{File: o.File, Line: at.Line, Column: at.Column,
		Message: strings.ToLower(o.Kind) + " " + o.Name + ": " + fmt.Sprintf(format, values...)})
}

func (r *reader) note(key, why, user string) {
	for _, n := range r.notes {
		if n.key == key && n.why == why {
			n.users = lists.Add(n.users, user)
			return
		}
	}
	r.notes = append(r.notes, &note{key, why, []string{user}})
}

// decoded reads an object as the type that Kubernetes has for it, strictly.
func decoded[T any](r *reader, o objects.Object) (into *T, good bool) {
	into = new(T)
	before := len(r.problems)
	checker{reader: r, object: o, of: o.Name}.walk(o.Node, reflect.TypeFor[T]())
	if len(r.problems) > before {
		return into, false
	}
	if err := json.Unmarshal(o.JSON, into); err != nil {
		r.problem(o, nil, "%s", strings.Join(strings.Fields(err.Error()), " "))
		return into, false
	}
	return into, true
}

// objects sorts the objects by what they are.
func (r *reader) objects(all []objects.Object) {
	seen := map[string]objects.Object{}
	for _, o := range all {
		id := o.Kind + " " + o.Namespace + "/" + o.Name
		if first, twice := seen[id]; twice && slices.Contains(readKinds, o.Kind) {
			if !bytes.Equal(first.JSON, o.JSON) {
				r.problem(o, nil, "there are two of this name, which differ, the other in %s:%d: kubectl would put one in place of the other", first.File, first.Node.Line)
			}
			continue
		}
		seen[id] = o
		switch o.APIVersion + " " + o.Kind {
		case "apps/v1 Deployment":
			if d, good := decoded[appsv1.Deployment](r, o); good {
				r.workload(&pod{object: o, template: d.Spec.Template}, d.Spec.Replicas, d.Spec.Selector)
			}
		case "apps/v1 ReplicaSet":
			if s, good := decoded[appsv1.ReplicaSet](r, o); good {
				r.workload(&pod{object: o, template: s.Spec.Template}, s.Spec.Replicas, s.Spec.Selector)
			}
		case "v1 ReplicationController":
			if c, good := decoded[corev1.ReplicationController](r, o); good {
				p := &pod{object: o}
				if c.Spec.Template != nil {
					p.template = *c.Spec.Template
				}
				r.workload(p, c.Spec.Replicas, &metav1.LabelSelector{MatchLabels: c.Spec.Selector})
			}
		case "apps/v1 StatefulSet":
			if s, good := decoded[appsv1.StatefulSet](r, o); good {
				p := &pod{object: o, template: s.Spec.Template, group: s.Spec.ServiceName}
				for _, c := range s.Spec.VolumeClaimTemplates {
					p.claims = append(p.claims, c.Name)
				}
				r.workload(p, s.Spec.Replicas, s.Spec.Selector)
			}
		case "batch/v1 Job":
			if j, good := decoded[batchv1.Job](r, o); good {
				r.workload(&pod{object: o, template: j.Spec.Template, completes: true}, nil, nil)
			}
		case "v1 Pod":
			if p, good := decoded[corev1.Pod](r, o); good {
				r.workload(&pod{object: o, template: corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}}, nil, nil)
			}
		case "v1 Service":
			if s, good := decoded[corev1.Service](r, o); good {
				r.services = append(r.services, &service{object: o, spec: s.Spec})
			}
		case "v1 ConfigMap":
			if c, good := decoded[corev1.ConfigMap](r, o); good {
				r.configs[o.Namespace+"/"+o.Name] = c
			}
		case "v1 Secret":
			if _, good := decoded[corev1.Secret](r, o); good {
				r.secrets[o.Namespace+"/"+o.Name] = o
			}
		case "v1 PersistentVolumeClaim":
			if _, good := decoded[corev1.PersistentVolumeClaim](r, o); good {
				r.claims[o.Namespace+"/"+o.Name] = true
			}
		default:
			r.unread(o)
		}
	}
}

// readKinds are those of the objects that are read.
var readKinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job", "Pod", "Service", "ConfigMap", "Secret", "PersistentVolumeClaim"}

// unread is an object that is not read: it has no effect, or is a problem.
func (r *reader) unread(o objects.Object) {
	group, _, grouped := strings.Cut(o.APIVersion, "/")
	of := rules()[kinds][o.Kind]
	why := of.noEffect
	switch {
	case why == "" && grouped && group != "apps" && group != "batch":
		why = "tare runs no controllers"
	case of.refused != "":
		r.problem(o, nil, "%s", of.refused)
		return
	case why == "":
		text := fmt.Sprintf("%s %s is not a kind that tare reads", o.APIVersion, o.Kind)
		if meant := strictyaml.Nearest(o.Kind, readKinds); meant != "" {
			text += fmt.Sprintf("; did you mean %q?", meant)
		}
		r.problem(o, nil, "%s (apps/v1 Deployment, ReplicaSet and StatefulSet, batch/v1 Job; v1 Pod, ReplicationController, Service, ConfigMap, Secret and PersistentVolumeClaim)", text)
		return
	}
	r.note(o.Kind, why, o.Name)
}

func (r *reader) workload(p *pod, replicas *int32, selector *metav1.LabelSelector) {
	o := p.object
	if p.at = objects.Find(o.Node, "spec", "template", "spec"); o.Kind == "Pod" {
		p.at = objects.Find(o.Node, "spec")
	}
	if p.at == nil {
		r.problem(o, nil, "spec.template.spec is missing: it has the containers")
		return
	}
	if selector != nil && !selects(selector.MatchLabels, p.template.Labels) {
		r.problem(o, objects.Find(o.Node, "spec", "selector"), "its selector does not match the labels of its template")
	}
	for _, other := range r.pods {
		if other.object.Name == o.Name {
			r.problem(o, nil, "a %s has this name too, and names say which pods are under test: rename one", strings.ToLower(other.object.Kind))
			return
		}
	}
	if replicas != nil && *replicas < 0 {
		r.problem(o, objects.Find(o.Node, "spec", "replicas"), "replicas is %d: it is a number of pods", *replicas)
		return
	}
	if replicas != nil && *replicas == 0 {
		r.note("replicas", "it is 0, and no pod of it is run", o.Name)
		return
	}
	if replicas != nil && *replicas != 1 {
		r.note("replicas", "one pod is run, not "+fmt.Sprint(*replicas), o.Name)
	}
	r.pods = append(r.pods, p)
}

// selects reports whether a selector matches labels.
func selects(selector, own map[string]string) bool {
	return labels.SelectorFromSet(selector).Matches(labels.Set(own))
}

package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"tare/internal/application/manifest/objects"
	"tare/internal/base/strictyaml"
)

// rule is what tare makes of one key: it is read, or it has no effect, and why, or it is
// refused, and what to do.
type rule struct {
	noEffect string
	refused  string
	unless   []string // values with which it says nothing
}

const (
	scheduler = "one machine runs all pods, and places nothing"
	daemon    = "a pod that ends fails its trial"
	api       = "pods have no access to a cluster"
	hardening = "an environment has the restrictions of its options"
	oneNet    = "all pods of an application are on one private network"
	terminal  = "an instance has no terminal, and nothing is written to it"
	reading   = "tare takes the images that are there, and keeps what a pod prints in the run directory"
	onePod    = "one pod of each is run"

	inImage = "make it a part of command:, or of the image"
	noNode  = "instances have nothing of their node: leave it out, if the application works without"
)

// read is a key that goes into the application.
var read = rule{}

// rules are those of the types of which each key has one. A key of such a type without a
// rule is refused: a new one of Kubernetes does not pass unnoticed.
var rules = map[string]map[string]rule{
	"DeploymentSpec": {
		"replicas": read, "selector": read, "template": read, "strategy": {noEffect: onePod}, "minReadySeconds": {noEffect: onePod},
		"revisionHistoryLimit": {noEffect: onePod}, "paused": {noEffect: onePod}, "progressDeadlineSeconds": {noEffect: onePod},
	},
	"StatefulSetSpec": {
		"replicas": read, "selector": read, "template": read, "volumeClaimTemplates": read, "serviceName": read,
		"podManagementPolicy": {noEffect: onePod}, "updateStrategy": {noEffect: onePod}, "revisionHistoryLimit": {noEffect: onePod},
		"minReadySeconds": {noEffect: onePod}, "persistentVolumeClaimRetentionPolicy": {noEffect: onePod}, "ordinals": {noEffect: onePod},
	},
	"JobSpec": {
		"template": read, "selector": read, "manualSelector": read, "backoffLimit": {noEffect: daemon}, "ttlSecondsAfterFinished": {noEffect: onePod},
		"activeDeadlineSeconds": {noEffect: daemon}, "completionMode": {noEffect: onePod}, "podReplacementPolicy": {noEffect: daemon},
		"parallelism": {refused: "tare runs a Job's pod once: leave it out", unless: []string{"1"}},
		"completions": {refused: "tare runs a Job's pod once: leave it out", unless: []string{"1"}},
		"suspend":     {refused: "leave the Job out of the file, or suspend"},
	},
	"PodSpec": {
		"volumes": read, "initContainers": read, "containers": read, "terminationGracePeriodSeconds": read, "securityContext": read,
		"hostAliases": read, "hostname": read, "subdomain": read, "nodeSelector": {noEffect: scheduler}, "affinity": {noEffect: scheduler},
		"tolerations": {noEffect: scheduler}, "topologySpreadConstraints": {noEffect: scheduler}, "schedulerName": {noEffect: scheduler},
		"priorityClassName": {noEffect: scheduler}, "priority": {noEffect: scheduler}, "preemptionPolicy": {noEffect: scheduler},
		"nodeName": {noEffect: scheduler}, "schedulingGates": {noEffect: scheduler}, "readinessGates": {noEffect: api}, "overhead": {noEffect: scheduler},
		"restartPolicy": {noEffect: daemon}, "activeDeadlineSeconds": {noEffect: daemon}, "imagePullSecrets": {noEffect: reading},
		"serviceAccountName": {noEffect: api}, "serviceAccount": {noEffect: api}, "automountServiceAccountToken": {noEffect: api},
		"runtimeClassName": {noEffect: "the environments of the study take its place"}, "enableServiceLinks": {noEffect: "pods find each other by name, not by variables"},
		"dnsPolicy": {noEffect: oneNet, unless: []string{"ClusterFirst"}}, "dnsConfig": {noEffect: oneNet}, "setHostnameAsFQDN": {noEffect: oneNet},
		"hostUsers": {noEffect: hardening}, "os": {noEffect: scheduler}, "resources": {refused: "write limits below resources: of the container"},
		"hostNetwork": {refused: noNode}, "hostPID": {refused: noNode}, "hostIPC": {refused: noNode}, "shareProcessNamespace": {refused: "a pod has one container here: leave it out"},
	},
	"PodSecurityContext": {
		"runAsUser": read, "runAsGroup": read, "fsGroup": read, "fsGroupChangePolicy": read, "runAsNonRoot": {noEffect: hardening}, "seccompProfile": {noEffect: hardening},
		"seLinuxOptions": {noEffect: hardening}, "appArmorProfile": {noEffect: hardening}, "supplementalGroups": {noEffect: "volumes can be written by every user"},
		"supplementalGroupsPolicy": {noEffect: hardening}, "seLinuxChangePolicy": {noEffect: hardening}, "sysctls": {refused: noNode},
	},
	"Container": {
		"name": read, "image": read, "command": read, "args": read, "workingDir": read, "ports": read, "envFrom": read, "env": read, "resources": read,
		"volumeMounts": read, "readinessProbe": read, "startupProbe": read, "livenessProbe": {noEffect: daemon}, "securityContext": read,
		"imagePullPolicy": {noEffect: reading}, "terminationMessagePath": {noEffect: reading}, "terminationMessagePolicy": {noEffect: reading},
		"resizePolicy": {noEffect: scheduler}, "stdin": {noEffect: terminal}, "stdinOnce": {noEffect: terminal}, "tty": {noEffect: terminal},
		"lifecycle": {refused: inImage}, "volumeDevices": {refused: noNode},
		"restartPolicy": {refused: "a container beside another one in its pod is not run: make it a Deployment, or leave it out"},
	},
	"SecurityContext": {
		"runAsUser": read, "runAsGroup": read, "privileged": {refused: noNode}, "capabilities": read, "procMount": {refused: noNode},
		"runAsNonRoot": {noEffect: hardening}, "readOnlyRootFilesystem": {noEffect: hardening}, "allowPrivilegeEscalation": {noEffect: hardening, unless: []string{"false"}},
		"seccompProfile": {noEffect: hardening}, "appArmorProfile": {noEffect: hardening}, "seLinuxOptions": {noEffect: hardening},
	},
	"Capabilities":         {"add": {refused: noNode}, "drop": {noEffect: hardening}},
	"ResourceRequirements": {"limits": read, "requests": {noEffect: "a limit has an effect"}, "claims": {refused: noNode}},
	"Volume": {
		"name": read, "emptyDir": read, "configMap": read, "secret": read, "persistentVolumeClaim": read, "hostPath": read,
	},
	"VolumeMount": {
		"name": read, "mountPath": read, "readOnly": read, "subPath": read, "recursiveReadOnly": {noEffect: hardening}, "mountPropagation": {refused: noNode, unless: []string{"None"}},
	},
	"EnvVarSource":  {"configMapKeyRef": read, "secretKeyRef": read, "fieldRef": read},
	"ContainerPort": {"name": read, "containerPort": read, "protocol": read, "hostPort": {noEffect: "the load reaches a pod on its own network"}, "hostIP": {noEffect: "the load reaches a pod on its own network"}},
}

// unknown says what to do with a key of a type that has rules, and none for it.
var unknown = map[string]string{
	"Volume":       "tare has no volumes of this type: make it emptyDir, configMap, secret, persistentVolumeClaim or hostPath",
	"EnvVarSource": "its value is not known here: write value:",
}

// note is a key, or a kind of object, that has no effect.
type note struct {
	key, why string
	users    []string
}

// checker holds an object to the type that Kubernetes has for it.
type checker struct {
	*reader
	object objects.Object
	of     string // what it is, for notes
}

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

// walk looks at a value, and at the keys in it.
func (c checker) walk(node *yaml.Node, t reflect.Type) {
	node = objects.Resolved(node)
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" || reflect.PointerTo(t).Implements(decodesItself) {
		return
	}
	wrong := func(want string) { c.problem(c.object, node, "expected %s", want) }
	scalar := node.Kind == yaml.ScalarNode
	switch t.Kind() {
	case reflect.Pointer:
		c.walk(node, t.Elem())
	case reflect.Struct:
		if node.Kind != yaml.MappingNode {
			wrong("a mapping (key: value)")
			return
		}
		c.keys(node, t)
	case reflect.Map:
		if node.Kind != yaml.MappingNode {
			wrong("a mapping (key: value)")
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			c.walk(node.Content[i+1], t.Elem())
		}
	case reflect.Slice:
		switch {
		case t.Elem().Kind() == reflect.Uint8:
			if !scalar {
				wrong("text in base64")
			}
		case node.Kind != yaml.SequenceNode:
			wrong("a list")
		default:
			for _, item := range node.Content {
				c.walk(item, t.Elem())
			}
		}
	case reflect.String:
		if !scalar {
			wrong("text")
		} else if node.Tag != "!!str" && node.Tag != "!!timestamp" {
			c.problem(c.object, node, "expected text: put it in quotes, %q", node.Value)
		}
	case reflect.Bool:
		if !scalar || node.Tag != "!!bool" {
			wrong("true or false")
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if !scalar || node.Tag != "!!int" {
			wrong("a whole number")
		}
	}
}

// keys looks at the keys of a mapping.
func (c checker) keys(node *yaml.Node, t reflect.Type) {
	fields := fieldsOf(t)
	known, limited := rules[t.Name()]
	for i := 0; i+1 < len(node.Content); i += 2 {
		at, value := node.Content[i], objects.Resolved(node.Content[i+1])
		key := at.Value
		if key == "<<" {
			if value.Kind == yaml.MappingNode {
				c.keys(value, t)
			}
			continue
		}
		field, is := fields[key]
		if !is {
			text := fmt.Sprintf("%s: Kubernetes has no such key in %s", key, t.Name())
			if meant := strictyaml.Nearest(key, slices.Sorted(maps.Keys(fields))); meant != "" {
				text += fmt.Sprintf("; did you mean %q?", meant)
			}
			c.problem(c.object, at, "%s", text)
			continue
		}
		r, has := known[key]
		if limited && !has {
			r.refused = unknown[t.Name()]
			if r.refused == "" {
				r.refused = "tare does not support it: leave it out, if the application works without"
			}
		}
		if said := says(value, r.unless); said && r.refused != "" {
			c.problem(c.object, at, "%s: %s", key, r.refused)
		} else if said && r.noEffect != "" {
			c.note(key, r.noEffect, c.of)
		} else if said {
			c.walk(value, field)
		}
	}
}

// says reports whether a value is more than the absence of its key.
func says(node *yaml.Node, unless []string) bool {
	if node.Kind == yaml.ScalarNode {
		return node.Tag != "!!null" && (node.Tag == "!!str" || node.Value != "false") && !slices.Contains(unless, node.Value)
	}
	return len(node.Content) > 0 || node.Kind == yaml.MappingNode
}

// fieldsOf are the types of the keys of a type.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (name == "" || strings.Contains(options, "inline")):
			maps.Copy(all, fieldsOf(f.Type))
		case name != "" && name != "-":
			all[name] = f.Type
		}
	}
	return all
}

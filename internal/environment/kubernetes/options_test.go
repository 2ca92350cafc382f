package kubernetes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/image"
)

func TestOptionsThatCannotBeAreNamed(t *testing.T) {
	negative := int64(-1)
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) {}, ""},
		{func(o *Options) { o.RuntimeClass, o.Namespace = "gvisor", "bench" }, ""},
		{func(o *Options) { o.Service, o.Ports = "cluster_ip", []int{6379} }, ""},
		{func(o *Options) { o.Data, o.StorageSize = "pvc", quantity.GiB }, ""},
		{func(o *Options) { o.Tolerations = []Toleration{{Operator: "Exists"}} }, ""},
		{func(o *Options) { o.Image, o.Pull = "registry.example/x@sha256:1", "always" }, ""},
		{func(o *Options) { o.Network = "bridge" }, `network: "bridge" is not known: choose one of cni, host`},
		{func(o *Options) { o.Service = "ingress" }, `service: "ingress" is not known`},
		{func(o *Options) { o.Data = "bind" }, `data: "bind" is not known`},
		{func(o *Options) { o.RuntimeClass = "Kata_1" }, `runtime_class: "Kata_1" is not a name of an object`},
		{func(o *Options) { o.NodeSelector = map[string]string{"a b": "c"} }, "node_selector: a b: c is not a label"},
		{func(o *Options) { o.Tolerations = []Toleration{{Value: "x"}} }, "tolerations: one without a key"},
		{func(o *Options) { o.Tolerations = []Toleration{{Key: "x", Effect: "Never"}} }, `tolerations: effect: "Never" is not known`},
		{func(o *Options) { o.Service = "node_port" }, "ports: service: node_port needs the ports"},
		{func(o *Options) { o.Service, o.Ports = "node_port", []int{6379} }, "ports: 6379 cannot be a NodePort"},
		{func(o *Options) { o.Service, o.Ports = "cluster_ip", []int{1, 1} }, "ports: 1 is listed twice"},
		{func(o *Options) { o.Service, o.Ports = "cluster_ip", []int{70000} }, "ports: 70000 is not a port"},
		{func(o *Options) { o.Ports = []int{80} }, "ports: all ports of a pod's IP are reached"},
		{func(o *Options) { o.Network, o.Service, o.Ports = "host", "cluster_ip", []int{80} }, "service: a pod with network: host"},
		{func(o *Options) { o.Data = "pvc" }, "storage_size: data: pvc needs the size"},
		{func(o *Options) { o.StorageClass = "fast" }, "storage_class, storage_size: only data: pvc"},
		{func(o *Options) { o.Pull = "always" }, "pull: always needs image or images:"},
		{func(o *Options) {
			o.Images, o.Pull = map[string]string{"redis:7": "registry.example/redis@sha256:1"}, "missing"
		}, ""},
		{func(o *Options) { o.Images = map[string]string{"redis:7": ""} }, "images: redis:7 has no name"},
		{func(o *Options) { o.Image, o.Images = "x", map[string]string{"redis:7": "y"} }, "image: images names each image"},
		{func(o *Options) { o.Usage = "node" }, ""},
		{func(o *Options) { o.Usage = "all" }, `usage: "all" is not known: choose one of local, node, metrics`},
		{func(o *Options) { o.User = &negative }, "run_as_user: must not be negative"},
	} {
		o := defaults()
		c.change(o)
		err := o.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", o, err, c.want)
		}
	}
}

func TestLimitsThatAPodCannotHaveAreRefused(t *testing.T) {
	for _, c := range []struct {
		request environment.Request
		want    string
	}{
		{environment.Request{Limits: environment.Limits{CPUs: 1, Memory: quantity.GiB}}, ""},
		{environment.Request{Limits: environment.Limits{Cores: []int{1}}}, "limits: pin: "},
		{environment.Request{Limits: environment.Limits{PIDs: 9}}, "limits: pids: "},
		{environment.Request{Limits: environment.Limits{IO: environment.IO{Read: 1}}}, "limits: io: "},
		{environment.Request{Mounts: []environment.Mount{{From: "/srv", To: "/srv"}}}, "mounts: "},
		{environment.Request{Mounts: []environment.Mount{{Memory: true, To: "/cache"}}}, ""},
	} {
		if err := unsettable(c.request); (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.request, err, c.want)
		}
	}
}

func TestEachImageHasTheNameThatTheOptionsGiveIt(t *testing.T) {
	redis, made := &image.Image{Name: "redis:7", Digest: "sha256:12"}, &image.Image{Name: "recipe 1a2b3c", Digest: "sha256:34"}
	o := defaults()
	o.Images = map[string]string{"redis:7": "registry.example/redis@sha256:56"}
	for _, c := range []struct {
		image *image.Image
		pull  string
		name  string
		want  corev1.PullPolicy
	}{
		{redis, "", "registry.example/redis@sha256:56", corev1.PullIfNotPresent},
		{redis, "always", "registry.example/redis@sha256:56", corev1.PullAlways},
		{redis, "never", "registry.example/redis@sha256:56", corev1.PullNever},
		{made, "always", "localhost/tare:34", corev1.PullNever}, // loaded on the nodes
	} {
		o.Pull = c.pull
		name, named := o.reference(c.image)
		if policy := o.pullPolicy(named); name != c.name || policy != c.want {
			t.Errorf("%s with pull %q: %s, %s", c.image.Name, c.pull, name, policy)
		}
	}
	o.Images["recipe"] = "registry.example/tools@sha256:78"
	if name, _ := o.reference(made); name != o.Images["recipe"] {
		t.Errorf("an image that tare made: %s", name)
	}
}

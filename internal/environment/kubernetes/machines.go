package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/kubernetes/vmi"
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

// schedulable is the label of nodes on which KubeVirt runs VMs.
const schedulable = "kubevirt.io/schedulable"

// shared are the options that pods and VMs have.
var shared = map[string]bool{"as": true, "kubeconfig": true, "context": true, "namespace": true}

// machines is the environment of VMs of KubeVirt.
type machines struct {
	vmi.Machines
	pods *pods
}

// placed are VMs that are made for a node.
type placed struct{ *machines }

func (p *pods) machines() environment.Environment {
	m := &machines{vmi.Machines{Options: p.options.machine(), Access: func() (vmi.Access, error) { return access(p.connect()) }, Claim: p.claim}, p}
	if m.Options.Mode == hypervisor.Start {
		return m
	}
	return placed{m}
}

// claim is that of VMs, which have no other part of a cluster.
func (p *pods) claim(ctx context.Context, o *cleanup.Owner) (release func(context.Context) error, err error) {
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	return c.claim(ctx, o)
}

// Prepare removes what coordinators left whose leases have expired. The image is copied to
// each VM when it is started.
func (m *machines) Prepare(ctx context.Context, _ *image.Image, progress func(string)) error {
	c, err := m.pods.connect()
	if err != nil {
		return err
	}
	return c.clear(ctx, progress)
}

// access is the part of a connection that VMs need.
func access(c *cluster, err error) (vmi.Access, error) {
	if err != nil {
		return vmi.Access{}, err
	}
	return c.access(), nil
}

func (c *cluster) access() vmi.Access {
	return vmi.Access{Config: c.config, Namespace: c.Namespace, Owners: c.coordinator(), At: c.address}
}

// Versions returns the version of the cluster.
func (m *machines) Versions(ctx context.Context) map[string]string { return m.pods.Versions(ctx) }

// Nodes lists the nodes that are ready and on which KubeVirt runs VMs.
func (p placed) Nodes(ctx context.Context) ([]string, error) {
	on := *p.pods
	on.options.NodeSelector = map[string]string{schedulable: "true"}
	return on.Nodes(ctx)
}

// Beside returns pods.
func (p placed) Beside() environment.Environment {
	o := *defaults()
	o.Kubeconfig, o.Context, o.Namespace = p.pods.options.Kubeconfig, p.pods.options.Context, p.pods.options.Namespace
	return &pods{options: o, connect: p.pods.connect}
}

// machine are the options of a VM with every default filled in.
func (o *Options) machine() hypervisor.Options {
	m, given := hypervisor.Defaults(), reflect.ValueOf(o.Options)
	for n := range given.NumField() {
		if !given.Field(n).IsZero() {
			reflect.ValueOf(&m).Elem().Field(n).Set(given.Field(n))
		}
	}
	return m
}

// validateAs refuses what pods have in VMs, and the other way round.
func (o *Options) validateAs() (wrong []error) {
	of, except := "a VM of KubeVirt (as: vmi)", reflect.ValueOf(*defaults())
	given := reflect.ValueOf(*o)
	if o.As == "pod" {
		of, given, except = "a pod", reflect.ValueOf(o.Options), reflect.ValueOf(hypervisor.Options{})
	}
	for n := range given.NumField() {
		key, _, _ := strings.Cut(given.Type().Field(n).Tag.Get("yaml"), ",")
		if key != "" && !shared[key] && !reflect.DeepEqual(given.Field(n).Interface(), except.Field(n).Interface()) {
			wrong = append(wrong, strictyaml.AtKey(key, "%s does not have it; remove it", of))
		}
	}
	return wrong
}

// needed are the permissions for VMs: deploy/kubernetes/role-kubevirt.yaml has the same.
func needed(o hypervisor.Options) []permission {
	list := []permission{
		{"kubevirt.io", "virtualmachineinstances", "", []string{"create", "get", "list", "watch", "delete"}},
		{"kubevirt.io", "virtualmachines", "", []string{"get"}},
		{"coordination.k8s.io", "leases", "", []string{"create", "get", "list", "update", "delete"}},
	}
	if o.Mode == hypervisor.Start {
		list[1].verbs = append(list[1].verbs, "patch")
	}
	return list
}

func (o *Options) ofMachines(answers environment.Requirement, with func(func(context.Context, *cluster) environment.Finding) func(context.Context) environment.Finding) []environment.Requirement {
	m := o.machine()
	return append([]environment.Requirement{answers, {
		What: "permission for KubeVirt's objects", Check: with(func(ctx context.Context, c *cluster) environment.Finding {
			lacks, err := c.lacks(ctx, needed(m))
			if err != nil {
				return environment.Lacks(err.Error(), environment.Fix{})
			}
			if len(lacks) > 0 {
				return environment.Lacks(fmt.Sprintf("in %s the user may not: %s", c.name(), strings.Join(lacks, ", ")),
					environment.Advice("kubectl apply -n "+c.Namespace+" -f deploy/kubernetes/role.yaml -f deploy/kubernetes/role-kubevirt.yaml, and a RoleBinding to the latter"))
			}
			return environment.Finding{State: environment.Usable}
		}),
	}}, vmi.Requirements(m, func() (vmi.Access, error) { return access(o.connect()) })...)
}

// sweepMachines removes the VMs of dead owners.
func sweepMachines(ctx context.Context, home string, dead func(string) bool) ([]string, error) {
	return vmi.Sweep(ctx, home, dead, func(at json.RawMessage) (vmi.Access, error) {
		var noted address
		if err := json.Unmarshal(at, &noted); err != nil {
			return vmi.Access{}, err
		}
		return access(open(noted))
	})
}

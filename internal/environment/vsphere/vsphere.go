// Package vsphere runs an image in a virtual machine of VMware vSphere, through the
// API of a vCenter or an ESXi host. The VM is a clone of a template or the template
// itself, and its guest is reached over SSH. The VM runs on another machine, so
// resource use is measured only inside the guest.
//
// It must not know workloads, studies or statistics.
package vsphere

import (
	"context"
	"encoding/json"
	"fmt"

	"tare/internal/environment"
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

const kind = "vsphere"

func init() {
	environment.Register(environment.Registration{
		Kind:     kind,
		About:    "a virtual machine under VMware vSphere, cloned from a template and reached over SSH",
		Options:  func() any { return defaults() },
		Parts:    environment.Parts{Switches: environment.InOrder("cpus", "memory")},
		Requires: func(o any) []environment.Requirement { return requirements(*o.(*Options)) },
		New:      func(o any) (environment.Environment, error) { return &machines{*o.(*Options)}, nil },
		Sweep: func(ctx context.Context, home string, dead func(string) bool) ([]string, error) {
			return hypervisor.Sweep(ctx, kind, home, dead, func(_ context.Context, at json.RawMessage) (hypervisor.Hypervisor, func(), error) {
				var w way
				if err := json.Unmarshal(at, &w); err != nil {
					return nil, nil, err
				}
				s := newSphere(Options{Access: w.Access, Folder: w.Folder})
				return s, s.center.close, nil
			})
		},
	})
}

type machines struct{ options Options }

// Label marks values of programs that are not the image's. There is no label for
// software emulation, since ESXi has none.
func (m *machines) Label() string { return m.options.Label() }

// Versions returns the version of the server.
func (m *machines) Versions(ctx context.Context) map[string]string {
	s := newSphere(m.options)
	defer s.center.close()
	versions := map[string]string{}
	if v, err := s.version(ctx); err == nil {
		versions["vsphere"] = v
	}
	return versions
}

// Prepare does nothing: the image is copied to each VM when it is started.
func (m *machines) Prepare(context.Context, *image.Image, func(string)) error { return nil }

type instance struct {
	hypervisor.RemoteGuest
	sphere *sphere
}

// Start starts a VM and returns after its agent's first message.
func (m *machines) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	s := newSphere(m.options)
	g, err := hypervisor.Begin(ctx, hypervisor.Backend{Kind: kind, Hypervisor: s, At: s.way()}, m.options.Options, r, nil)
	if err != nil {
		s.center.close()
		return nil, err
	}
	if n, ours := r.Network.(*hypervisor.Existing); ours {
		n.Learn(g)
	}
	return &instance{hypervisor.RemoteGuest{Guest: g, Unseen: inside}, s}, nil
}

// Paths of packets and blocks.
func (i *instance) Paths() environment.Paths {
	disk := "vSphere's virtual disk"
	if i.VM.Mode == hypervisor.Linked {
		disk += ", what differs from the template's"
	}
	return i.PathsOn(disk, "virtual network card, port group of vSphere")
}

// inside is the note on values that are measured inside a guest.
const inside = "measured inside the guest: the resource use of ESXi for the VM is not included, since tare cannot read it"

// Stop stops and removes the VM.
func (i *instance) Stop(ctx context.Context) error {
	defer i.sphere.center.close()
	return i.Guest.Stop(ctx)
}

// NewNetwork returns the existing port group of the VMs, over which they and this
// machine communicate.
func (m *machines) NewNetwork(_ context.Context, _ *cleanup.Owner, _ string) (environment.Network, error) {
	u, err := m.options.address()
	if err != nil {
		return nil, err
	}
	facing, err := hypervisor.LocalAddress(u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("finding the address of this machine that %s can reach: %w", u.Hostname(), err)
	}
	return hypervisor.NewExisting("port group of vSphere", facing), nil
}

func requirements(o Options) []environment.Requirement {
	return append([]environment.Requirement{
		{What: "a vCenter or ESXi host to log in to", Check: func(context.Context) environment.Finding {
			if o.URL == "" {
				return environment.Lacks("a study names it", environment.Advice("in a study: {kind: vsphere, url: https://vcenter.example.org, account: ..., template: ...}, and the password in $"+o.PasswordEnv))
			}
			return environment.Finding{State: environment.Usable, Reason: o.Account + " at " + o.URL}
		}},
		{What: "a vCenter or ESXi host that accepts the account", Check: func(ctx context.Context) environment.Finding {
			s := newSphere(o)
			defer s.center.close()
			version, err := s.version(ctx)
			if err != nil {
				return environment.Lacks(err.Error(), environment.Advice(o.fix(err)))
			}
			return environment.Finding{State: environment.Usable, Reason: version}
		}},
		{What: "experience with the real vSphere", Check: hypervisor.Untried("the API was tested only against the simulator vcsim")},
	}, o.Requirements(func(context.Context) (hypervisor.Hypervisor, func(), error) {
		s := newSphere(o)
		return s, s.center.close, nil
	})...)
}

func (o Options) fix(err error) string {
	if _, missing := o.password(); missing != nil {
		return "export " + o.PasswordEnv + "=..., or password_file in the study"
	}
	if hypervisor.Untrusted(err) {
		return "ca_file: the file of the certificate authority, or insecure: true"
	}
	return ""
}

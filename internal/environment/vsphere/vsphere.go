// Package vsphere runs an image in a virtual machine of VMware vSphere, through
// the API of a vCenter or an ESXi host: a VM is cloned from a template or the
// template is taken, and its guest is reached over SSH. The VM runs on another
// machine, so only what is inside of it is seen.
//
// It must not know workloads, studies or statistics.
package vsphere

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/environment/support/hypervisor"
	"tare/internal/image"
	"tare/internal/sample"
)

const kind = "vsphere"

func init() {
	environment.Register(environment.Registration{
		Kind:     kind,
		About:    "a virtual machine under VMware vSphere, cloned from a template and reached over SSH",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(*o.(*Options)) },
		New: func(o any) (environment.Environment, error) {
			options := *o.(*Options)
			if err := options.Validate(); err != nil {
				return nil, err
			}
			return &machines{options}, nil
		},
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

// machines is the environment.
type machines struct{ options Options }

// Label says that other programs run than in the image. ESXi emulates no
// processor in software.
func (m *machines) Label() string { return m.options.Label() }

// Versions of the server.
func (m *machines) Versions(ctx context.Context) map[string]string {
	s := newSphere(m.options)
	defer s.center.close()
	versions := map[string]string{}
	if v, err := s.version(ctx); err == nil {
		versions["vsphere"] = v
	}
	return versions
}

// Prepare makes nothing: the image goes to each VM when it is started.
func (m *machines) Prepare(context.Context, *image.Image, func(string)) error { return nil }

// instance is one VM.
type instance struct {
	*hypervisor.Guest
	sphere *sphere
}

// Start makes a VM and returns at its agent's first word.
func (m *machines) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	s := newSphere(m.options)
	g, err := hypervisor.Begin(ctx, hypervisor.Backend{Kind: kind, Hypervisor: s, At: s.way()}, m.options.Options, r, nil)
	if err != nil {
		s.center.close()
		return nil, err
	}
	if n, ours := r.Network.(*network); ours {
		n.learn(g.Facing())
	}
	return &instance{g, s}, nil
}

// Paths of packets and blocks.
func (i *instance) Paths() environment.Paths {
	paths := i.Inside().Paths()
	paths.Network = "virtual network card, port group of vSphere"
	disk := "vSphere's virtual disk"
	if i.VM.Mode == hypervisor.Linked {
		disk += ", what differs from the template's"
	}
	for _, p := range []*string{&paths.Root, &paths.Data} {
		if *p != "" {
			*p += " on "
		}
		*p += disk
	}
	paths.RootOn, paths.DataOn = "", "" // those are the guest's
	return paths
}

// Footprint is empty: nothing of the VM runs here. See Meter.
func (i *instance) Footprint() sample.Footprint { return sample.Footprint{} }

// inside is what every figure lacks that is read from inside of a guest.
const inside = "counted inside of the guest: what ESXi itself spends on the VM is not in it, and no way leads there"

// Meter counts what the guest's processes use, inside.
func (i *instance) Meter(o sample.Options) sample.Meter {
	return meter{environment.Meter(i.Inside(), o)}
}

type meter struct{ sample.Meter }

func (m meter) Stop() sample.Usage { return fromInside(m.Meter.Stop()) }

// UsageOfStart is what the instance has used inside of its guest.
func (i *instance) UsageOfStart() sample.Usage {
	return fromInside(environment.UsageOfStart(i.Inside()))
}

func fromInside(u sample.Usage) sample.Usage {
	u.Notes = append(u.Notes, inside)
	return u
}

// Stop ends and removes the VM.
func (i *instance) Stop(ctx context.Context) error {
	defer i.sphere.center.close()
	return i.Guest.Stop(ctx)
}

// NewNetwork is the port group that the VMs are on anyway, and from which they
// and this machine reach each other.
func (m *machines) NewNetwork(_ context.Context, _ *cleanup.Owner, _ string) (environment.Network, error) {
	u, err := m.options.address()
	if err != nil {
		return nil, err
	}
	facing, err := hypervisor.Facing(u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("by which address this machine is reached from %s: %w", u.Hostname(), err)
	}
	return &network{host: facing}, nil
}

type network struct {
	mu   sync.Mutex
	host string
}

func (n *network) Path() string { return "port group of vSphere" }

// Host is the address that the guests see; until the first one is there, that
// which the server sees.
func (n *network) Host() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

func (n *network) learn(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if host != "" {
		n.host = host
	}
}

func (n *network) Close(context.Context) error { return nil }

func requirements(o Options) []environment.Requirement {
	return append([]environment.Requirement{
		{What: "a server and an account in the study", Check: func(context.Context) environment.Finding {
			if o.URL == "" {
				return environment.Finding{State: environment.Missing, Reason: "needs a study that names a vCenter or an ESXi host", Fix: "in a study: {kind: vsphere, url: https://vcenter.example.org, account: ..., template: ...}, and the password in $" + o.PasswordEnv}
			}
			return environment.Finding{State: environment.Usable, Reason: o.Account + " at " + o.URL}
		}},
		{What: "a vCenter or ESXi host that lets the account in", Check: func(ctx context.Context) environment.Finding {
			s := newSphere(o)
			defer s.center.close()
			version, err := s.version(ctx)
			if err != nil {
				return environment.Finding{State: environment.Missing, Reason: err.Error(), Fix: o.mend(err)}
			}
			return environment.Finding{State: environment.Usable, Reason: version}
		}},
		{What: "experience with the real vSphere", Check: hypervisor.Untried("the API was tested against its simulator vcsim alone")},
	}, o.Requirements(func(context.Context) (hypervisor.Hypervisor, func(), error) {
		s := newSphere(o)
		return s, s.center.close, nil
	})...)
}

func (o Options) mend(err error) string {
	if _, missing := o.password(); missing != nil {
		return "export " + o.PasswordEnv + "=..., or password_file in the study"
	}
	if hypervisor.Untrusted(err) {
		return "ca_file: the file of the certificate authority, or insecure: true"
	}
	return ""
}

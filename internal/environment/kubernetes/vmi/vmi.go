// Package vmi runs an image in a virtual machine of KubeVirt, through the API objects
// VirtualMachine and VirtualMachineInstance of a Kubernetes cluster. The VM is made from
// a VirtualMachine that serves as template, or is this one itself, and its guest is
// reached over SSH. It runs on a node, so its resource use is measured inside the guest.
//
// It must not know how a cluster is found, nor workloads, studies or statistics.
package vmi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

// name of the technology in messages and in the names of notes.
const name = "kubevirt"

var (
	errClone   = strictyaml.AtKey("mode", "clone is not supported on KubeVirt, which copies disks only with snapshots of the storage or CDI: use linked, whose writes are discarded, or start")
	errRestore = strictyaml.AtKey("mode", "restore is not supported on KubeVirt, which reverts VMs only with snapshots of the storage: use linked, whose writes are discarded, or start")
)

// Validate returns every error in the options of a VM.
func Validate(o *hypervisor.Options) error {
	var own []error
	switch o.Mode {
	case hypervisor.Clone:
		own = append(own, errClone)
	case hypervisor.Restore:
		own = append(own, errRestore)
	}
	if o.Snapshot != "" {
		own = append(own, strictyaml.AtKey("snapshot", "a VirtualMachine of KubeVirt has one state, that of its disks: remove snapshot"))
	}
	return hypervisor.Validate(o, own...)
}

// Machines is the environment of VMs.
type Machines struct {
	Options hypervisor.Options
	Access  func() (Access, error)
	// Claim makes the claim by which others find what a dead owner left; nil makes none.
	Claim func(context.Context, *cleanup.Owner) (release func(context.Context) error, err error)
}

func (m *Machines) open() (*cluster, error) {
	a, err := m.Access()
	if err != nil {
		return nil, err
	}
	return open(a)
}

// Label marks values of programs that are not the image's.
func (m *Machines) Label() string { return m.Options.Label() }

// Prepare does nothing: the image is copied to each VM when it is started.
func (m *Machines) Prepare(context.Context, *image.Image, func(string)) error { return nil }

// Versions is empty: KubeVirt's version is in an object of its own namespace, which tare
// has no right to read.
func (m *Machines) Versions(context.Context) map[string]string { return nil }

type instance struct {
	hypervisor.RemoteGuest
	cluster *cluster
	release func(context.Context) error // of the claim
	once    sync.Once
}

// ErrCores refuses cores by number.
var ErrCores = errors.New("limits: pin: KubeVirt does not let a VM choose its cores: remove the cores of roles; dedicatedCpuPlacement in the template gives it cores of its own")

// Start starts a VM and returns after its agent's first message.
func (m *Machines) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	if len(r.Limits.Cores) > 0 {
		return nil, ErrCores
	}
	if r.Node != "" && m.Options.Mode == hypervisor.Start {
		return nil, fmt.Errorf("mode: start runs the VirtualMachine %s where KubeVirt puts it, and not on node %s: use mode: linked", m.Options.Template, r.Node)
	}
	c, err := m.open()
	if err != nil {
		return nil, err
	}
	c.node = r.Node
	release := func(context.Context) error { return nil }
	if m.Claim != nil {
		if release, err = m.Claim(ctx, r.Owner); err != nil {
			c.close()
			return nil, err
		}
	}
	g, err := hypervisor.Begin(ctx, hypervisor.Backend{Kind: name, Hypervisor: c, At: c.access.At}, m.Options, r, nil)
	if err != nil {
		c.close()
		return nil, errors.Join(err, release(context.WithoutCancel(ctx)))
	}
	if n, ours := r.Network.(*hypervisor.Existing); ours {
		n.Learn(g)
	}
	return &instance{RemoteGuest: hypervisor.RemoteGuest{Guest: g, Unseen: inside}, cluster: c, release: release}, nil
}

// Stop stops and removes the VM. Where that fails the claim stays, so that a sweep finds it.
func (i *instance) Stop(ctx context.Context) (err error) {
	defer i.cluster.close()
	if err = i.Guest.Stop(ctx); err == nil {
		i.once.Do(func() { err = i.release(context.WithoutCancel(ctx)) })
	}
	return err
}

// inside is the note on values that are measured inside a guest.
const inside = "measured inside the guest: the resource use of virt-launcher and QEMU for the VM is not included, since tare cannot read it"

// Paths of packets and blocks.
func (i *instance) Paths() environment.Paths {
	disk := "KubeVirt's virtual disk"
	if i.VM.Mode == hypervisor.Linked {
		disk += ", what differs from the template's"
	}
	return i.PathsOn(disk, "virtual network card, pod network")
}

// NewNetwork returns the pod network, over which the VMs and this machine communicate.
func (m *Machines) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	a, err := m.Access()
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(a.Config.Host)
	if err != nil {
		return nil, fmt.Errorf("the address of the API server: %w", err)
	}
	facing, err := hypervisor.LocalAddress(server.Hostname())
	if err != nil {
		return nil, fmt.Errorf("finding the address of this machine that %s can reach: %w", server.Hostname(), err)
	}
	return hypervisor.NewExisting("the cluster's pod network", facing), nil
}

// Requirements are KubeVirt's API, the template, and a key of its guest.
func Requirements(o hypervisor.Options, access func() (Access, error)) []environment.Requirement {
	m := &Machines{Options: o, Access: access}
	return append([]environment.Requirement{
		{What: "KubeVirt's API", Check: func(ctx context.Context) environment.Finding {
			c, err := m.open()
			if err == nil {
				defer c.close()
				_, err = c.instances.List(ctx, metav1.ListOptions{Limit: 1})
			}
			if err != nil {
				var fix environment.Fix
				if apierrors.IsNotFound(err) {
					fix = environment.Advice("install KubeVirt in the cluster, or use as: pod")
				}
				return environment.Lacks(fmt.Sprintf("listing VirtualMachineInstances: %v", err), fix)
			}
			return environment.Finding{State: environment.Usable, Reason: "kubevirt.io/v1 in namespace " + c.access.Namespace}
		}},
		{What: "experience with the real KubeVirt", Check: hypervisor.Untried("the API objects were tested only against a real API server with a double of KubeVirt's controllers")},
	}, o.Requirements(func(context.Context) (hypervisor.Hypervisor, func(), error) {
		c, err := m.open()
		if err != nil {
			return nil, nil, err
		}
		return c, c.close, nil
	})...)
}

// Remove removes the VMs that were made for an owner. It finds none where KubeVirt is not
// installed or the user may not list its objects.
func Remove(ctx context.Context, a Access, owner string) (removed []string, err error) {
	c, err := open(a)
	if err != nil {
		return nil, err
	}
	defer c.close()
	list, err := c.instances.List(ctx, metav1.ListOptions{LabelSelector: cleanup.Label + "=" + owner})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the VMs of %s in namespace %s at %s: %w", owner, a.Namespace, a.Config.Host, err)
	}
	var problems []error
	for _, vmi := range list.Items {
		problems = append(problems, c.PowerOff(ctx, hypervisor.VM{Name: vmi.GetName(), Mode: hypervisor.Linked}))
		removed = append(removed, hypervisor.Line(name, vmi.GetName()))
	}
	return removed, errors.Join(problems...)
}

// Sweep removes or releases the VMs that dead owners of a home have notes of.
func Sweep(ctx context.Context, home string, dead func(string) bool, access func(at json.RawMessage) (Access, error)) ([]string, error) {
	return hypervisor.Sweep(ctx, name, home, dead, func(_ context.Context, at json.RawMessage) (hypervisor.Hypervisor, func(), error) {
		a, err := access(at)
		if err != nil {
			return nil, nil, err
		}
		c, err := open(a)
		if err != nil {
			return nil, nil, err
		}
		return c, c.close, nil
	})
}

// until watches a VirtualMachineInstance until done, which gets nil where there is none.
// The watch begins again if it ends, or if the API server was away.
func (c *cluster) until(ctx context.Context, name string, done func(*unstructured.Unstructured) (bool, error)) error {
	only := fields.OneTermEqualSelector("metadata.name", name).String()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			return c.instances.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			return c.instances.Watch(ctx, o)
		},
	}
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{},
		func(now cache.Store) (bool, error) {
			if len(now.List()) > 0 {
				return false, nil // its event follows
			}
			return done(nil)
		},
		func(e watch.Event) (bool, error) {
			vmi, is := e.Object.(*unstructured.Unstructured)
			switch {
			case e.Type == watch.Deleted:
				return done(nil)
			case !is:
				return false, nil
			}
			return done(vmi)
		})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// How long a reason why a VM does not run may stand before its start has failed: other
// pods end meanwhile, or a node is added; a controller tries again.
const (
	unschedulable = time.Minute
	notYet        = 15 * time.Second
)

var errGone = errors.New("it was deleted by somebody else: by a user, or with its namespace")

// running waits until a VirtualMachineInstance runs and ready says so too.
func (c *cluster) running(ctx context.Context, name string, ready func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var why error
	var timer *time.Timer
	phase, seen := "not made yet", false
	err := c.until(ctx, name, func(vmi *unstructured.Unstructured) (bool, error) {
		if vmi == nil {
			if seen {
				return false, errGone
			}
			return false, nil
		}
		seen = true
		if phase, _, _ = unstructured.NestedString(vmi.Object, "status", "phase"); phase == "" {
			phase = "Pending"
		}
		was := why
		var may time.Duration
		if may, why = failure(vmi); why != nil && may == 0 {
			return false, why
		}
		if timer != nil && (why == nil || was.Error() != why.Error()) {
			timer.Stop()
			timer = nil
		}
		if why != nil && timer == nil {
			stands := fmt.Errorf("for %v: %w", may, why)
			timer = time.AfterFunc(may, func() { cancel(stands) })
		}
		return phase == "Running" && ready(vmi), nil
	})
	if timer != nil {
		timer.Stop()
	}
	if err == nil {
		return nil
	}
	if why != nil && !errors.Is(err, why) {
		err = fmt.Errorf("%w: %w", why, err)
	}
	return fmt.Errorf("virtual machine %s does not run, its phase is %s: %w", name, phase, err)
}

// failure is why a VirtualMachineInstance does not run, and for how long that may stand;
// 0 where it is final.
func failure(vmi *unstructured.Unstructured) (may time.Duration, why error) {
	conditions := ""
	each(vmi.Object, func(c object) {
		if c["status"] != "False" || why != nil {
			return
		}
		text := strings.TrimSpace(fmt.Sprintf("%v: %v", c["reason"], c["message"]))
		switch c["type"] {
		case "PodScheduled":
			may, why = unschedulable, fmt.Errorf("no node takes it: %s", text)
		case "Synchronized":
			may, why = notYet, errors.New(text)
		case "Ready":
			conditions = ": " + text
		}
	}, "status", "conditions")
	phase, _, _ := unstructured.NestedString(vmi.Object, "status", "phase")
	switch {
	case vmi.GetDeletionTimestamp() != nil:
		return 0, errGone
	case (phase == "Failed" || phase == "Succeeded") && why != nil:
		return 0, fmt.Errorf("it ended: %w", why)
	case phase == "Failed" || phase == "Succeeded":
		return 0, fmt.Errorf("it ended%s", conditions)
	}
	return may, why
}

// addressOf is the first IPv4 address that KubeVirt reports of a guest.
func addressOf(vmi *unstructured.Unstructured) (found string) {
	each(vmi.Object, func(card object) {
		reported, _, _ := unstructured.NestedStringSlice(card, "ipAddresses")
		first, _, _ := unstructured.NestedString(card, "ipAddress")
		for _, text := range append([]string{first}, reported...) {
			a, err := netip.ParseAddr(text)
			if found == "" && err == nil && a.Is4() && !a.IsUnspecified() && !a.IsLinkLocalUnicast() && !a.IsLoopback() {
				found = text
			}
		}
	}, "status", "interfaces")
	return found
}

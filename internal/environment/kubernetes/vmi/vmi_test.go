package vmi

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	_ "tare/internal/environment/native" // what runs in the guest
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/testing/kubevirttest"
	"tare/internal/testing/localhost"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

func TestMain(m *testing.M) {
	localhost.ServeIfAsked()
	testenv.Main(m, nil)
}

// bench starts instances in a cluster of the test's own.
type bench struct {
	Machines
	image *image.Image
	owner *cleanup.Owner
}

func newBench(t *testing.T) *bench {
	t.Helper()
	needs.Root(t)
	needs.Program(t, "go", "/usr/sbin/sshd", "ssh-keygen")
	testenv.NeedsAgent(t)
	if _, err := kubevirttest.Program(); err != nil {
		needs.Cluster(t)
	}
	fake, err := kubevirttest.Fake(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", fake.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	o := hypervisor.Defaults()
	o.Template, o.Identity, o.HostKey = "template", fake.Keys.Identity(), fake.Keys.HostKey()
	return &bench{
		Machines{Options: o, Access: func() (Access, error) { return Access{Config: config, Namespace: "tests", At: fake.Kubeconfig}, nil }},
		testenv.Image(t), testenv.Owner(t, t.TempDir()),
	}
}

func (b *bench) start(t *testing.T, name string, change ...func(*environment.Request)) (environment.Instance, error) {
	t.Helper()
	var console bytes.Buffer
	r := environment.Request{Name: name, Owner: b.owner, Image: b.image, Console: &console}
	for _, c := range change {
		c(&r)
	}
	i, err := b.Start(t.Context(), r)
	t.Logf("its console:\n%s", console.String())
	if i != nil {
		t.Cleanup(func() { i.Stop(context.Background()) })
	}
	return i, err
}

// names are those of the VirtualMachineInstances.
func (b *bench) names(t *testing.T) (names []string) {
	t.Helper()
	c, err := b.open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	list, err := c.instances.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, vmi := range list.Items {
		names = append(names, vmi.GetName())
	}
	return names
}

func TestVMsOnKubernetesWithADoubleOfKubeVirt(t *testing.T) {
	b := newBench(t)
	t.Run("an instance is a VM of the template", func(t *testing.T) { anInstanceIsAVM(t, *b) })
	t.Run("a start that fails says why and leaves nothing", func(t *testing.T) { aFailedStartSaysWhy(t, *b) })
	t.Run("doctor looks for KubeVirt, the template and its key", func(t *testing.T) { doctorLooks(t, *b) })
}

func anInstanceIsAVM(t *testing.T, b bench) {
	for _, mode := range []string{hypervisor.Linked, hypervisor.Start} {
		t.Run(mode, func(t *testing.T) {
			b.Options.Mode = mode
			limits := environment.Limits{CPUs: 1.5, Memory: 256 * quantity.MiB, PIDs: 500}
			if mode == hypervisor.Start {
				limits = environment.Limits{}
			}
			i, err := b.start(t, "Vm-1", func(r *environment.Request) { r.Limits = limits })
			if err != nil {
				t.Fatal(err)
			}
			seen, err := environment.CheckLimits(t.Context(), i, limits)
			t.Log(seen, i.Phases(), i.Notes(), i.Paths())
			if err != nil {
				t.Error(err)
			}
			names := b.names(t)
			if own := mode == hypervisor.Linked; len(names) != 1 || strings.HasPrefix(names[0], "tare-"+b.owner.ID()) != own {
				t.Errorf("mode %s has %q run", mode, names)
			}
			if mode == hypervisor.Start {
				if _, err := b.start(t, "second"); err == nil || !strings.Contains(err.Error(), "mode: start runs one instance at a time") {
					t.Errorf("a second instance of the template: %v", err)
				}
			}
			used := environment.Meter(i, usage.Options{}).Stop()
			if !strings.Contains(strings.Join(used.Notes, "\n"), "the resource use of virt-launcher and QEMU for the VM is not included") {
				t.Errorf("its usage has the notes %q", used.Notes)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if names := b.names(t); len(names) != 0 {
				t.Errorf("left are %q", names)
			}
			c, err := b.open()
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			if s, err := c.State(t.Context(), "template"); err != nil || s.On || s.Word != "Halted" || len(s.Labels) > 0 || s.Memory != 512*quantity.MiB {
				t.Errorf("the template is %+v, %v", s, err)
			}
		})
	}
	t.Run("on its node", func(t *testing.T) {
		b.Options.Mode = hypervisor.Linked
		i, err := b.start(t, "placed", func(r *environment.Request) { r.Node = "node-1" })
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func aFailedStartSaysWhy(t *testing.T, b bench) {
	defaults := b.Options
	for _, c := range []struct {
		name   string
		change func(*hypervisor.Options, *environment.Request)
		want   []string
	}{
		{"no such template", func(o *hypervisor.Options, _ *environment.Request) { o.Template = "nobody" },
			[]string{"reading VirtualMachine nobody of namespace tests", "no such virtual machine"}},
		{"a node that does not exist", func(o *hypervisor.Options, r *environment.Request) { r.Node, o.StartTimeout = "node-9", 3*time.Second },
			[]string{"its phase is Scheduling", "no node takes it: Unschedulable: 0/1 nodes are available", "after start_timeout: 3s"}},
		{"a node for what is started as it is", func(o *hypervisor.Options, r *environment.Request) { r.Node, o.Mode = "node-1", hypervisor.Start },
			[]string{"mode: start runs the VirtualMachine template where KubeVirt puts it"}},
		{"cores", func(_ *hypervisor.Options, r *environment.Request) { r.Limits.Cores = []int{0} }, []string{"limits: pin: KubeVirt does not let a VM choose its cores"}},
		{"more memory than the node has", func(o *hypervisor.Options, r *environment.Request) {
			r.Limits.Memory, o.StartTimeout = 64*quantity.GiB, 3*time.Second
		}, []string{"Insufficient memory"}},
		{"a claim that does not exist", func(o *hypervisor.Options, _ *environment.Request) {
			o.Template, o.StartTimeout = "without-claim", 2*time.Second
		},
			[]string{"its phase is Pending", "PVC tests/nowhere does not exist"}},
		{"a disk that no node can pull", func(o *hypervisor.Options, _ *environment.Request) {
			o.Template, o.StartTimeout = "without-image", 2*time.Second
		},
			[]string{"ImagePullBackOff: Back-off pulling image example.org/disk:missing"}},
		{"what KubeVirt refuses", func(o *hypervisor.Options, _ *environment.Request) { o.Template = "without-disk" },
			[]string{"creating VirtualMachineInstance tare-", "spec.volumes: root has no disk"}},
		{"a template that its controller completes", func(o *hypervisor.Options, _ *environment.Request) { o.Template = "with-type" },
			[]string{"template with-type: its instancetype describes a part of the VM", "use mode: start, or write it out with virtctl expand"}},
		{"no sshd at the port", func(o *hypervisor.Options, _ *environment.Request) { o.Port, o.StartTimeout = 23, 4*time.Second },
			[]string{"connecting to its guest over SSH", "after start_timeout: 4s"}},
		{"another host key", func(o *hypervisor.Options, _ *environment.Request) {
			o.HostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl stranger"
		}, []string{"host key alias template"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Options = defaults
			_, err := b.start(t, "vm", func(r *environment.Request) { c.change(&b.Options, r) })
			if err == nil {
				t.Fatal("it started")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
			if names := b.names(t); len(names) != 0 {
				t.Errorf("left are %q", names)
			}
		})
	}
}

func doctorLooks(t *testing.T, b bench) {
	for _, r := range Requirements(b.Options, b.Access) {
		if f := r.Check(t.Context()); f.State == environment.Missing {
			t.Errorf("%s: %+v", r.What, f)
		} else {
			t.Log(r.What, f)
		}
	}
	b.Options.Template = "nobody"
	list := Requirements(b.Options, b.Access)
	if f := list[len(list)-1].Check(t.Context()); f.State != environment.Missing || !strings.Contains(f.Reason, "no such virtual machine") {
		t.Errorf("%+v", f)
	}
	whole := slices.ContainsFunc(list, func(r environment.Requirement) bool {
		return r.What == "experience with the real KubeVirt"
	})
	if !whole {
		t.Error("it does not say that the real KubeVirt was not there")
	}
}

package virtualbox

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	_ "tare/internal/environment/native" // what runs in the guest
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/testing/localhost"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	localhost.ServeIfAsked()
	testenv.Main(m, nil)
}

// bench is a fake VirtualBox, with an image and an owner.
type bench struct {
	client
	options *Options
	image   *image.Image
	owner   *cleanup.Owner
}

func newBench(t *testing.T) *bench {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	needs.Program(t, "go", "/usr/sbin/sshd", "ssh-keygen")
	b := &bench{image: testenv.Image(t)}
	b.options, b.client = fake(t)
	b.owner = testenv.Owner(t, t.TempDir())
	return b
}

func (b *bench) start(t *testing.T, name string, l environment.Limits) (environment.Instance, error) {
	t.Helper()
	registration, _ := environment.Lookup(kind)
	env, err := registration.New(b.options)
	if err != nil {
		t.Fatal(err)
	}
	var console bytes.Buffer
	i, err := env.Start(t.Context(), environment.Request{Name: name, Owner: b.owner, Image: b.image, Console: &console, Limits: l})
	t.Logf("its console:\n%s", console.String())
	if i != nil {
		t.Cleanup(func() { i.Stop(context.Background()) })
	}
	return i, err
}

// names are all VMs that there are.
func (b *bench) names(t *testing.T) string {
	t.Helper()
	names, err := b.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func TestEachModeEndsAsItBegan(t *testing.T) {
	for _, mode := range []string{hypervisor.Linked, hypervisor.Clone, hypervisor.Restore, hypervisor.Start} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t)
			b.options.Mode = mode
			if mode == hypervisor.Start {
				b.options.Snapshot = ""
			}
			before := b.must(t, "showvminfo", "template", "--machinereadable")
			i, err := b.start(t, "vm", environment.Limits{CPUs: 1.5, Memory: 512 * quantity.MiB, Cores: []int{0, 1}})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(i.Phases(), i.Notes(), i.Paths())
			name := i.(*instance).VM.Name
			own := mode == hypervisor.Linked || mode == hypervisor.Clone
			if (name == "template") == own {
				t.Errorf("mode %s runs %s", mode, name)
			}
			s, err := newBox(*b.options).State(t.Context(), name)
			if err != nil || !s.On || s.Labels[hypervisor.OwnerLabel] != b.owner.ID() {
				t.Errorf("%+v, %v", s, err)
			}
			sized := s.CPUs == 2 && s.Memory == 512*quantity.MiB
			if noted := strings.Contains(strings.Join(i.Notes(), "\n"), "mode: start does not change it"); sized == noted {
				t.Errorf("the VM has %d CPUs and %s, and the notes are %q", s.CPUs, s.Memory, i.Notes())
			}
			if !own {
				if _, err := b.start(t, "second", environment.Limits{}); err == nil || !strings.Contains(err.Error(), "mode: "+mode+" runs one instance at a time") {
					t.Errorf("a second instance of the template: %v", err)
				}
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if names := b.names(t); names != "template" {
				t.Errorf("left are %s", names)
			}
			if after := b.must(t, "showvminfo", "template", "--machinereadable"); after != before {
				t.Errorf("the template was\n%s\nand is\n%s", before, after)
			}
			if s, err := newBox(*b.options).State(t.Context(), "template"); err != nil || len(s.Labels) > 0 {
				t.Errorf("the template still has the labels %v (%v)", s.Labels, err)
			}
		})
	}
}

package kubernetes

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/environment"
	_ "tare/internal/environment/native" // what runs in the guest
	"tare/internal/testing/kubevirttest"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

func TestVMsOfADeadCoordinatorAreRemovedWhenItsLeaseHasExpired(t *testing.T) {
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
	o := defaults()
	o.Kubeconfig, o.As = fake.Kubeconfig, "vmi"
	o.Template, o.Identity, o.HostKey = "template", fake.Keys.Identity(), fake.Keys.HostKey()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	p := &pods{options: *o, connect: o.connect}
	owner := testenv.Owner(t, t.TempDir())
	i, err := p.machines().Start(t.Context(), environment.Request{Name: "lost", Owner: owner, Image: testenv.Image(t), Console: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.connect()
	if err != nil {
		t.Fatal(err)
	}
	prepared := func() (said []string) {
		if err := p.machines().Prepare(t.Context(), nil, func(line string) { said = append(said, line) }); err != nil {
			t.Error(err)
		}
		return said
	}
	if said := prepared(); len(said) > 0 {
		t.Errorf("while its lease is young: %q", said)
	}
	lease, err := c.leases.get(t.Context(), leaseName(owner.ID()))
	if err != nil {
		t.Fatal(err)
	}
	short := int32(1)
	lease.Spec.LeaseDurationSeconds = &short
	if _, err := c.leases.update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	var said []string
	for deadline := time.Now().Add(time.Minute); len(said) == 0 && time.Now().Before(deadline); {
		said = prepared()
	}
	if !slices.ContainsFunc(said, func(line string) bool {
		return strings.HasPrefix(line, "removed virtual machine tare-"+owner.ID()+"-lost of kubevirt")
	}) {
		t.Errorf("after its lease has expired: %q", said)
	}
	if _, err := c.leases.get(t.Context(), leaseName(owner.ID())); err == nil {
		t.Error("the lease is left")
	}
	// Its coordinator lives after all: it notices, and leaves nothing.
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

package virtualbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/hypervisor"
)

// box implements hypervisor.Hypervisor for VirtualBox.
type box struct {
	client
	options Options
	// cloning serializes clones: VirtualBox locks the template's disks.
	cloning sync.Mutex
}

func newBox(o Options) *box { return &box{client: client{o.Program, o.RunAs}, options: o} }

// at returns the options that a note needs to reach the VM again.
func (b *box) at() Options {
	return Options{Program: b.Program, RunAs: b.RunAs, Network: b.options.Network}
}

// rule is the name of the forwarded port.
const rule = "tare-ssh"

// State returns the state of a VM. Only VMs in the states poweroff and aborted can be
// changed; all others, including saved, count as on.
func (b *box) State(ctx context.Context, name string) (s hypervisor.State, err error) {
	i, err := b.info(ctx, name)
	if refused(err, notFound) {
		return s, fmt.Errorf("%w: %w", hypervisor.ErrNone, err)
	} else if err != nil {
		return s, err
	}
	s = hypervisor.State{Word: i["VMState"], Labels: map[string]string{}}
	s.On = !slices.Contains([]string{"poweroff", "aborted"}, s.Word)
	s.CPUs, _ = strconv.Atoi(i["cpus"])
	memory, _ := strconv.Atoi(i["memory"])
	s.Memory = quantity.Bytes(memory) * quantity.MiB
	for _, label := range []string{hypervisor.OwnerLabel, hypervisor.HomeLabel, hypervisor.MachineLabel} {
		value, err := b.extra(ctx, name, label)
		if err != nil {
			return s, err
		}
		if value != "" {
			s.Labels[label] = value
		}
	}
	return s, nil
}

// Clone creates a VM from a snapshot or the current state.
func (b *box) Clone(ctx context.Context, v hypervisor.VM) error {
	words := []string{"clonevm", v.Template, "--name", v.Name, "--register"}
	if b.options.Folder != "" {
		words = append(words, "--basefolder", b.options.Folder)
	}
	snapshot := v.Snapshot
	if v.Mode == hypervisor.Linked {
		words = append(words, "--options", "link")
		if snapshot == "" {
			i, err := b.info(ctx, v.Template)
			if err != nil {
				return err
			}
			if snapshot = i["CurrentSnapshotUUID"]; snapshot == "" {
				return fmt.Errorf("virtual machine %s has no snapshot for a linked clone; run `VBoxManage snapshot %q take tare`, or use mode: clone", v.Template, v.Template)
			}
		}
	}
	if snapshot != "" {
		words = append(words, "--snapshot", snapshot)
	}
	b.cloning.Lock()
	defer b.cloning.Unlock()
	_, err := b.retryLocked(ctx, words...)
	return err
}

// Restore reverts a VM to its snapshot.
func (b *box) Restore(ctx context.Context, v hypervisor.VM) error {
	words := []string{"snapshot", v.Name, "restore", v.Snapshot}
	if v.Snapshot == "" {
		words = []string{"snapshot", v.Name, "restorecurrent"}
	}
	_, err := b.retryLocked(ctx, words...)
	return err
}

// Label writes labels to the VM's extra data.
func (b *box) Label(ctx context.Context, v hypervisor.VM, labels map[string]string) error {
	for key, value := range labels {
		words := []string{"setextradata", v.Name, key}
		if value != "" {
			words = append(words, value)
		}
		if _, err := b.retryLocked(ctx, words...); err != nil {
			return err
		}
	}
	return nil
}

// Resize sets the CPUs, the memory and the first adapter. The CPU quota and the cores
// are limits of the cgroup of the VM's process.
func (b *box) Resize(ctx context.Context, v hypervisor.VM, s hypervisor.Size) ([]string, error) {
	words := []string{"modifyvm", v.Name}
	if s.CPUs > 0 {
		words = append(words, "--cpus", strconv.Itoa(s.CPUs))
		if s.CPUs > 1 {
			words = append(words, "--ioapic", "on") // without an I/O APIC the guest starts only one CPU
		}
	}
	if s.Memory > 0 {
		words = append(words, "--memory", strconv.FormatInt(int64(s.Memory/quantity.MiB), 10))
	}
	words = append(words, "--nic1", b.options.Network)
	switch b.options.Network {
	case hostonly:
		words = append(words, "--hostonlyadapter1", b.options.Adapter)
	case bridged:
		words = append(words, "--bridgeadapter1", b.options.Adapter)
	}
	_, err := b.retryLocked(ctx, words...)
	return nil, err
}

// PowerOn starts the VM headless. Under NAT it first forwards a port of this machine
// to the guest's sshd, at which that is reached; else the Guest Additions report an address.
func (b *box) PowerOn(ctx context.Context, v hypervisor.VM, port int) (reach func(context.Context) (string, error), err error) {
	reach = func(ctx context.Context) (string, error) { return b.reach(ctx, v, port) }
	i, err := b.info(ctx, v.Name)
	if err != nil {
		return nil, err
	}
	if has := i["nic1"]; has != b.options.Network {
		return nil, fmt.Errorf("virtual machine %s has nic1 %q, and the study says network: %s", v.Name, has, b.options.Network)
	}
	if b.options.Network == nat {
		if err := b.unforward(ctx, v, i); err != nil {
			return nil, err
		}
		free, err := freePort()
		if err != nil {
			return nil, err
		}
		if _, err := b.retryLocked(ctx, "modifyvm", v.Name, "--natpf1", fmt.Sprintf("%s,tcp,127.0.0.1,%s,,%d", rule, free, port)); err != nil {
			return nil, err
		}
		reach = func(context.Context) (string, error) { return net.JoinHostPort("127.0.0.1", free), nil }
	}
	_, err = b.retryLocked(ctx, "startvm", v.Name, "--type", "headless")
	return reach, err
}

// unforward removes tare's forwarding rule; other rules are kept.
func (b *box) unforward(ctx context.Context, v hypervisor.VM, i info) error {
	if !i.forwards(rule) {
		return nil
	}
	_, err := b.retryLocked(ctx, "modifyvm", v.Name, "--natpf1", "delete", rule)
	return err
}

// freePort returns a free port of this machine. Another process may bind it before
// VirtualBox does; the check of the guest's host key detects this.
func freePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port to forward to a guest: %w", err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// ipProperty is the guest property with the first adapter's address.
const ipProperty = "/VirtualBox/GuestInfo/Net/0/V4/IP"

func (b *box) reach(ctx context.Context, v hypervisor.VM, port int) (string, error) {
	for {
		out, err := b.run(ctx, "guestproperty", "get", v.Name, ipProperty)
		if err != nil {
			return "", err
		}
		value, known := strings.CutPrefix(strings.TrimSpace(out), "Value: ")
		if address, err := netip.ParseAddr(value); known && err == nil && address.Is4() && !address.IsUnspecified() {
			return net.JoinHostPort(address.String(), strconv.Itoa(port)), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("virtual machine %s did not report its address (%s); install the Guest Additions in the template: %w", v.Name, ipProperty, context.Cause(ctx))
		case <-time.After(pace):
		}
	}
}

// PowerOff switches the VM off without a shutdown, waits until it is off, and removes
// the forwarded port.
func (b *box) PowerOff(ctx context.Context, v hypervisor.VM) error {
	if _, err := b.retryLocked(ctx, "controlvm", v.Name, "poweroff"); err != nil && !off(err) {
		return err
	}
	i, err := b.info(ctx, v.Name)
	if err != nil {
		return err
	}
	return b.unforward(ctx, v, i)
}

// Delete unregisters the VM and deletes its files.
func (b *box) Delete(ctx context.Context, v hypervisor.VM) error {
	_, err := b.retryLocked(ctx, "unregistervm", v.Name, "--delete")
	if refused(err, notFound) {
		return nil
	}
	return err
}

package sshguest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tare/internal/base/quantity"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/virtnet"
)

// Bridged are guests on one bridge, in cgroups with the size of their VMs.
type Bridged struct {
	// Folder has the directory keys of the guests' keys, the store images of the
	// template, or a link to it, and the directory disks.
	Folder string
	bridge *virtnet.Bridge
	on     map[string]*bridged
}

type bridged struct {
	port  *virtnet.Port
	group *cgroup.Group
}

// NewBridged makes a bridge, whose name begins with a prefix of at most five letters.
func NewBridged(prefix, folder string) (*Bridged, error) {
	bridge, err := virtnet.NewBridge(fmt.Sprintf("%s%07d", prefix, os.Getpid()), "a bridge")
	if err != nil {
		return nil, err
	}
	return &Bridged{folder, bridge, map[string]*bridged{}}, nil
}

// On reports whether the guest of a VM was booted and not ended.
func (b *Bridged) On(vm string) bool { return b.on[vm] != nil }

// Boot starts the guest of a VM with a disk and returns its address; exited is closed
// when its first process has exited. As Boot of a guest, it is called by a locked thread.
func (b *Bridged) Boot(vm, disk string, limits cgroup.Limits) (address string, exited <-chan struct{}, err error) {
	const least = 64 * quantity.MiB // the agent's
	if limits.Memory < least {
		limits.Memory = 512 * quantity.MiB
	}
	guest := &bridged{}
	b.on[vm] = guest
	if guest.group, err = cgroup.Create(fmt.Sprintf("/tare/fake-guest-%d-%s", os.Getpid(), vm), limits); err != nil {
		return "", nil, err
	}
	if guest.port, err = b.bridge.Namespace(); err != nil {
		return "", nil, err
	}
	images, _ := filepath.EvalSymlinks(filepath.Join(b.Folder, "images"))
	process, err := Boot(Guest{
		Keys: Keys(filepath.Join(b.Folder, "keys")), Folder: filepath.Join(b.Folder, "disks", disk),
		Images: images, NetNS: guest.port.File, Place: guest.group.Add, Visible: true,
	})
	if err != nil {
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		process.Wait()
		close(ended)
	}()
	return guest.port.Address.Addr().String(), ended, nil
}

// End kills the guest of a VM.
func (b *Bridged) End(vm string) error {
	guest := b.on[vm]
	delete(b.on, vm)
	var problems []error
	if guest.group != nil {
		problems = append(problems, guest.group.Kill(context.Background()), guest.group.Remove())
	}
	if guest.port != nil {
		problems = append(problems, guest.port.Close())
	}
	return errors.Join(problems...)
}

// Close ends all guests and removes the bridge.
func (b *Bridged) Close() error {
	var problems []error
	for vm := range b.on {
		problems = append(problems, b.End(vm))
	}
	return errors.Join(append(problems, b.bridge.Close(context.Background()))...)
}

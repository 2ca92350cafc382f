package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"tare/internal/base/crash"
	"tare/internal/environment/support/hypervisor"
)

// center is a vCenter or an ESXi host with one session, which is opened on first use
// and again when it has expired.
type center struct {
	access Access

	mu      sync.Mutex
	client  *vim25.Client
	manager *session.Manager
	finder  *find.Finder
}

// open returns a finder for the inventory, with a valid session.
func (c *center) open(ctx context.Context) (*find.Finder, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		if s, err := c.manager.UserSession(ctx); err == nil && s != nil {
			return c.finder, nil
		}
	}
	tried := fmt.Sprintf("logging in to %s as %s", c.access.URL, c.access.Account)
	u, err := c.access.address()
	if err != nil {
		return nil, err
	}
	password, err := c.access.password()
	if err != nil {
		return nil, err
	}
	wire := soap.NewClient(u, c.access.Insecure)
	if c.access.CAFile != "" {
		if err := wire.SetRootCAs(c.access.CAFile); err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
	}
	if c.client, err = vim25.NewClient(ctx, wire); err != nil {
		c.client = nil
		wire.CloseIdleConnections()
		return nil, fmt.Errorf("%s: %w", tried, err)
	}
	c.manager = session.NewManager(c.client)
	if err := c.manager.Login(ctx, url.UserPassword(c.access.Account, password)); err != nil {
		c.client = nil
		wire.CloseIdleConnections()
		return nil, fmt.Errorf("%s: %w", tried, err)
	}
	finder := find.NewFinder(c.client, false)
	datacenter, err := finder.DatacenterOrDefault(ctx, c.access.Datacenter)
	if err != nil {
		return nil, fmt.Errorf("datacenter: at %s: %w", c.access.URL, err)
	}
	c.finder = finder.SetDatacenter(datacenter)
	return c.finder, nil
}

// close ends the session.
func (c *center) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	_ = c.manager.Logout(ctx) // an idle session expires anyway
	c.client.CloseIdleConnections()
	c.client = nil
}

const parting = 5 * time.Second

// vm returns a VM by its name or inventory path; folder is the folder of clones.
func (c *center) vm(ctx context.Context, folder, name string) (*object.VirtualMachine, error) {
	finder, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if folder != "" && hypervisor.OwnerOf(name) != "" {
		name = path.Join(folder, name)
	}
	vm, err := finder.VirtualMachine(ctx, name)
	var none *find.NotFoundError
	if errors.As(err, &none) {
		return nil, fmt.Errorf("%w: %s has no virtual machine %s", hypervisor.ErrNone, c.access.URL, name)
	}
	if err != nil {
		return nil, fmt.Errorf("finding virtual machine %s at %s: %w", name, c.access.URL, err)
	}
	return vm, nil
}

// about reads the properties of a VM.
func (c *center) about(ctx context.Context, vm *object.VirtualMachine) (mo.VirtualMachine, error) {
	var all mo.VirtualMachine
	err := vm.Properties(ctx, vm.Reference(), []string{"config", "runtime", "snapshot", "guest", "resourcePool"}, &all)
	if err != nil {
		return all, fmt.Errorf("reading virtual machine %s: %w", vm.InventoryPath, err)
	}
	return all, nil
}

// finish waits for a task. When ctx is done, it cancels the task and still waits for
// its end, so that a cleanup finds the task's result either complete or absent.
func finish(ctx context.Context, tried string, task *object.Task, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", tried, err)
	}
	done := make(chan struct{})
	defer close(done)
	waiting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	crash.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		grace, cancel := context.WithTimeout(waiting, cancelling)
		defer cancel()
		_ = task.Cancel(grace)
		select {
		case <-done:
		case <-grace.Done():
			stop()
		}
	})
	_, err = task.WaitForResult(waiting, nil)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", tried, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", tried, named(err))
	}
	return nil
}

// cancelling is the timeout for the end of a cancelled task.
const cancelling = time.Minute

// named adds the name of the fault to an error of a task, whose text may be empty.
func named(err error) error {
	var of interface{ Fault() types.BaseMethodFault }
	if !errors.As(err, &of) || of.Fault() == nil {
		return err
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", of.Fault()), "*types.")
	if strings.Contains(err.Error(), name) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// gone reports whether an error means that a VM does not exist any more.
func gone(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			_, no := soap.ToSoapFault(err).VimFault().(types.ManagedObjectNotFound)
			return no
		}
	}
	return false
}

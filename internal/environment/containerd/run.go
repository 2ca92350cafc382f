package containerd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/identifiers"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/environment/support/shims"
	"tare/internal/linux/cgroup"
	"tare/internal/usage"
)

// container is one container with its task. A field that Run has not set yet is nil.
type container struct {
	manager   *manager
	client    *client.Client
	made      client.Container
	task      client.Task
	pipes     *cio.DirectIO
	at        *os.File // the directory of the pipes
	first     *shims.Process
	processes []*shims.Process // the first one and its shim
	ended     chan struct{}
	forget    context.CancelFunc // ends what waits for the task and its pipes
}

// identifier is the id of a container as containerd takes it: within 76 characters, and with
// letters or digits around each dash.
func identifier(owner, id string) string {
	if identifiers.Validate(id) == nil {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "tare-" + owner + "-" + hex.EncodeToString(sum[:8])
}

// Run implements oci.Manager. The requests are not canceled with the context: containerd
// could have made what a canceled request asked for.
func (m *manager) Run(ctx context.Context, b oci.Bundle) (_ oci.Container, err error) {
	if err := m.remember(b.Directory); err != nil {
		return nil, err
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	c := &container{manager: m, ended: make(chan struct{})}
	if c.client, err = dial(whole, m.options.Address); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
		}
	}()
	waiting, forget := context.WithCancel(context.WithoutCancel(ctx))
	c.forget = forget
	for _, step := range []func() error{
		func() error { return c.create(whole, b) },
		func() error { return c.startTask(whole, waiting, b) },
	} {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// create makes the container and its snapshot. Until the container refers to the snapshot, a
// lease keeps it, and goes with it.
func (c *container) create(ctx context.Context, b oci.Bundle) (err error) {
	m, id := c.manager, identifier(b.Owner.ID(), b.ID)
	if c.InGuest() {
		if err := b.Limits.PassedByKata(); err != nil {
			return err
		}
	}
	lease, err := c.client.LeasesService().Create(ctx, leases.WithID(id), leases.WithLabels(b.Owner.Labels()))
	if err != nil {
		return m.explain("making a lease", err)
	}
	defer func() { err = errors.Join(err, removeLease(context.WithoutCancel(ctx), m, c.client, lease)) }()
	leased := leases.WithLease(ctx, lease.ID)
	img, err := c.client.GetImage(leased, b.Image.EngineName())
	if err != nil {
		return m.explain(fmt.Sprintf("finding the image %s, which was not prepared or was removed meanwhile", b.Image.Name), err)
	}
	if c.InGuest() {
		limit(b.Spec.Linux.Resources, b.Limits)
	}
	var runtime any
	if m.options.Binary != "" {
		runtime = &options.Options{BinaryName: m.options.Binary}
	}
	c.made, err = c.client.NewContainer(leased, id, client.WithImage(img), client.WithSnapshotter(snapshotter), client.WithNewSnapshot(id, img),
		client.WithContainerLabels(b.Owner.Labels()), client.WithRuntime(m.options.Runtime, runtime), client.WithSpec(b.Spec))
	return m.explain("creating the container "+id, err)
}

// limit states limits for a runtime that sets them in its guest; cores are those of the guest.
func limit(r *specs.LinuxResources, l environment.Limits) {
	const period = 100_000 // microseconds, the kernel's default
	if l.CPUs > 0 {
		quota, every := int64(l.CPUs*period), uint64(period)
		r.CPU = &specs.LinuxCPU{Quota: &quota, Period: &every}
	}
	if len(l.Cores) > 0 {
		r.CPU = cmp.Or(r.CPU, &specs.LinuxCPU{})
		r.CPU.Cpus = cgroup.FormatCores(l.Cores)
	}
	if memory := int64(l.Memory); memory > 0 {
		r.Memory = &specs.LinuxMemory{Limit: &memory}
	}
}

// startTask has the shim create and start the container.
func (c *container) startTask(ctx, waiting context.Context, b oci.Bundle) (err error) {
	m := c.manager
	if c.at, err = os.Open(b.Directory); err != nil {
		return fmt.Errorf("opening the directory of the pipes: %w", err)
	}
	c.task, err = c.made.NewTask(ctx, func(string) (cio.IO, error) {
		// The shim takes a path for a URL too, which those of a user need not be.
		at := func(name string) string { return fmt.Sprintf("/proc/%d/fd/%d/%s", os.Getpid(), c.at.Fd(), name) }
		c.pipes, err = cio.NewDirectIO(waiting, cio.NewFIFOSet(cio.Config{Stdin: at("stdin"), Stdout: at("stdout"), Stderr: at("stderr")}, nil))
		return c.pipes, err
	})
	if err != nil {
		return m.explain("creating the task", err)
	}
	stderr := c.pipes.Stderr
	crash.Go(func() { _, _ = io.Copy(b.Console, stderr) })
	exit, err := c.task.Wait(waiting)
	if err != nil {
		return m.explain("waiting for the task", err)
	}
	crash.Go(func() {
		<-exit
		close(c.ended)
	})
	if c.first, err = shims.Watch(int(c.task.Pid())); err != nil {
		return err
	}
	c.processes = append(c.processes, c.first)
	if around := shims.Around(c.first); around != nil {
		c.processes = append(c.processes, around)
	}
	return m.explain("starting the task", c.task.Start(ctx))
}

// First implements oci.Container.
func (c *container) First() *shims.Process { return c.first }

// InGuest implements oci.Container.
func (c *container) InGuest() bool { return c.manager.options.family() == "kata" }

// Early implements oci.Container.
func (c *container) Early() string { return shims.Overhead(c.made.ID()) }

// Helpers implements oci.Container.
func (c *container) Helpers() (list []usage.Process) {
	for _, p := range c.processes[1:] {
		list = append(list, usage.Process{PID: p.PID, Role: "shim"})
	}
	return list
}

// Ended implements oci.Container.
func (c *container) Ended() <-chan struct{} { return c.ended }

// Read implements oci.Container.
func (c *container) Read(p []byte) (int, error) { return c.pipes.Stdout.Read(p) }

// Write implements oci.Container.
func (c *container) Write(p []byte) (int, error) { return c.pipes.Stdin.Write(p) }

// Close ends the container's standard input, and with it the agent.
func (c *container) Close() error { return errors.Join(c.pipes.Stdin.Close(), c.pipes.Stdout.Close()) }

// Remove implements oci.Container.
func (c *container) Remove(ctx context.Context) error {
	var problems []error
	if c.made != nil {
		problems = append(problems, remove(ctx, c.manager, c.made))
	}
	problems = append(problems, shims.EndAll(ctx, c.processes))
	if c.made != nil {
		problems = append(problems, shims.EndOverhead(ctx, c.made.ID()))
	}
	if c.forget != nil {
		c.forget()
	}
	if c.pipes != nil {
		_ = c.pipes.Close() // they may be closed already
	}
	if c.at != nil {
		problems = append(problems, c.at.Close())
	}
	return errors.Join(append(problems, c.client.Close())...)
}

func removeLease(ctx context.Context, m *manager, c *client.Client, lease leases.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	return m.explain("removing the lease "+lease.ID, absent(c.LeasesService().Delete(ctx, lease, leases.SynchronousDelete)))
}

// remove ends the task of a container, and removes both and the snapshot.
func remove(ctx context.Context, m *manager, c client.Container) error {
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	task, err := c.Task(ctx, nil)
	if err == nil {
		err = end(ctx, task)
	}
	if err := absent(err); err != nil {
		return m.explain("ending the task "+c.ID(), err)
	}
	return m.explain("removing the container "+c.ID(), absent(c.Delete(ctx, client.WithSnapshotCleanup)))
}

// end kills a task and removes it with its shim.
func end(ctx context.Context, task client.Task) error {
	bound, cancel := context.WithTimeout(ctx, environment.ContainerStop.Terminate)
	defer cancel()
	exit, err := task.Wait(bound)
	if err != nil {
		return err
	}
	if err := task.Kill(bound, syscall.SIGKILL, client.WithKillAll); absent(err) != nil {
		return err
	}
	select {
	case <-exit:
	case <-bound.Done():
		return fmt.Errorf("it does not exit on SIGKILL: %w", context.Cause(bound))
	}
	_, err = task.Delete(ctx)
	return err
}

// addressFile stands in an instance's directory and says where its containerd is, when that is
// not the usual place.
const addressFile = "containerd"

// remember makes a later sweep look at this containerd too.
func (m *manager) remember(directory string) error {
	if m.options.Address == Address() {
		return nil
	}
	if err := os.WriteFile(filepath.Join(directory, addressFile), []byte(m.options.Address), 0o644); err != nil {
		return fmt.Errorf("recording the address of containerd: %w", err)
	}
	return nil
}

package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/support/childprocess"
	"tare/internal/environment/support/console"
	"tare/internal/environment/support/shims"
	"tare/internal/linux/cgroup"
)

// Start makes a bundle and has the runtime run it, with the agent's stream as its
// standard input and output.
func (e *environ) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	began := time.Now()
	program, err := e.agent(r.Owner.Home())
	if err != nil {
		return nil, err
	}
	tail := console.New(r.Console)
	i := &instance{environ: e, id: "tare-" + r.Owner.ID() + "-" + r.Name}
	i.More.Facts, i.More.Unlimited = e.facts(ctx), !e.options.Limits
	defer func() {
		if err != nil {
			err = fmt.Errorf("starting %s: %w%s", r.Name, err, tail.LastLines())
			if left := i.remove(context.WithoutCancel(ctx)); left != nil {
				err = fmt.Errorf("%w\nand cleaning up after it: %w", err, left)
			}
		}
	}()
	if i.directory, err = r.Owner.Directory(r.Name); err != nil {
		return nil, err
	}
	files, err := e.makeFiles(ctx, r, i.directory)
	if err != nil {
		return nil, err
	}
	prepared := time.Now()
	network, leave, err := e.join(ctx, r)
	if err != nil {
		return nil, err
	}
	i.cleanups = append(i.cleanups, leave)
	i.network, i.IP = network, network.address
	limits, err := e.limits(r, i.directory)
	if err != nil {
		return nil, err
	}
	if i.group, err = cgroup.Create(r.Owner.Cgroup(r.Name), limits); err != nil {
		return nil, err
	}
	// Processes outside of the cgroup (runtime or shim, logger, user-mode network) have
	// nothing to do while it is frozen.
	i.More.Freezer = i.group.Freezer(true)
	if i.pauses() {
		i.More.Freezer = pauser{i}
	}
	described, err := i.describe(r, program, files)
	if err != nil {
		return nil, err
	}
	if network.proxy != "" {
		if err := i.startProxy(ctx, r.Owner.Adopt, tail); err != nil {
			return nil, err
		}
	}
	stream, err := i.run(ctx, r, described, program, files, tail)
	if err != nil {
		return nil, err
	}
	if i.Client, err = agent.Connect(ctx, stream); err != nil {
		return nil, err
	}
	ready, hello := time.Now(), i.Client.Hello()
	agentTime := min(hello.AgentTime, ready.Sub(prepared))
	i.Timeline = []environment.Phase{
		{Name: environment.PreparePhase, Duration: prepared.Sub(began)},
		{Name: "engine", Duration: ready.Sub(prepared) - agentTime},
		{Name: "agent", Duration: agentTime},
	}
	i.Route = e.paths(ctx, network, files)
	i.Findings = i.group.Cautions(limits)
	if i.container != nil && i.container.InGuest() {
		if err := i.adoptGuest(); err != nil {
			return nil, errors.Join(err, i.Client.Close())
		}
	}
	if i.container != nil {
		notes, err := shims.Shorten(ctx, i.Client, i.container.First())
		if err != nil {
			return nil, errors.Join(err, i.Client.Close())
		}
		i.Findings = append(i.Findings, notes...)
	}
	if err := i.observe(ctx, r.Limits); err != nil {
		return nil, errors.Join(err, i.Client.Close())
	}
	return i, nil
}

// limits of the instance's cgroup; none where the options leave them out.
func (e *environ) limits(r environment.Request, directory string) (cgroup.Limits, error) {
	if !e.options.Limits {
		return cgroup.Limits{}, nil
	}
	if e.options.gvisor() && e.options.Data == "overlay" && !r.Limits.IO.None() {
		return cgroup.Limits{}, ErrOverlayIO
	}
	if e.options.Data == "tmpfs" {
		return r.Limits.Group(environment.Memory)
	}
	if e.manager != nil && e.options.Data == "overlay" {
		directory = e.manager.Directory()
	}
	return r.Limits.Group(directory)
}

// describe makes the configuration of the container.
func (i *instance) describe(r environment.Request, program string, files *instanceFiles) (*specs.Spec, error) {
	o := &i.environ.options
	p := bundleInput{name: r.Name[:min(len(r.Name), 63)], root: files.root, binds: files.binds, given: files.given, agent: program, data: files.data,
		env: r.Image.Env, space: i.network.space, held: i.environ.held, kernel: filter(o.Seccomp)}
	if !o.gvisor() {
		p.group = i.group.Path()
	}
	s, err := spec(o, p)
	if err == nil && i.environ.manager != nil {
		manage(o, s)
	}
	return s, err
}

// ErrOverlayIO refuses a limit of disk I/O on an overlay that gVisor keeps in memory.
var ErrOverlayIO = errors.New("limits: io: with data: overlay gVisor keeps /data in its own memory and writes nothing to the disk on a sync, so the limit would have no effect; use data: bind")

// run starts the container and returns the agent's stream.
func (i *instance) run(ctx context.Context, r environment.Request, s *specs.Spec, program string, files *instanceFiles, to io.Writer) (_ io.ReadWriteCloser, err error) {
	m := i.environ.manager
	if m == nil {
		if err := write(i.directory, s); err != nil {
			return nil, err
		}
		return i.runCommand(program, files, r.Owner.Adopt, to)
	}
	if i.container, err = m.Run(ctx, Bundle{ID: i.id, Directory: i.directory, Owner: r.Owner, Image: r.Image, Limits: r.Limits, Spec: s, Console: to}); err != nil {
		return nil, err
	}
	return i.container, nil
}

// runCommand starts the runtime. gVisor joins the cgroup itself; other runtimes put the
// container into it.
func (i *instance) runCommand(program string, s *instanceFiles, adopt adopter, to io.Writer) (io.ReadWriteCloser, error) {
	e := i.environ
	// Not exec.Cmd's pipes: they are closed when the runtime exits, while the agent's
	// last frames can still be in them.
	stdoutR, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdoutR.Close(), stdoutW.Close())
	}
	stream := &childprocess.Pipes{File: stdoutR, In: stdinW}
	defer stdinR.Close()
	if e.options.Log != "null" {
		// The logger forwards the runtime's standard output to tare.
		logR, logW, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, stdoutW.Close(), stream.Close())
		}
		logger, err := i.startLogger(program, logR, stdoutW, adopt, to)
		logR.Close()
		stdoutW.Close()
		if err != nil {
			return nil, errors.Join(err, logW.Close(), stream.Close())
		}
		i.helpers, stdoutW = append(i.helpers, logger), logW
	}
	prepared := preparation{hide: e.runtime.hiddenHierarchy(), mounts: s.mounts}
	if e.options.gvisor() {
		prepared.join = i.group.ProcsFiles()
	}
	role, args := "runtime", e.runtime.run(i.directory, i.id, s.given)
	if e.runtime.copiesOutput() {
		// The shim waits for the container, and deletes it when tare is gone.
		role, args = "shim", slices.Concat([]string{program, "shim", filepath.Join(i.directory, "pid")},
			e.runtime.delete(i.directory, i.id), []string{"--"}, args)
	}
	c := prepared.command(args...)
	c.Stdin, c.Stdout, c.Stderr = stdinR, stdoutW, to
	i.runtime, err = start(c, role, adopt, nil)
	stdoutW.Close()
	if err != nil {
		return nil, errors.Join(err, stream.Close())
	}
	return stream, nil
}

// startLogger starts the process that forwards the instance's output to tare. Like
// an engine's logger it is outside of the instance's cgroup.
func (i *instance) startLogger(program string, in, out *os.File, adopt adopter, to io.Writer) (*process, error) {
	c := preparation{}.command(program, "logger", "--format="+i.environ.options.Log, "--file="+filepath.Join(i.directory, "log"))
	c.Stdin, c.Stdout, c.Stderr = in, out, to
	return start(c, "logger", adopt, nil)
}

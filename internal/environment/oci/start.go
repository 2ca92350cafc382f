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

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/support/console"
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
	defer func() {
		if err != nil {
			err = fmt.Errorf("starting %s: %w%s", r.Name, err, tail.LastLines())
			if left := i.remove(context.WithoutCancel(ctx)); left != nil {
				err = fmt.Errorf("%w\nand clearing up after it: %w", err, left)
			}
		}
	}()
	if i.folder, err = r.Owner.Directory(r.Name); err != nil {
		return nil, err
	}
	stage, err := e.set(ctx, r, i.folder)
	if err != nil {
		return nil, err
	}
	prepared := time.Now()
	seat, release, err := e.join(ctx, r)
	if err != nil {
		return nil, err
	}
	i.undo(release)
	i.seat = seat
	limits := cgroup.Limits{}
	if e.options.Limits {
		if e.options.gvisor() && e.options.Data == "overlay" && !r.Limits.IO.None() {
			return nil, ErrOverlayIO
		}
		disk := i.folder
		if e.options.Data == "tmpfs" {
			disk = environment.Memory
		}
		if limits, err = r.Limits.Group(disk); err != nil {
			return nil, err
		}
	}
	if i.group, err = cgroup.Create(r.Owner.Cgroup(r.Name), limits); err != nil {
		return nil, err
	}
	p := parts{name: r.Name[:min(len(r.Name), 63)], root: stage.root, binds: stage.binds, agent: program, data: stage.data,
		env: r.Image.Env, space: seat.space, held: e.held, kernel: filter(e.options.Seccomp)}
	if !e.options.gvisor() {
		p.group = i.group.Path()
	}
	s, err := spec(&e.options, p)
	if err != nil {
		return nil, err
	}
	if err := write(i.folder, s); err != nil {
		return nil, err
	}
	if seat.user {
		carrier, err := carry(ctx, seat.space, r.Owner.Adopt, tail)
		if carrier != nil {
			i.helpers = append(i.helpers, carrier)
		}
		if err != nil {
			return nil, err
		}
	}
	stream, err := i.run(program, stage, r.Owner.Adopt, tail)
	if err != nil {
		return nil, err
	}
	if i.agent, err = agent.Connect(ctx, stream); err != nil {
		return nil, err
	}
	heard, hello := time.Now(), i.agent.Hello()
	own := min(hello.AgentTime, heard.Sub(prepared))
	i.phases = []environment.Phase{
		{Name: environment.PreparePhase, Duration: prepared.Sub(began)},
		{Name: "engine", Duration: heard.Sub(prepared) - own},
		{Name: "agent", Duration: own},
	}
	i.paths = e.paths(seat, stage)
	i.notes = i.group.Cautions(limits)
	if err := i.look(ctx, r.Limits); err != nil {
		return nil, errors.Join(err, i.agent.Close())
	}
	return i, nil
}

// ErrOverlayIO: what stays in gVisor's memory no limit of a disk reaches.
var ErrOverlayIO = errors.New("limits: io: gVisor keeps an overlay in its own memory, from which a sync writes nothing, so a limit of the disk does not hold there; write data: bind")

// run starts the runtime and returns the agent's stream. gVisor is in the group
// itself; the others put the instance there.
func (i *instance) run(program string, s *stage, adopt adopter, to io.Writer) (io.ReadWriteCloser, error) {
	e := i.environ
	// Pipes of our own: the command's would be closed when the runtime ends, with
	// the agent's last words still in them.
	out, said, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	heard, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, out.Close(), said.Close())
	}
	stream := &pipes{out, in}
	defer heard.Close()
	if e.options.Log != "null" {
		passed, theirs, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, said.Close(), stream.Close())
		}
		logger, err := i.log(program, passed, said, adopt, to)
		passed.Close()
		said.Close()
		if err != nil {
			return nil, errors.Join(err, theirs.Close(), stream.Close())
		}
		i.helpers, said = append(i.helpers, logger), theirs
	}
	first := before{hide: e.runtime.hides(), mounts: s.mounts}
	if e.options.gvisor() {
		first.join = i.group.ProcsFiles()
	}
	role, words := "runtime", e.runtime.run(i.folder, i.id)
	if e.runtime.copies() {
		// Somebody has to wait for the container, and clear up when tare is gone.
		role, words = "shim", slices.Concat([]string{program, "shim", filepath.Join(i.folder, "pid")},
			e.runtime.delete(i.folder, i.id), []string{"--"}, words)
	}
	c := first.command(words...)
	c.Stdin, c.Stdout, c.Stderr = heard, said, to
	i.runtime, err = start(c, role, adopt, nil)
	said.Close()
	if err != nil {
		return nil, errors.Join(err, stream.Close())
	}
	return stream, nil
}

// log starts the process that stands between the instance and tare, outside of
// the group, as an engine's does.
func (i *instance) log(program string, in, out *os.File, adopt adopter, to io.Writer) (*process, error) {
	c := before{}.command(program, "logger", "--format="+i.environ.options.Log, "--file="+filepath.Join(i.folder, "log"))
	c.Stdin, c.Stdout, c.Stderr = in, out, to
	return start(c, "logger", adopt, nil)
}

type pipes struct {
	*os.File // what the agent says
	in       *os.File
}

func (p *pipes) Write(data []byte) (int, error) { return p.in.Write(data) }
func (p *pipes) Close() error                   { return errors.Join(p.in.Close(), p.File.Close()) }

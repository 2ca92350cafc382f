// Package childprocess manages an instance whose agent is a child process of tare on
// this machine: in its own cgroup, with standard input and output as the channel. The
// kinds native and bubblewrap are built on it.
//
// It must not know what isolates the process: it executes a command and ends it.
package childprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/environment/support/console"
	"tare/internal/environment/support/rootfs"
	"tare/internal/host/cleanup"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/netns"
	"tare/internal/linux/userns"
	"tare/internal/usage"
)

// Instance implements environment.Instance. A field that the start has not set yet is nil.
type Instance struct {
	environment.Started
	request   environment.Request
	directory string
	begun     time.Time
	prepared  time.Time
	group     *cgroup.Group
	process   *process
	traffic   usage.Footprint // interfaces whose bytes are the instance's
	ids       *userns.IDs     // of the command's user namespace; nil is the host's

	undo []func() error
	stop sync.Once
	end  error
}

type process struct {
	*os.Process
	stream io.ReadWriteCloser
	ended  chan struct{}
	forget func()
}

// New makes the instance's directory. From here on Stop removes what was made.
func New(r environment.Request) (*Instance, error) {
	i := &Instance{request: r, begun: time.Now()}
	i.More.Facts = map[string]string{"log.channel": "pipe", "log.driver": "none"}
	var err error
	i.directory, err = r.Owner.Directory(r.Name)
	return i, err
}

// Directory of the instance on the host; Stop removes it.
func (i *Instance) Directory() string { return i.directory }

// Undo registers a function that Stop calls after the processes have ended, in reverse
// order of registration.
func (i *Instance) Undo(f func() error) { i.undo = append(i.undo, f) }

// FreshRoot makes a root from an image's directory, or takes that of an instance which has
// ended, and returns the bind mounts that it needs; see rootfs.Fresh.
func (i *Instance) FreshRoot(image, root string) (binds []string, err error) {
	// It is not released: the roots are removed with the owner's directory.
	roots, _, err := cleanup.Share(i.request.Owner, "roots", func() (*rootfs.Roots, func(context.Context) error, error) {
		directory, err := i.request.Owner.Kept()
		return rootfs.NewRoots(directory), nil, err
	})
	if err != nil {
		return nil, err
	}
	kept, err := roots.Fresh(image, root)
	if err != nil {
		return nil, err
	}
	i.Undo(func() error { roots.Keep(kept, root); return nil })
	return kept.Binds, nil
}

// Traffic sets the interfaces at which the instance's bytes are counted.
func (i *Instance) Traffic(f usage.Footprint) { i.traffic = f }

// Map makes the command root of a user namespace with these IDs.
func (i *Instance) Map(ids *userns.IDs) { i.ids = ids }

// Limit makes the cgroup with the request's limits; those of io are for the disk that a
// directory is on. It returns the cgroup.procs files, into which a process writes 0 to
// join. The time until now counts as tare's preparation.
func (i *Instance) Limit(disk string) (joins []string, err error) {
	i.prepared = time.Now()
	limits, err := i.request.Limits.Group(disk)
	if err != nil {
		return nil, err
	}
	if i.group, err = cgroup.Create(i.request.Owner.Cgroup(i.request.Name), limits); err != nil {
		return nil, err
	}
	i.More.Freezer = i.group.Freezer(true)
	i.Findings = i.group.Cautions(limits)
	return i.group.ProcsFiles(), nil
}

// InCgroup is a command that joins a cgroup before it executes the program.
func InCgroup(joins []string, program string, arguments ...string) *exec.Cmd {
	const prelude = `while [ "$1" != -- ]; do echo 0 >"$1" || exit 1; shift; done; shift; exec "$@"`
	args := append([]string{"-c", prelude, "sh"}, joins...)
	return exec.Command("/bin/sh", append(append(args, "--", program), arguments...)...)
}

// Execute starts the command, which has to execute the agent, in a network namespace
// (nil: the host's), and waits until the agent is ready. The command must end with the
// agent's arguments. Its own environment is empty: what runs on this machine with tare's
// rights sees no variable of the image, and the process list shows none.
func (i *Instance) Execute(ctx context.Context, command *exec.Cmd, space *os.File) (err error) {
	last := console.New(i.request.Console)
	if i.process, err = i.launch(command, space, last); err != nil {
		return err
	}
	executed := time.Now()
	if i.Client, err = agent.Connect(ctx, i.process.stream); err != nil {
		return fmt.Errorf("starting %s: %w%s", i.request.Name, err, last.LastLines())
	}
	i.Timeline = []environment.Phase{
		{Name: environment.PreparePhase, Duration: i.prepared.Sub(i.begun)},
		{Name: "engine", Duration: executed.Sub(i.prepared)},
		{Name: "agent", Duration: time.Since(executed)},
	}
	return nil
}

func (i *Instance) launch(command *exec.Cmd, space *os.File, stderr io.Writer) (*process, error) {
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the pipes of the agent: %w", err)
	}
	stdoutR, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the pipes of the agent: %w", err), stdinR.Close(), stdinW.Close())
	}
	p := &process{stream: &Pipes{stdoutR, stdinW}, ended: make(chan struct{}), forget: func() {}}
	command.Stdin, command.Stdout, command.Stderr = stdinR, stdoutW, stderr
	variables, err := i.variables()
	if err != nil {
		return nil, errors.Join(err, p.stream.Close(), stdinR.Close(), stdoutW.Close())
	}
	defer variables.Close()
	command.Env, command.ExtraFiles = []string{}, []*os.File{variables}
	command.Args = append(command.Args, "--environment=3") // the first extra file
	command.WaitDelay = environment.ProcessStop.Terminate
	start := command.Start
	if i.ids != nil {
		start = func() error { return userns.Start(command, *i.ids) }
	}
	if space == nil {
		err = start()
	} else {
		err = netns.Within(space, start)
	}
	stdinR.Close()
	stdoutW.Close()
	if err != nil {
		p.stream.Close()
		return nil, fmt.Errorf("executing %s for instance %s: %w", command.Path, i.request.Name, err)
	}
	p.Process = command.Process
	crash.Go(func() { _ = command.Wait(); close(p.ended) })
	forget, err := i.request.Owner.Adopt(p.Pid, "agent of "+i.request.Name)
	if err != nil {
		p.Kill()
		<-p.ended
		p.stream.Close()
		return nil, err
	}
	p.forget = forget
	return p, nil
}

// variables are a file with the image's environment, which the agent gives to the
// commands that it starts.
func (i *Instance) variables() (*os.File, error) {
	fd, err := unix.MemfdCreate("environment", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a file for the image's environment: %w", err)
	}
	file := os.NewFile(uintptr(fd), "environment")
	if i.request.Image != nil {
		// At an offset of its own: the agent reads from the file's, the beginning.
		_, err = file.WriteAt([]byte(strings.Join(i.request.Image.Env, "\x00")), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the image's environment: %w", err), file.Close())
	}
	return file, nil
}

// Pipes are the host's end of the agent's standard input and output.
type Pipes struct {
	*os.File          // the agent's standard output
	In       *os.File // and standard input
}

func (p *Pipes) Write(data []byte) (int, error) { return p.In.Write(data) }

// Close closes both.
func (p *Pipes) Close() error { return errors.Join(p.File.Close(), p.In.Close()) }

// Footprint is the cgroup, and where the traffic is counted.
func (i *Instance) Footprint() usage.Footprint {
	footprint := i.traffic
	if i.group != nil {
		footprint.Cgroups = []string{i.group.Path()}
	}
	return footprint
}

// Stop ends the agent and all that it started, and removes cgroup and directory.
func (i *Instance) Stop(ctx context.Context) error {
	i.stop.Do(func() {
		if i.Client != nil {
			_ = i.More.Freezer.Thaw(ctx) // the kill below thaws too
			bound, cancel := context.WithTimeout(ctx, environment.ProcessStop.Terminate)
			_ = i.Client.Shutdown(bound) // what is left is killed below
			cancel()
			i.Client.Close()
		}
		// Also when the caller's context is done: nothing may be left.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), environment.ProcessStop.Kill)
		defer cancel()
		i.end = i.remove(ctx)
	})
	return i.end
}

// remove removes whatever the start made.
func (i *Instance) remove(ctx context.Context) error {
	var problems []error
	if i.process != nil {
		i.process.stream.Close()
		_ = i.process.Kill() // it may have died before it joined the group
	}
	if i.group != nil {
		problems = append(problems, i.group.Kill(ctx))
	}
	if i.process != nil {
		select {
		case <-i.process.ended:
		case <-ctx.Done():
		}
		select { // again: it may have exited when the time was up already
		case <-i.process.ended:
			i.NoteExit(time.Now())
			i.process.forget()
		default:
			problems = append(problems, fmt.Errorf("the agent (process %d) did not exit: %w", i.process.Pid, ctx.Err()))
		}
	}
	if i.group != nil {
		problems = append(problems, i.group.Remove())
	}
	for _, undo := range slices.Backward(i.undo) {
		problems = append(problems, undo())
	}
	// Not through a mount that is still there: a later sweep removes both.
	if err := errors.Join(problems...); err != nil || i.directory == "" {
		return err
	}
	return userns.RemoveAll(i.directory)
}

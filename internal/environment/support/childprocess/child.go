// Package childprocess is the life of an instance whose agent is a child process of
// tare's on this machine, in a cgroup of its own, with its standard input and
// output as the channel: what every program that runs another one in some
// isolation has in common.
//
// It must not know what isolates: it executes a command that somebody made, and
// ends it.
package childprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/support/console"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/netns"
	"tare/internal/sample"
)

// How long the agent may take to end when asked, and how long Stop takes at
// most for all that comes after.
const (
	patience = 3 * time.Second
	clearing = 20 * time.Second
)

// Instance is an environment.Instance but for its Address and its Paths. What
// its start has not come to yet is nil.
type Instance struct {
	request  environment.Request
	folder   string
	begun    time.Time
	prepared time.Time
	group    *cgroup.Group
	process  *process
	client   *agent.Client
	phases   []environment.Phase
	notes    []string
	traffic  sample.Footprint // where its bytes are counted

	undo []func() error
	stop sync.Once
	end  error
}

// process is the child.
type process struct {
	*os.Process
	stream io.ReadWriteCloser
	ended  chan struct{}
	forget func()
}

// New makes the instance's folder. From here on Stop takes back what was made.
func New(r environment.Request) (*Instance, error) {
	i := &Instance{request: r, begun: time.Now()}
	var err error
	i.folder, err = r.Owner.Directory(r.Name)
	return i, err
}

// Directory is the instance's own, on the host; it goes with the instance.
func (i *Instance) Directory() string { return i.folder }

// Undo has something done when the processes have ended; what was registered
// last is done first.
func (i *Instance) Undo(f func() error) { i.undo = append(i.undo, f) }

// Traffic says where the instance's bytes are counted, where they can be told
// from the host's.
func (i *Instance) Traffic(f sample.Footprint) { i.traffic = f }

// Limit makes the group with the request's limits, of which those of io are for
// the disk below a folder, and returns the files into which a process writes
// its number, or 0, to be in it. What was done until now counts as tare's own
// preparation.
func (i *Instance) Limit(disk string) (joins []string, err error) {
	i.prepared = time.Now()
	limits, err := i.request.Limits.Group(disk)
	if err != nil {
		return nil, err
	}
	if i.group, err = cgroup.Create(i.request.Owner.Cgroup(i.request.Name), limits); err != nil {
		return nil, err
	}
	i.notes = i.group.Cautions(limits)
	return i.group.ProcsFiles(), nil
}

// InCgroup is a command that is in a group before its program begins.
func InCgroup(joins []string, program string, arguments ...string) *exec.Cmd {
	const prelude = `while [ "$1" != -- ]; do echo 0 >"$1" || exit 1; shift; done; shift; exec "$@"`
	words := append([]string{"-c", prelude, "sh"}, joins...)
	return exec.Command("/bin/sh", append(append(words, "--", program), arguments...)...)
}

// Execute starts the command, which has to become the agent, in a network
// namespace (nil: the host's), and waits for the agent's first word. The host's
// own environment variables must not reach the workload; the image's do.
func (i *Instance) Execute(ctx context.Context, command *exec.Cmd, space *os.File) (err error) {
	last := console.New(i.request.Console)
	if i.process, err = i.launch(command, space, last); err != nil {
		return err
	}
	executed := time.Now()
	if i.client, err = agent.Connect(ctx, i.process.stream); err != nil {
		return fmt.Errorf("starting %s: %w%s", i.request.Name, err, last.LastLines())
	}
	i.phases = []environment.Phase{
		{Name: environment.PreparePhase, Duration: i.prepared.Sub(i.begun)},
		{Name: "engine", Duration: executed.Sub(i.prepared)},
		{Name: "agent", Duration: time.Since(executed)},
	}
	return nil
}

func (i *Instance) launch(command *exec.Cmd, space *os.File, complaints io.Writer) (*process, error) {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the agent's channel: %w", err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the agent's channel: %w", err), theirIn.Close(), ourOut.Close())
	}
	p := &process{stream: &channel{ourIn, ourOut}, ended: make(chan struct{}), forget: func() {}}
	command.Stdin, command.Stdout, command.Stderr = theirIn, theirOut, complaints
	command.Env = []string{}
	if i.request.Image != nil {
		command.Env = append(command.Env, i.request.Image.Env...)
	}
	command.WaitDelay = patience
	if space == nil {
		err = command.Start()
	} else {
		err = netns.Within(space, command.Start)
	}
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		p.stream.Close()
		return nil, fmt.Errorf("executing %s for instance %s: %w", command.Path, i.request.Name, err)
	}
	p.Process = command.Process
	go func() { command.Wait(); close(p.ended) }()
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

// channel is the host's end of the agent's standard input and output.
type channel struct {
	*os.File // what the agent says
	out      *os.File
}

func (c *channel) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c *channel) Close() error                { return errors.Join(c.File.Close(), c.out.Close()) }

// Agent speaks to the instance.
func (i *Instance) Agent() *agent.Client { return i.client }

// Phases of the start: engine until the command was executed, agent until the
// agent spoke.
func (i *Instance) Phases() []environment.Phase { return i.phases }

// Notes are what is to be kept in mind about the limits.
func (i *Instance) Notes() []string { return i.notes }

// Footprint is the group, and where the traffic is counted.
func (i *Instance) Footprint() sample.Footprint {
	footprint := i.traffic
	if i.group != nil {
		footprint.Cgroups = []string{i.group.Path()}
	}
	return footprint
}

// Stop ends the agent and all that it started, and removes group and folder.
func (i *Instance) Stop(ctx context.Context) error {
	i.stop.Do(func() {
		if i.client != nil {
			asked, cancel := context.WithTimeout(ctx, patience)
			_ = i.client.Shutdown(asked) // what does not end so is killed below
			cancel()
			i.client.Close()
		}
		// Also when the caller's time is over: nothing may stay.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearing)
		defer cancel()
		i.end = i.clear(ctx)
	})
	return i.end
}

// clear takes back what was made, whatever of it there is.
func (i *Instance) clear(ctx context.Context) error {
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
			i.process.forget()
		case <-ctx.Done():
			problems = append(problems, fmt.Errorf("the agent, process %d, did not end: %w", i.process.Pid, ctx.Err()))
		}
	}
	if i.group != nil {
		problems = append(problems, i.group.Remove())
	}
	for _, undo := range slices.Backward(i.undo) {
		problems = append(problems, undo())
	}
	// Not through a mount that is still there: a sweep takes both.
	if err := errors.Join(problems...); err != nil || i.folder == "" {
		return err
	}
	return os.RemoveAll(i.folder)
}

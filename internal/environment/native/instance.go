package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/environment/link"
	"tare/internal/sample"
)

// How long the agent may take to end when asked, and how long Stop takes at
// most for all that comes after.
const (
	patience = 3 * time.Second
	clearing = 20 * time.Second
)

// instance is the agent in its root and its group. What Start has not come to
// yet is nil.
type instance struct {
	folder  string
	group   *cgroup.Group
	process *process
	client  *agent.Client
	phases  []environment.Phase
	notes   []string
	address string
	seat    *link.Seat

	stop sync.Once
	end  error
}

// process is the agent's, as the host sees it.
type process struct {
	*os.Process
	stream  io.ReadWriteCloser
	ended   chan struct{}
	release func()
}

// Start makes a root and a group, and puts the agent into both.
func (n *native) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	begun := time.Now()
	i := &instance{address: link.HostAddress}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if i.folder, err = r.Owner.Folder(r.Name); err != nil {
		return nil, err
	}
	arguments, err := n.root(ctx, r, i.folder)
	if err != nil {
		return nil, err
	}
	if r.Network != nil {
		if i.seat, err = link.Join(r.Network); err != nil {
			return nil, fmt.Errorf("starting native instance %s: %w", r.Name, err)
		}
		i.address = i.seat.Address.String()
	}
	prepared := time.Now()
	limits := cgroup.Limits(r.Limits)
	if i.group, err = cgroup.Create(r.Owner.Cgroup(r.Name), limits); err != nil {
		return nil, err
	}
	i.notes = i.group.Verify(limits)
	for _, file := range i.group.ProcsFiles() {
		arguments = append(arguments, "--cgroup", file)
	}
	console := &console{to: r.Console}
	if i.process, err = launch(r, arguments, console); err != nil {
		return nil, err
	}
	executed := time.Now()
	if i.client, err = agent.Connect(ctx, i.process.stream); err != nil {
		return nil, fmt.Errorf("starting native instance %s: %w%s", r.Name, err, console.last())
	}
	i.phases = []environment.Phase{
		{Name: environment.PreparePhase, Duration: prepared.Sub(begun)},
		{Name: "engine", Duration: executed.Sub(prepared)},
		{Name: "agent", Duration: time.Since(executed)},
	}
	return i, nil
}

// root makes the root file system and returns the agent's arguments for it.
func (n *native) root(ctx context.Context, r environment.Request, folder string) ([]string, error) {
	root, data := filepath.Join(folder, "root"), filepath.Join(folder, "data")
	for _, dir := range []string{root, data} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("making the root of native instance %s: %w", r.Name, err)
		}
	}
	// Servers run as users of their own and write there, so everybody may.
	if err := os.Chmod(data, 0o777); err != nil {
		return nil, fmt.Errorf("opening /data of native instance %s: %w", r.Name, err)
	}
	var binds []string
	var err error
	if n.options.RootFS == "host" {
		binds, err = fromHost(root)
	} else {
		var image string
		if image, err = r.Image.Folder(ctx); err == nil {
			binds, err = fromImage(image, root)
		}
	}
	if err != nil {
		return nil, err
	}
	arguments := []string{"native", "--root", root}
	for _, b := range append(binds, data+":/data") {
		arguments = append(arguments, "--bind", b)
	}
	return arguments, nil
}

// launch executes the agent with pipes as its channel. The host's own
// environment must not reach the workload; the image's does.
func launch(r environment.Request, arguments []string, console *console) (*process, error) {
	program, err := agent.Binary(filepath.Join(r.Owner.Home(), "agent"))
	if err != nil {
		return nil, err
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the agent's channel: %w", err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the agent's channel: %w", err), theirIn.Close(), ourOut.Close())
	}
	stream := &channel{ourIn, ourOut}
	cmd := exec.Command(program, arguments...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, console
	cmd.Env = []string{}
	if r.Image != nil {
		cmd.Env = append(cmd.Env, r.Image.Env...)
	}
	cmd.WaitDelay = patience
	err = cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		stream.Close()
		return nil, fmt.Errorf("executing the agent of native instance %s: %w", r.Name, err)
	}
	p := &process{cmd.Process, stream, make(chan struct{}), func() {}}
	go func() { cmd.Wait(); close(p.ended) }()
	release, err := r.Owner.Adopt(p.Pid, "agent of "+r.Name)
	if err != nil {
		p.Kill()
		<-p.ended
		stream.Close()
		return nil, err
	}
	p.release = release
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
func (i *instance) Agent() *agent.Client { return i.client }

// Address is one of the host's loopback: on a network its own, else everybody's.
func (i *instance) Address() string { return i.address }

// Phases of the start: engine until the agent was executed, agent until it
// spoke.
func (i *instance) Phases() []environment.Phase { return i.phases }

// Notes are limits that did not take hold.
func (i *instance) Notes() []string { return i.notes }

// Paths are what the options say.
func (i *instance) Paths() environment.Paths { return environment.Paths{} }

// Footprint is the group; the network is the host's, where nothing is told
// apart.
func (i *instance) Footprint() sample.Footprint {
	return sample.Footprint{Cgroups: []string{i.group.Path()}}
}

// Stop ends the agent and all that it started, and removes group and folder.
func (i *instance) Stop(ctx context.Context) error {
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

// clear takes back what Start made, whatever of it there is.
func (i *instance) clear(ctx context.Context) error {
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
			i.process.release()
		case <-ctx.Done():
			problems = append(problems, fmt.Errorf("the agent, process %d, did not end: %w", i.process.Pid, ctx.Err()))
		}
	}
	if i.group != nil {
		problems = append(problems, i.group.Remove())
	}
	if i.folder != "" {
		problems = append(problems, os.RemoveAll(i.folder))
	}
	if i.seat != nil {
		problems = append(problems, i.seat.Close())
	}
	return errors.Join(problems...)
}

// console passes on what the agent prints and keeps the end of it.
type console struct {
	to   io.Writer
	mu   sync.Mutex
	kept []byte
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.kept = append(c.kept, p...)
	c.kept = c.kept[max(0, len(c.kept)-2048):]
	c.mu.Unlock()
	return c.to.Write(p)
}

// last is the end of what was printed, to stand in a message.
func (c *console) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := string(bytes.TrimSpace(c.kept))
	if text == "" {
		return ""
	}
	return "; the agent printed last:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"tare/internal/agent"
	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/environment/link"
	"tare/internal/image"
	"tare/internal/owner"
	"tare/internal/sample"
)

// direct is gVisor without an engine: runsc on a bundle of ours, its standard
// input and output the agent's stream.
type direct struct {
	options GvisorOptions
	program string // runsc
	agent   func(home string) (string, error)
	points  func(home string) (string, error)
}

func newDirect(o GvisorOptions) (*direct, error) {
	program, err := exec.LookPath(o.Binary)
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return nil, fmt.Errorf("gVisor's program: %w; install it: scripts/install-runsc.sh /usr/local/bin", err)
	}
	if o.Network == "" {
		o.Network = "sandbox"
	}
	return &direct{options: o, program: program, agent: onceAHome(theAgent), points: onceAHome(makePoints)}, nil
}

func (d *direct) Label() string { return "" }

func (d *direct) Versions(ctx context.Context) map[string]string {
	return map[string]string{"runsc": programVersion(ctx, d.program)}
}

func (d *direct) Prepare(ctx context.Context, img *image.Image, _ func(string)) error {
	_, err := img.Folder(ctx)
	return err
}

// NewNetwork makes a bridge, at which each sandbox has a veth pair; sandboxes in
// the host's network get addresses of its loopback.
func (d *direct) NewNetwork(_ context.Context, o *owner.Owner, _ string) (environment.Network, error) {
	if d.options.Network == "host" {
		return link.Loopback{}, nil
	}
	return link.NewBridge(o.ID(), "a bridge, one veth pair and gVisor's network stack each")
}

func (d *direct) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	began := time.Now()
	program, err := d.agent(r.Owner.Home())
	if err != nil {
		return nil, err
	}
	points, err := d.points(r.Owner.Home())
	if err != nil {
		return nil, err
	}
	console := &console{to: r.Console}
	s := &sandbox{}
	defer func() {
		if err != nil {
			err = fmt.Errorf("starting %s: %w%s", r.Name, err, console.words())
			if left := s.remove(context.WithoutCancel(ctx)); left != nil {
				err = fmt.Errorf("%w\nand clearing up after it: %w", err, left)
			}
		}
	}()
	if s.folder, err = r.Owner.Folder(r.Name); err != nil {
		return nil, err
	}
	root, err := r.Image.Folder(ctx)
	if err != nil {
		return nil, err
	}
	b := bundle{folder: s.folder, image: root, points: points, agent: program, env: r.Image.Env, data: d.options.Data, network: d.options.Network}
	if err := s.join(r.Network, &b); err != nil {
		return nil, err
	}
	if err := b.write(r.Name); err != nil {
		return nil, err
	}
	limits := cgroup.Limits{CPUs: r.Limits.CPUs, Memory: r.Limits.Memory, PIDs: r.Limits.PIDs, Cores: r.Limits.Cores}
	if s.group, err = cgroup.Create(r.Owner.Cgroup(r.Name), limits); err != nil {
		return nil, err
	}
	stream, err := s.run(b, d.arguments(b, "tare-"+r.Owner.ID()+"-"+r.Name), r.Owner.Adopt, console)
	if err != nil {
		return nil, err
	}
	if s.agent, err = agent.Connect(ctx, stream); err != nil {
		return nil, err
	}
	total, hello := time.Since(began), s.agent.Hello()
	own := min(hello.AgentTime, total)
	s.phases = []environment.Phase{{Name: "engine", Duration: total - own}, {Name: "agent", Duration: own}}
	s.notes = append(s.group.Verify(limits), coresNote(r.Limits, hello)...)
	s.notes = append(s.notes, gvisorNotes...)
	return s, nil
}

// join gives the sandbox its address.
func (s *sandbox) join(n environment.Network, b *bundle) error {
	switch n := n.(type) {
	case nil:
		if b.network == "host" {
			s.address = link.HostAddress
		}
		return nil
	case *link.Bridge:
		port, err := n.Namespace()
		if err != nil {
			return err
		}
		s.release = append(s.release, port.Close)
		s.address = port.Address.Addr().String()
		s.traffic = sample.Footprint{Devices: []string{port.Device}, Space: n.Space()}
		// The option says no more than that it has no other network.
		b.network, b.space = "sandbox", port.Path()
		return nil
	}
	seat, err := link.Join(n)
	if err != nil {
		return err
	}
	s.release = append(s.release, seat.Close)
	s.address = seat.Address.String()
	return nil
}

// arguments of runsc. The cgroup is ours, and what the sandbox writes to its
// root goes to a file on the same file system as everybody's data.
func (d *direct) arguments(b bundle, id string) []string {
	return []string{d.program,
		"--root=" + b.folder, "--ignore-cgroups",
		"--overlay2=root:dir=" + b.folder,
		"--platform=" + d.options.Platform, "--network=" + b.network,
		"run", "--bundle=" + b.folder, id}
}

// sandbox is one started instance of direct.
type sandbox struct {
	folder  string
	group   *cgroup.Group
	command *exec.Cmd
	ended   chan struct{} // closed when runsc has ended
	release []func() error
	agent   *agent.Client
	phases  []environment.Phase
	notes   []string
	address string
	traffic sample.Footprint // where its bytes are counted

	stop    sync.Mutex
	stopped bool
}

func (s *sandbox) Agent() *agent.Client        { return s.agent }
func (s *sandbox) Address() string             { return s.address }
func (s *sandbox) Phases() []environment.Phase { return s.phases }
func (s *sandbox) Notes() []string             { return s.notes }

// Paths are what the options say.
func (s *sandbox) Paths() environment.Paths { return environment.Paths{} }

// Footprint is the group, with runsc, its sandbox and its gofer in it, and the
// port at the network.
func (s *sandbox) Footprint() sample.Footprint {
	footprint := s.traffic
	footprint.Cgroups = []string{s.group.Path()}
	return footprint
}

// run starts runsc in the group.
func (s *sandbox) run(b bundle, runsc []string, adopt func(int, string) (func(), error), console io.Writer) (io.ReadWriteCloser, error) {
	arguments := append([]string{"-c", prelude, "sh"}, s.group.ProcsFiles()...)
	arguments = append(arguments, "--", b.layers(), b.points)
	s.command = exec.Command("/bin/sh", append(arguments, runsc...)...)
	s.command.Stderr = console
	s.command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setsid: true}
	in, err := s.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: the command's would be closed when runsc ends, with
	// the agent's last words still in it.
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.command.Stdout = theirs
	err = s.command.Start()
	theirs.Close()
	if err != nil {
		out.Close()
		s.command = nil
		return nil, fmt.Errorf("starting %s: %w", runsc[0], err)
	}
	s.ended = make(chan struct{})
	go func() {
		s.command.Wait()
		close(s.ended)
	}()
	forget, err := adopt(s.command.Process.Pid, "runsc")
	if err != nil {
		out.Close()
		return nil, err
	}
	s.release = append(s.release, func() error { forget(); return nil })
	return &pipes{out, in}, nil
}

type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p *pipes) Write(data []byte) (int, error) { return p.in.Write(data) }
func (p *pipes) Close() error                   { return errors.Join(p.in.Close(), p.ReadCloser.Close()) }

// Stop ends the agent, and with it the sandbox, and forces what does not end.
func (s *sandbox) Stop(ctx context.Context) error {
	s.stop.Lock()
	defer s.stop.Unlock()
	if s.stopped {
		return nil
	}
	bound, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if s.agent.Err() == nil {
		_ = s.agent.Shutdown(bound) // what it did not do is forced below
	}
	s.agent.Close()
	select {
	case <-s.ended:
	case <-bound.Done():
	}
	if err := s.remove(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("stopping the sandbox in %s: %w", s.folder, err)
	}
	s.stopped = true
	return nil
}

// remove makes sure that nothing of the sandbox is left, whatever state it is
// in. Its mounts go with the last process of its mount namespace.
func (s *sandbox) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, forced)
	defer cancel()
	var problems []error
	if s.group != nil {
		if s.command != nil {
			s.command.Process.Kill() // it may not have come as far as the group
		}
		problems = append(problems, s.group.Kill(ctx))
		if s.command != nil {
			select {
			case <-s.ended:
			case <-ctx.Done():
				problems = append(problems, fmt.Errorf("runsc (process %d) does not end", s.command.Process.Pid))
			}
		}
		problems = append(problems, s.group.Remove())
	}
	for _, release := range s.release {
		problems = append(problems, release())
	}
	if s.folder != "" {
		problems = append(problems, os.RemoveAll(s.folder))
	}
	return errors.Join(problems...)
}

package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/moby/sys/signal"
	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/workload"
)

const (
	readyTimeout      = time.Minute      // of a server whose pack names none
	serverStopTimeout = 10 * time.Second // after each of the two signals
	probeTimeout      = time.Second
	// portFreeTimeout is how long something that is about to end may still answer
	// at a port.
	portFreeTimeout = 5 * time.Second
)

// server is one that runs in an instance.
type server struct {
	owner    *Copy
	instance *instances.Instance
	spec     workload.Server
	process  *agent.Process
	out, err *rundir.RawFile
	// exited receives the exit, once; it is closed without one where the instance
	// is gone.
	exited chan agent.Exit
	gone   chan struct{} // closed when it has exited
	giveUp context.CancelFunc
}

// RunningServer is a server of a copy.
type RunningServer struct {
	Instance *instances.Instance
	Role     string
	PID      int
}

// Servers that were started, in their order.
func (c *Copy) Servers() []RunningServer {
	return lists.Map(c.servers, func(s *server) RunningServer { return RunningServer{s.instance, s.spec.Role, s.process.PID()} })
}

// checkPortsFree makes sure, before any server of the copy is started, that
// nothing answers at their addresses: another program there would be measured in
// their place. A server of an earlier trial may take a moment to close.
func (c *Copy) checkPortsFree(ctx context.Context) error {
	for n, server := range c.anyPack().Servers {
		for _, i := range c.roles.Of(server.Role) {
			spec := c.packs[i].Servers[n]
			address := spec.Ready.Address()
			if address == "" {
				continue
			}
			if err := awaitPortFree(ctx, i, address, spec); err != nil {
				return err
			}
		}
	}
	return nil
}

func awaitPortFree(ctx context.Context, i *instances.Instance, address string, spec workload.Server) error {
	for began := time.Now(); ; {
		taken, err := i.Agent().ProbeOnce(ctx, agent.Probe{TCP: address, Timeout: probeTimeout})
		if err != nil {
			return fmt.Errorf("probing whether something answers at %s: %w", address, err)
		}
		if !taken {
			return nil
		}
		if time.Since(began) > portFreeTimeout {
			return fmt.Errorf("something answers at %s before server %s was started: another program or run uses the port; end it, or set another port", address, inMessage(spec.Step))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(portFreeTimeout / 50):
		}
	}
}

// startServer starts a server and waits until it answers.
func (c *Copy) startServer(ctx context.Context, i *instances.Instance, spec workload.Server) error {
	name := cmp.Or(spec.Role, "server")
	if spec.Completes {
		if err := c.step(ctx, i, name, spec.Step); err != nil {
			return err
		}
		return c.roles.PassVolumes(ctx, i)
	}
	began := time.Now()
	defer func() { c.spent.Add(int64(time.Since(began))) }()
	s := &server{
		owner: c, instance: i, spec: spec, out: c.output(i, name+".stdout"), err: c.output(i, name+".stderr"),
		exited: make(chan agent.Exit, 1), gone: make(chan struct{}),
	}
	cmd := c.command(i, spec.Step, 0)
	cmd.Timeout = 0
	cmd.Stdout, cmd.Stderr = s.out, s.err
	cmd.Attached = true // what a server prints passes the layer, as it does outside of tare
	var err error
	if s.process, err = i.Agent().Start(ctx, cmd); err != nil {
		return fmt.Errorf("server %s: %w", inMessage(spec.Step), err)
	}
	c.servers = append(c.servers, s)
	waiting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	s.giveUp = giveUp
	crash.Go(func() {
		if exit, err := s.process.Wait(waiting); err == nil {
			s.exited <- exit
			close(s.gone)
		}
		close(s.exited)
	})
	return s.awaitReady(ctx)
}

// awaitReady waits until the server answers or exits.
func (s *server) awaitReady(ctx context.Context) error {
	probing, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan error, 1)
	crash.Go(func() { ready <- s.probe(probing) })
	select {
	case err := <-ready:
		if err != nil {
			return fmt.Errorf("server %s did not get ready: %w%s", inMessage(s.spec.Step), err, lastLines(s.err, s.out))
		}
		return nil
	case exit, known := <-s.exited:
		if !known {
			return fmt.Errorf("server %s: %w", inMessage(s.spec.Step), s.instance.Agent().Err())
		}
		return fmt.Errorf("server %s exited before it answered: %s%s%s", inMessage(s.spec.Step), describeExit(exit, 0), outOfMemory(s.instance), lastLines(s.err, s.out))
	}
}

// probe waits until the server's health check succeeds, and then its other probe. A service
// that has neither is ready when it runs.
func (s *server) probe(ctx context.Context) error {
	probes, as := []agent.Probe{s.spec.Ready}, agent.Command{Env: s.instance.Secrets()}
	if h := s.spec.Health; h != nil {
		probes = slices.DeleteFunc([]agent.Probe{h.Probe(), s.spec.Ready}, agent.Probe.None)
		as = s.owner.command(s.instance, s.spec.Step, 0) // the command is the service's, as the server is
	}
	for _, probe := range probes {
		probe.Timeout = cmp.Or(probe.Timeout, readyTimeout)
		if _, err := s.instance.Agent().AwaitAs(ctx, probe, as); err != nil {
			return err
		}
	}
	return nil
}

var errServerExited = errors.New("a server exited")

// whileServersRun is a context that also ends when a server exits: a driver could wait
// for it until its timeout.
func (c *Copy) whileServersRun(ctx context.Context) (context.Context, func()) {
	running, cancel := context.WithCancelCause(ctx)
	for _, s := range c.servers {
		crash.Go(func() {
			select {
			case <-s.gone:
				cancel(errServerExited)
			case <-running.Done():
			}
		})
	}
	return running, func() { cancel(nil) }
}

// stop ends the server and keeps its output. A server that had exited before is
// an error.
func (s *server) stop() error {
	began := time.Now()
	defer func() { s.owner.spent.Add(int64(time.Since(began))) }()
	defer s.giveUp()
	early, err := s.terminate()
	if early != nil {
		err = fmt.Errorf("server %s exited during the trial: %s%s%s", inMessage(s.spec.Step), describeExit(*early, 0), outOfMemory(s.instance), lastLines(s.err, s.out))
	} else if long := cmp.Or(s.out.TooLong(), s.err.TooLong()); long != nil {
		err = errors.Join(err, fmt.Errorf("server %s %w", inMessage(s.spec.Step), long))
	}
	s.owner.record.keep(s.out)
	s.owner.record.keep(s.err)
	return err
}

// terminate signals the server until it exits. Where it had exited before the
// first signal, early says how: its exit may not have been reported yet, but then
// the agent finds no process to signal.
func (s *server) terminate() (early *agent.Exit, err error) {
	select {
	case exit, known := <-s.exited:
		if !known {
			return nil, nil // the instance is gone, and its server with it
		}
		return &exit, nil
	default:
	}
	stop := syscall.SIGTERM
	if s.spec.Stop != "" {
		if stop, err = signal.ParseSignal(s.spec.Stop); err != nil {
			return nil, fmt.Errorf("stop the server: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), serverStopTimeout+cmp.Or(s.spec.StopTime, serverStopTimeout))
	defer cancel()
	for n, number := range []syscall.Signal{stop, syscall.SIGKILL} {
		err := s.process.Signal(ctx, number)
		if err != nil && s.instance.Agent().Err() != nil {
			return nil, nil
		}
		timer := time.NewTimer(cmp.Or(s.spec.StopTime, serverStopTimeout))
		select {
		case exit, known := <-s.exited:
			timer.Stop()
			if known && n == 0 && errors.Is(err, unix.ESRCH) {
				return &exit, nil
			}
			return nil, nil
		case <-timer.C:
		}
	}
	return nil, errors.New("the server did not exit after SIGKILL")
}

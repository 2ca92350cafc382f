package try

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/linux/listener"
)

const (
	pollEvery = 100 * time.Millisecond
	// settleTime is how long better answers are waited for: at exposed ports, in a known
	// protocol, without an error.
	settleTime = 5 * time.Second
	mostWords  = 2 << 10
)

// seen is what an image did when it was started.
type seen struct {
	sockets []listener.Socket // of the image that listen
	answers map[int]answer
	exit    *agent.Exit
	took    time.Duration // until the exit
	words   string        // its last ones
}

// Look starts the image's command in an instance, with the secret variables, NAME=VALUE,
// sees what it does, and makes the study.
func (o Options) Look(ctx context.Context, img *image.Image, i environment.Instance, secrets []string) (*Study, error) {
	s, err := o.watch(ctx, img, i, secrets)
	if err != nil {
		return nil, err
	}
	g, err := o.guess(img, s)
	if err != nil {
		return nil, err
	}
	return o.study(g)
}

// watch starts the image's command and returns when it is known what it does, when it has
// exited, or when its time is over.
func (o Options) watch(ctx context.Context, img *image.Image, i environment.Instance, secrets []string) (s seen, err error) {
	given, path, err := o.target()
	if err != nil {
		return s, err
	}
	exposed := ExposedPorts(img.Config)
	ask := asked{path: cmp.Or(path, HealthPath(img.Config.Health), "/")}
	var password string
	ask.user, ask.database, password = PostgresLogin(o.variables(img))
	ask.password = password != ""
	known := o // with the values of secrets
	known.Env, known.Secrets = slices.Concat(o.Env, secrets), nil
	ask.redis = cmp.Or(first(known.variables(img), redisPasswords...), requiredPassword(o.command(img)))
	before := listening(ctx, i, false)
	for _, port := range append(exposed, given) {
		if reachable(before, port) {
			return s, fmt.Errorf("port %d of this machine is in use, and the image would listen there: the baseline shares the network of the machine. End what uses it, or choose other environments, such as --env docker,gvisor", port)
		}
	}
	words := &lastWords{}
	process, err := i.Agent().Start(ctx, agent.Command{
		Argv: o.command(img), Env: slices.Concat(img.Env, o.Env, secrets), Dir: img.Dir, User: img.Config.User, Stdout: words, Stderr: words,
	})
	if err != nil {
		return s, fmt.Errorf("the image's command `%s`: %w", strings.Join(o.command(img), " "), err)
	}
	began := time.Now()
	waiting, giveUp := context.WithTimeout(ctx, o.Wait)
	defer giveUp()
	ended := make(chan struct{})
	var exit agent.Exit
	var exitErr error
	crash.Go(func() {
		exit, exitErr = process.Wait(waiting)
		close(ended)
	})
	defer func() {
		if s.exit == nil { // it was only looked at
			killing, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
			defer cancel()
			_ = process.Signal(killing, syscall.SIGKILL) // else the stop of the instance ends it
			_, _ = process.Wait(killing)
		}
	}()
	s.answers = map[int]answer{}
	first := time.Time{} // of the answers
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.sockets = added(before, listening(ctx, i, true))
			if o.Load == "job" {
				continue
			}
			for _, port := range candidates(given, exposed, s.sockets, time.Since(began) > settleTime) {
				if a, err := identify(waiting, i.Address(), port, ask); err == nil && waiting.Err() == nil {
					s.answers[port] = a
				}
			}
			if len(s.answers) > 0 && first.IsZero() {
				first = time.Now()
			}
			if best, ok := best(s.answers); !ok || !o.settled(best) && time.Since(first) < settleTime {
				continue
			}
			return s, nil
		case <-ended:
			s.took, s.words = time.Since(began), words.String()
			switch {
			case ctx.Err() != nil:
				return s, ctx.Err()
			case exitErr == nil:
				s.exit = &exit
			case !errors.Is(exitErr, context.DeadlineExceeded):
				return s, exitErr
			}
			return s, nil
		}
	}
}

// settled reports whether a better answer is unlikely.
func (o Options) settled(a answer) bool {
	return a.wrong == "" && (a.load != "tcp" || o.Load != "")
}

// candidates are the ports to ask, of those that listen: the given one, or those that the
// image exposes, or all if it exposes none or if none of these listens after a while.
func candidates(given int, exposed []int, sockets []listener.Socket, late bool) (ports []int) {
	all := lists.Map(lists.Filter(sockets, func(s listener.Socket) bool { return !s.Local }), func(s listener.Socket) int { return s.Port })
	slices.Sort(all)
	all = slices.Compact(all)
	if given > 0 {
		exposed, late = []int{given}, false
	}
	known := lists.Filter(all, func(port int) bool { return slices.Contains(exposed, port) })
	if len(known) == 0 && (len(exposed) == 0 || late) {
		return all
	}
	return known
}

// best of several answers: one that a load can be driven at, by the protocol, then by the
// port.
func best(answers map[int]answer) (answer, bool) {
	all := slices.SortedFunc(maps.Values(answers), func(a, b answer) int {
		return cmp.Or(cmp.Compare(min(len(a.wrong), 1), min(len(b.wrong), 1)), cmp.Compare(slices.Index(Loads(), a.load), slices.Index(Loads(), b.load)), cmp.Compare(a.port, b.port))
	})
	if len(all) == 0 {
		return answer{}, false
	}
	return all[0], true
}

// lastWords keeps the end of what a command prints.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	w.text = bytes.Clone(w.text[max(0, len(w.text)-mostWords):])
	return len(p), nil
}

// String is its last lines.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(w.text)), "\n")
	const most = 8
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// listening lists the sockets that listen in the network of an instance. Where that is the
// machine's, in which anything may begin to listen, own leaves out those of others.
func listening(ctx context.Context, i environment.Instance, own bool) []listener.Socket {
	at, err := netip.ParseAddr(environment.Listen(i))
	if err != nil || !at.IsLoopback() {
		return listener.All(func(file string) ([]byte, error) { return i.Agent().ReadFile(ctx, file, 16<<20) })
	}
	all := listener.All(os.ReadFile)
	if own {
		return listener.HeldBy(i.Footprint().PIDs(), all)
	}
	return all
}

// added are the sockets that were not there before.
func added(before, now []listener.Socket) []listener.Socket {
	return slices.DeleteFunc(now, func(s listener.Socket) bool { return slices.Contains(before, s) })
}

// reachable reports whether something listens at a port for other machines.
func reachable(all []listener.Socket, port int) bool {
	return slices.ContainsFunc(all, func(s listener.Socket) bool { return s.Port == port && !s.Local })
}

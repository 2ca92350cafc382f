package try

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/image"
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
	sockets []socket // that listen since then
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
	before := listening(ctx, i.Agent())
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
			s.sockets = added(before, listening(ctx, i.Agent()))
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
func candidates(given int, exposed []int, sockets []socket, late bool) (ports []int) {
	all := lists.Map(lists.Filter(sockets, func(s socket) bool { return !s.local }), func(s socket) int { return s.port })
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

// socket is one at which something listens.
type socket struct {
	port  int
	local bool // only for programs of the same machine or instance
}

// tables are the kernel's lists of TCP sockets.
var tables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// listening lists the sockets that listen in the network of an instance.
func listening(ctx context.Context, a *agent.Client) (all []socket) {
	for _, table := range tables {
		// One is absent where a kernel has no IPv6.
		if text, err := a.ReadFile(ctx, table, 16<<20); err == nil {
			all = append(all, listeningIn(string(text))...)
		}
	}
	return all
}

// listeningIn reads a table: a heading, then a line for each socket with its local address
// and its state as second and fourth word.
func listeningIn(table string) (all []socket) {
	const listens = "0A"
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) < 4 || words[3] != listens {
			continue
		}
		address, text, _ := strings.Cut(words[1], ":")
		port, err := strconv.ParseUint(text, 16, 16)
		if err != nil {
			continue
		}
		s := socket{int(port), isLoopback(address)}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// isLoopback reports whether an address of a table is one of the loopback: the kernel
// prints its words of four bytes in the machine's byte order, here the lowest first.
func isLoopback(address string) bool {
	raw, err := hex.DecodeString(address)
	if err != nil {
		return false
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	ip, _ := netip.AddrFromSlice(raw)
	return ip.Unmap().IsLoopback()
}

// added are the sockets that were not there before.
func added(before, now []socket) []socket {
	return slices.DeleteFunc(slices.Clone(now), func(s socket) bool { return slices.Contains(before, s) })
}

// reachable reports whether something listens at a port for other machines.
func reachable(all []socket, port int) bool { return slices.Contains(all, socket{port, false}) }

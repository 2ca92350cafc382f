package nested

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/image"
	"tare/internal/usage"
)

// instance is an inner instance with its outer one, which has no other.
type instance struct {
	*outerMachine
	inner environment.Instance
	once  sync.Once
	ended error
}

func (i *instance) Agent() *agent.Client { return i.inner.Agent() }

// Address is the machine's, or that in the machine's own network.
func (i *instance) Address() string {
	switch {
	case i.Shares:
		return i.outer.Address()
	case i.network != nil:
		return i.inner.Address()
	}
	return ""
}

// Phases are those of the machine, of opening it, and of the inner start, with
// the environment's name before each. All preparation is one phase.
func (i *instance) Phases() []environment.Phase {
	var list []environment.Phase
	var prepared time.Duration
	add := func(of string, phases []environment.Phase) {
		for _, p := range phases {
			if p.Name == environment.PreparePhase {
				prepared += p.Duration
				continue
			}
			list = append(list, environment.Phase{Name: of + p.Name, Duration: p.Duration})
		}
	}
	add(i.Outer+" ", i.outer.Phases())
	add("", i.phases)
	add(i.Kind+" ", i.inner.Phases())
	return append([]environment.Phase{{Name: environment.PreparePhase, Duration: prepared}}, list...)
}

// Paths join both, the inner one first.
func (i *instance) Paths() environment.Paths {
	inner, outer := i.inner.Paths(), i.outer.Paths()
	return environment.Paths{
		Network: through(inner.Network, outer.Network, i.Outer),
		Root:    through(inner.Root, outer.Root, i.Outer),
		Data:    through(inner.Data, outer.Data, i.Outer),
		RootOn:  outer.RootOn, DataOn: outer.DataOn,
	}
}

func through(inner, outer, name string) string {
	switch {
	case inner == "":
		return outer
	case outer == "":
		return inner + " in " + name
	}
	return inner + " in " + name + ", then " + outer
}

// Details have the facts of both, with the machine's system and the versions of the
// programs in it; the inner one overrides. It has exited when the machine had.
func (i *instance) Details() environment.Details {
	outer, facts := i.outer.Details(), i.facts()
	maps.Copy(facts, outer.Facts)
	maps.Copy(facts, i.inner.Details().Facts)
	d := environment.Details{Facts: facts, Exited: outer.Exited, Given: i.given}
	if i.shared != nil {
		d.Machine = i.name
	}
	return d
}

// Footprint is the whole machine's.
func (i *instance) Footprint() usage.Footprint { return i.outer.Footprint() }

// given are the limits of both: cores are the machine's.
func (i *instance) given(l environment.Limits) []environment.Given {
	l.Cores = nil
	return []environment.Given{{Instance: i.outer, Limits: i.Limits}, {Instance: i.inner, Limits: l}}
}

func (i *instance) Notes() []string {
	notes := lists.Map(i.outer.Notes(), func(n string) string { return i.Outer + ": " + strings.TrimPrefix(n, i.Outer+": ") })
	return append(notes, i.inner.Notes()...)
}

// Stop powers the machine off, which ends everything in it. In one that others share, it
// ends the inner instance.
func (i *instance) Stop(ctx context.Context) error {
	i.once.Do(func() { i.ended = i.leave(ctx, i.inner) })
	return i.ended
}

// The machine's disk: programs, kernel modules, images and tare's home.
const (
	serial   = "tare-machine"  // serial number of the disk
	kept     = "/var/lib/tare" // mount point
	home     = kept + "/home"
	programs = "programs" // directory on the disk, below which a program has its absolute path
)

// outerMachine is a started outer instance with what has been opened in it.
type outerMachine struct {
	*nested
	outer       environment.Instance
	name        string
	session     *remote.Session
	environment environment.Environment
	phases      []environment.Phase // of open
	shared      *sharedMachine      // that it is; nil where one instance has it
	network     environment.Network // between the instances in it; nil for none
}

// open mounts the machine's disk, starts the services that the inner kind needs,
// opens a session, and prepares the image if the disk does not have it yet.
func (w *outerMachine) open(ctx context.Context, img *image.Image, progress func(string)) (err error) {
	phase := func(name string, do func() error) {
		began := time.Now()
		if err == nil {
			err = do()
		}
		w.phases = append(w.phases, environment.Phase{Name: name, Duration: time.Since(began)})
	}
	phase(environment.PreparePhase, func() error { return w.mountDisk(ctx) })
	if len(w.Needs.Services) > 0 {
		phase(w.Outer+" services", func() error { return w.startServices(ctx) })
	}
	phase(environment.PreparePhase, func() error { return w.openSession(ctx, img, progress) })
	return err
}

// mountDisk mounts the machine's disk, and links its programs, modules and
// directories to where they are looked for. /data of the inner instance is on the
// machine's data disk, as it is where nothing is nested.
func (w *outerMachine) mountDisk(ctx context.Context) error {
	var s strings.Builder
	fmt.Fprintf(&s, `set -e
for device in /sys/block/*; do
	test "$(cat $device/serial 2>/dev/null)" = %[1]s && disk=/dev/${device##*/}
done
test -n "$disk" || { echo "no disk has the serial number %[1]s" >&2; exit 1; }
mkdir -p %[2]s /lib/modules
mount $disk %[2]s
mount --bind %[2]s/modules /lib/modules
test -e /lib/modules/$(uname -r)/modules.dep || depmod
mount --make-rshared /
mkdir -p %[3]s/work /data/.work
mount --bind /data/.work %[3]s/work
echo 1 >/proc/sys/net/ipv4/ip_forward
ulimit -n 524288
`, serial, kept, home)
	for _, p := range w.Needs.Programs {
		fmt.Fprintf(&s, "mkdir -p \"$(dirname %[1]s)\"\nln -sf %[2]s/%[3]s%[1]s %[1]s\n", quote(p.At), kept, programs)
	}
	for _, module := range w.Needs.Modules {
		fmt.Fprintf(&s, "modprobe %s 2>/dev/null || true\n", quote(module))
	}
	for _, directory := range w.Needs.Directories {
		fmt.Fprintf(&s, "mkdir -p %[1]s %[2]s/folders%[1]s\nmount --bind %[2]s/folders%[1]s %[1]s\n", quote(directory), kept)
	}
	return w.run(ctx, "mounting its disk", s.String())
}

// shutDown ends the session and the services, and syncs the disk.
func (w *outerMachine) shutDown(ctx context.Context) error {
	err := w.session.Close()
	w.session = nil
	script := "sync\n"
	if len(w.Needs.Services) > 0 {
		script = "pids=$(cat /run/tare-service-?); kill -TERM $pids; for n in $(seq 100); do kill -0 $pids 2>/dev/null || break; sleep 0.1; done\n" + script
	}
	return errors.Join(err, w.run(ctx, "ending its services", script+"sync\n"))
}

// startServices starts the services in order, each once the previous one is ready.
func (w *outerMachine) startServices(ctx context.Context) error {
	for n, s := range w.Needs.Services {
		if err := w.startService(ctx, n, s); err != nil {
			return err
		}
	}
	return nil
}

// startService starts a service and waits until it is ready or has exited.
func (w *outerMachine) startService(ctx context.Context, n int, s environment.Service) error {
	a, file := w.outer.Agent(), fmt.Sprintf("/run/tare-service-%d", n)
	script := fmt.Sprintf(`echo $$ >%[1]s; exec "$@" >%[1]s.log 2>&1`, file)
	p, err := a.Start(ctx, agent.Command{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, s.Argv...)})
	if err != nil {
		return fmt.Errorf("%s, starting %s: %w", w.Outer, s.Argv[0], err)
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	crash.Go(func() {
		if exit, err := p.Wait(waiting); err == nil {
			stop(fmt.Errorf("exit status %d", exit.Code))
		}
	})
	ready := s.Ready
	ready.Interval, ready.Timeout = 50*time.Millisecond, serviceTimeout
	if _, err := a.Await(waiting, ready); err != nil {
		if cause := context.Cause(waiting); cause != nil {
			err = cause
		}
		var log host.Tail
		_, _ = a.Run(ctx, agent.Command{Argv: []string{"tail", "-n", "15", file + ".log"}, Stdout: &log})
		return fmt.Errorf("waiting in %s until the service that %s needs is ready: %w%s", w.Outer, w.Kind, err, log.Last())
	}
	return nil
}

// Generous timeouts, since an emulated machine on a busy host is slow. The end of
// a machine is noticed at once in any case, by the end of its agent's stream.
const (
	serviceTimeout = 10 * time.Minute
	silence        = 5 * time.Minute
)

// openSession opens a session of tare in the machine and prepares the image.
func (w *outerMachine) openSession(ctx context.Context, img *image.Image, progress func(string)) (err error) {
	if progress == nil {
		progress = func(string) {}
	}
	at := host.Instance(w.Outer, w.outer.Address(), w.outer.Agent())
	w.session, err = remote.Dial(ctx, at, remote.Options{Home: home, Progress: progress, Silence: silence})
	if err != nil {
		return err
	}
	if state, findings := w.session.Check(ctx, w.Kind, w.Options); state == environment.Missing {
		last := findings[len(findings)-1]
		return fmt.Errorf("%s does not work in %s: it needs %s: %s", w.Kind, w.Outer, last.What, last.Reason)
	}
	if w.environment, err = w.session.Environment(ctx, w.Kind, w.Options); err != nil {
		return fmt.Errorf("%s in %s: %w", w.Kind, w.Outer, err)
	}
	if err := w.environment.Prepare(ctx, img, progress); err != nil {
		return fmt.Errorf("preparing %s in %s: %w", w.Kind, w.Outer, err)
	}
	return nil
}

func (w *outerMachine) run(ctx context.Context, what, script string) error {
	if _, err := host.Instance(w.Outer, "", w.outer.Agent()).Run(ctx, "/bin/sh", "-c", script); err != nil {
		return fmt.Errorf("%s, %s: %w", w.Outer, what, err)
	}
	return nil
}

// end powers the machine off, which ends everything in it.
func (w *outerMachine) end(ctx context.Context) error {
	err := w.outer.Stop(ctx)
	if w.session != nil {
		w.session.Close() // returns an error, as the stream has ended
	}
	return err
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

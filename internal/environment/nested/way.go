package nested

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/image"
)

// What a machine is laid out by.
const (
	serial   = "tare-machine" // of the disk that it keeps its things on
	kept     = "/var/lib/tare"
	home     = kept + "/home"
	programs = "programs" // on that disk, below which each has its own path
)

// way is how an outer instance is entered: what has been opened so far.
type way struct {
	*nested
	outer       environment.Instance
	name        string
	session     *remote.Session
	environment environment.Environment
	phases      []environment.Phase // what the opening took
}

// open makes the outer instance a host, starts the services that the inner kind
// needs, and prepares the image, which takes no time where it was prepared.
func (w *way) open(ctx context.Context, img *image.Image, progress func(string)) (err error) {
	part := func(name string, do func() error) {
		began := time.Now()
		if err == nil {
			err = do()
		}
		w.phases = append(w.phases, environment.Phase{Name: name, Duration: time.Since(began)})
	}
	part(environment.PreparePhase, func() error { return w.furnish(ctx) })
	if len(w.Needs.Services) > 0 {
		part(w.Outer+" services", func() error { return w.serve(ctx) })
	}
	part(environment.PreparePhase, func() error { return w.enter(ctx, img, progress) })
	return err
}

// furnish mounts the disk that the machine keeps its things on, and puts what is
// there where programs look for it. What instances write to /data is on the
// machine's own data disk, as it is for an instance that is the machine itself.
func (w *way) furnish(ctx context.Context) error {
	var s strings.Builder
	fmt.Fprintf(&s, `set -e
for device in /sys/block/*; do
	test "$(cat $device/serial 2>/dev/null)" = %[1]s && disk=/dev/${device##*/}
done
test -n "$disk" || { echo "there is no disk with the serial number %[1]s" >&2; exit 1; }
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
	for _, folder := range w.Needs.Folders {
		fmt.Fprintf(&s, "mkdir -p %[1]s %[2]s/folders%[1]s\nmount --bind %[2]s/folders%[1]s %[1]s\n", quote(folder), kept)
	}
	return w.run(ctx, "making a host of it", s.String())
}

// put takes what was prepared out of the machine's memory, in order.
func (w *way) put(ctx context.Context) error {
	err := w.session.Close()
	w.session = nil
	script := "sync\n"
	if len(w.Needs.Services) > 0 {
		script = "pids=$(cat /run/tare-service-?); kill -TERM $pids; for n in $(seq 100); do kill -0 $pids 2>/dev/null || break; sleep 0.1; done\n" + script
	}
	return errors.Join(err, w.run(ctx, "ending its services", script+"sync\n"))
}

// serve starts the services, each when the one before it answers.
func (w *way) serve(ctx context.Context) error {
	for n, s := range w.Needs.Services {
		if err := w.start(ctx, n, s); err != nil {
			return err
		}
	}
	return nil
}

// start starts a service, and returns when it answers. One that ends before
// never will.
func (w *way) start(ctx context.Context, n int, s environment.Service) error {
	a, file := w.outer.Agent(), fmt.Sprintf("/run/tare-service-%d", n)
	script := fmt.Sprintf(`echo $$ >%[1]s; exec "$@" >%[1]s.log 2>&1`, file)
	p, err := a.Start(ctx, agent.Command{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, s.Argv...)})
	if err != nil {
		return fmt.Errorf("%s, starting %s: %w", w.Outer, s.Argv[0], err)
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		if exit, err := p.Wait(waiting); err == nil {
			stop(fmt.Errorf("it ended with status %d", exit.Code))
		}
	}()
	if _, err := a.Await(waiting, agent.Probe{Exec: s.Ready, Interval: 50 * time.Millisecond, Timeout: servicePatience}); err != nil {
		if ended := context.Cause(waiting); ended != nil {
			err = ended
		}
		var said host.Tail
		a.Run(ctx, agent.Command{Argv: []string{"tail", "-n", "15", file + ".log"}, Stdout: &said})
		return fmt.Errorf("the service of %s in %s did not answer: %w%s", s.Ready[0], w.Outer, err, said.Last())
	}
	return nil
}

// An emulated machine on a busy host is slow: an engine takes its time to start,
// and its tare to say that it is still there. That the machine is gone is known
// at once, by the end of its agent's stream.
const (
	servicePatience = 10 * time.Minute
	silence         = 5 * time.Minute
)

// enter opens a session of tare in the machine.
func (w *way) enter(ctx context.Context, img *image.Image, progress func(string)) (err error) {
	if progress == nil {
		progress = func(string) {}
	}
	at := host.Instance(w.Outer, w.outer.Address(), w.outer.Agent())
	w.session, err = remote.DialWith(ctx, at, remote.Options{Home: home, Progress: progress, Silence: silence})
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

// run runs a script in the outer instance.
func (w *way) run(ctx context.Context, what, script string) error {
	if _, err := host.Instance(w.Outer, "", w.outer.Agent()).Run(ctx, "/bin/sh", "-c", script); err != nil {
		return fmt.Errorf("%s, %s: %w", w.Outer, what, err)
	}
	return nil
}

// end switches the machine off. It takes along all that runs in it.
func (w *way) end(ctx context.Context) error {
	err := w.outer.Stop(ctx)
	if w.session != nil {
		w.session.Close() // the stream is gone, and it says so
	}
	return err
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

package oci

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// adopter records a process, so that it is found when tare is killed.
type adopter func(pid int, role string) (forget func(), err error)

// process is one that tare started for an instance.
type process struct {
	*os.Process
	role   string
	ended  chan struct{}
	forget func()
	let    func() error // lets it end
}

// prelude puts the process into a cgroup, hides a hierarchy from it, mounts what
// has to be mounted, and becomes the program. It runs in a mount namespace of its
// own: what is mounted vanishes with it.
const prelude = `
while [ "$1" != -- ]; do echo 0 >"$1" || exit 1; shift; done; shift
if [ -n "$1" ]; then umount "$1" || exit 1; fi; shift
while [ "$1" != -- ]; do mount -t "$1" -o "$2" "$3" "$4" || exit 1; shift 4; done; shift
exec "$@"`

// before is what the prelude does.
type before struct {
	join   []string // the files by which a group is joined
	hide   string   // what is mounted there is out of the program's sight
	mounts []mount
}

// mount is what mount(8) takes.
type mount struct{ kind, options, from, to string }

// command is a program with its prelude.
func (b before) command(program ...string) *exec.Cmd {
	words := append([]string{"-c", prelude, "sh"}, b.join...)
	words = append(words, "--", b.hide)
	for _, m := range b.mounts {
		words = append(words, m.kind, m.options, m.from, m.to)
	}
	words = append(words, "--")
	c := exec.Command("/bin/sh", append(words, program...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setsid: true}
	return c
}

// start starts a process and records it.
func start(c *exec.Cmd, role string, adopt adopter, let func() error) (*process, error) {
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	p := &process{Process: c.Process, role: role, ended: make(chan struct{}), let: let, forget: func() {}}
	go func() {
		c.Wait()
		close(p.ended)
	}()
	forget, err := adopt(p.Pid, role)
	if err != nil {
		p.Kill()
		<-p.ended
		return nil, err
	}
	p.forget = forget
	return p, nil
}

// end lets the process end, and makes it where it does not.
func (p *process) end(ctx context.Context, kill bool) error {
	var err error
	if p.let != nil {
		err = p.let()
		p.let = nil
	}
	if kill {
		p.Kill()
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		return fmt.Errorf("%s, process %d, does not end: %w", p.role, p.Pid, context.Cause(ctx))
	}
	p.forget()
	return err
}

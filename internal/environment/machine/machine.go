// Package machine runs an image natively on another machine, which is reached
// over SSH: bare metal, a cloud instance, the guest of any hypervisor. The native
// environment runs there, so limits, accounting and clean-up are its own.
//
// It must not know workloads or studies.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/native"
	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

// kindThere is the kind that runs there.
const kindThere = "native"

func init() {
	environment.Register(environment.Registration{
		Kind:    "machine",
		About:   "processes of another machine, reached over SSH, in a cgroup and the image's root file system there",
		Options: func() any { return defaults() },
		Parts:   environment.Parts{Switches: environment.InOrder("network")},
		Capabilities: func(o any) environment.Capabilities {
			return environment.Capabilities{OwnFiles: o.(*Options).RootFS == "host"}
		},
		Requires: func(options any) []environment.Requirement { return requirements(options.(*Options)) },
		New:      func(o any) (environment.Environment, error) { return newMachine(*o.(*Options)), nil },
		// Leftovers of a dead owner are on the other machine. They end with the
		// session, or the next session sweeps them.
		Sweep: nil,
	})
}

func requirements(o *Options) []environment.Requirement {
	l := lineTo(*o)
	return []environment.Requirement{
		{What: "ssh, OpenSSH's client", Check: CheckSSH},
		{What: "a machine to log in to", Check: func(context.Context) environment.Finding {
			if o.SSH == "" {
				return environment.Lacks("a study names it", environment.Advice("in a study: {kind: machine, ssh: user@name}"))
			}
			if err := o.Validate(); err != nil {
				return environment.Lacks(err.Error(), environment.Advice("name it in the study: {kind: machine, ssh: user@name}"))
			}
			return environment.Finding{State: environment.Usable}
		}},
		{What: "a login over SSH, and tare started there", Check: func(ctx context.Context) environment.Finding {
			s, err := l.session(ctx, nil)
			if err != nil {
				return environment.Lacks(err.Error(), environment.Fix{})
			}
			return environment.Finding{State: environment.Usable, Reason: s.Host().Name()}
		}},
		{What: "the requirements of native, on the machine", Check: func(ctx context.Context) environment.Finding {
			s, err := l.session(ctx, nil)
			if err != nil {
				return environment.Lacks(err.Error(), environment.Fix{})
			}
			return there(ctx, s, o.Options)
		}},
	}
}

// CheckSSH looks for the program by which machines are reached.
func CheckSSH(context.Context) environment.Finding {
	path, err := host.FindSSH()
	if err != nil {
		return environment.Lacks(err.Error(), environment.Advice(host.InstallSSH))
	}
	return environment.Finding{State: environment.Usable, Reason: path}
}

// there summarizes which requirements of native the machine lacks.
func there(ctx context.Context, s *remote.Session, o native.Options) environment.Finding {
	state, findings := s.Check(ctx, kindThere, text(o))
	sum := environment.Finding{State: state}
	var reasons, fixes []string
	for _, f := range findings {
		if f.State == environment.Usable {
			continue
		}
		reasons = append(reasons, strings.TrimSuffix(f.What+": "+f.Reason, ": "))
		if !f.Fix.IsZero() {
			fixes = append(fixes, f.Fix.String())
		}
	}
	sum.Reason, sum.Fix = strings.Join(reasons, "; "), environment.Advice(strings.Join(fixes, "; "))
	return sum
}

func text(o native.Options) json.RawMessage {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings always marshal
	}
	return text
}

// line is the connection to a machine: opened when it is first needed, and again
// after it was lost. All environments with the same connection options share it
// for the lifetime of the process.
type line struct {
	options Options

	mu   sync.Mutex
	host host.Host
	open *remote.Session
}

var lines = cleanup.OncePerKey(func(o Options) (*line, error) { return &line{options: o}, nil })

func lineTo(o Options) *line {
	o.Options = native.Options{} // whatever runs there
	l, _ := lines(o)
	return l
}

func (l *line) session(ctx context.Context, progress func(string)) (*remote.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil && l.open.Err() == nil {
		return l.open, nil
	}
	l.hangUp()
	h, err := host.SSH(ctx, l.options.destination())
	if err != nil {
		return nil, err
	}
	s, err := remote.Dial(ctx, h, remote.Options{Home: l.options.Home, Sudo: l.options.Sudo, Progress: progress})
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	l.host, l.open = h, s
	return s, nil
}

func (l *line) hangUp() {
	if l.open != nil {
		l.open.Close()
		l.host.Close()
		l.open, l.host = nil, nil
	}
}

type machine struct {
	options Options
	line    *line

	mu  sync.Mutex
	on  *remote.Session // that env belongs to
	env environment.Environment
}

// native returns the environment on the machine, in the current session.
func (m *machine) native(ctx context.Context, progress func(string)) (environment.Environment, *remote.Session, error) {
	s, err := m.line.session(ctx, progress)
	if err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.on != s {
		if m.env, err = s.Environment(ctx, kindThere, text(m.options.Options)); err != nil {
			return nil, nil, err
		}
		m.on = s
	}
	return m.env, s, nil
}

func newMachine(o Options) *machine { return &machine{options: o, line: lineTo(o)} }

// Prepare copies tare and the image to the machine.
func (m *machine) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	e, _, err := m.native(ctx, progress)
	if err != nil {
		return err
	}
	return e.Prepare(ctx, needed(m.options.RootFS, img), progress)
}

// needed is the image as the machine needs it: if its own root file system is
// used, only the image's environment variables and working directory.
func needed(rootfs string, img *image.Image) *image.Image {
	if rootfs == "image" || img == nil {
		return img
	}
	return &image.Image{Name: img.Name, Env: img.Env, Dir: img.Dir}
}

// Start starts an instance there.
func (m *machine) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	e, s, err := m.native(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.Name, err)
	}
	r.Image = needed(m.options.RootFS, r.Image)
	if r.Network == nil {
		return e.Start(ctx, r)
	}
	n, ours := r.Network.(*network)
	if !ours || n.host != s.Host() {
		return nil, fmt.Errorf("starting %s on %s: its network is that of another machine, or the connection was lost after it was made", r.Name, s.Host().Name())
	}
	if err := n.take(); err != nil {
		return nil, fmt.Errorf("starting %s on %s: %w", r.Name, s.Host().Name(), err)
	}
	r.Network = nil
	i, err := e.Start(ctx, r)
	if err != nil {
		n.leave()
		return nil, err
	}
	return &connected{i.(*remote.Instance), sync.OnceFunc(n.leave)}, nil
}

// Label marks results of other programs than those of the image.
func (m *machine) Label() string {
	if m.options.RootFS == "host" {
		return "host rootfs"
	}
	return ""
}

// Versions are the machine's kernel and its name.
func (m *machine) Versions(ctx context.Context) map[string]string {
	e, s, err := m.native(ctx, nil)
	if err != nil {
		return nil
	}
	versions := map[string]string{"machine": s.Host().Name()}
	maps.Copy(versions, e.Versions(ctx))
	return versions
}

// NewNetwork returns the existing network between the two machines, where instances share
// that of theirs, and are reached at its address.
func (m *machine) NewNetwork(ctx context.Context, _ *cleanup.Owner, _ string) (environment.Network, error) {
	if m.options.Network != "host" {
		return nil, nil
	}
	_, s, err := m.native(ctx, nil)
	if err != nil {
		return nil, err
	}
	facing, knows := s.Host().(host.LocalAddresser)
	if !knows || facing.LocalAddress() == "" || s.Host().Address() == "" {
		return nil, fmt.Errorf("the addresses by which %s and this machine reach each other are not known: it is behind a jump host (ProxyJump or ProxyCommand)", s.Host().Name())
	}
	return &network{host: s.Host(), facing: facing.LocalAddress()}, nil
}

// network is the network between a machine and this one.
type network struct {
	host   host.Host
	facing string

	mu    sync.Mutex
	taken bool
}

func (n *network) Path() string { return "the network between this machine and " + n.host.Name() }

// Host is the address by which the machine reaches this one.
func (n *network) Host() string { return n.facing }

func (n *network) Close(context.Context) error { return nil }

// take claims the machine's one address.
func (n *network) take() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.taken {
		return fmt.Errorf("%w: place the others on other machines (hosts:)", environment.ErrOneAddress)
	}
	n.taken = true
	return nil
}

func (n *network) leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken = false
}

// connected is an instance that holds its machine's address.
type connected struct {
	*remote.Instance
	leave func()
}

// Stop ends the instance and releases the address.
func (c *connected) Stop(ctx context.Context) error {
	defer c.leave()
	return c.Instance.Stop(ctx)
}

// Options of the kind "machine".
type Options struct {
	// SSH is the machine: a Host of the ssh_config, user@name or user@name:port.
	SSH string `yaml:"ssh" json:"ssh"`
	// Identity, KnownHosts and Config are files for ssh: a private key, a
	// known_hosts file, an ssh_config ("none" for none).
	Identity   string `yaml:"identity" json:"identity,omitempty"`
	KnownHosts string `yaml:"known_hosts" json:"known_hosts,omitempty"`
	Config     string `yaml:"config" json:"config,omitempty"`
	// KeyAlias is the name under which the machine's host key is known.
	KeyAlias string `yaml:"key_alias" json:"key_alias,omitempty"`
	// Sudo starts tare there with sudo, for a user who is not root.
	Sudo bool `yaml:"sudo" json:"sudo,omitempty"`
	// Home is tare's home there; "" is the default.
	Home string `yaml:"home" json:"home,omitempty"`
	// Options of the native environment there.
	native.Options `yaml:",inline"`
}

func defaults() *Options { return &Options{Options: native.Defaults()} }

// Validate returns an error that names the invalid option.
func (o *Options) Validate() error {
	if err := o.destination().Validate(); err != nil {
		return err
	}
	if err := o.Options.Validate(); err != nil {
		return err
	}
	if o.Home != "" && !strings.HasPrefix(o.Home, "/") {
		return strictyaml.AtKey("home", "%q is not an absolute path", o.Home)
	}
	return nil
}

func (o *Options) destination() host.Destination {
	return host.Destination{Host: o.SSH, Identity: o.Identity, KnownHosts: o.KnownHosts, Config: o.Config, KeyAlias: o.KeyAlias}
}

// Start runs a request's image natively on a connected machine, such as a guest
// that was just started, in a new session. rootfs is "image" or "host". Stop ends
// the session but does not close the host. Copying tare and the image is the
// phase environment.PreparePhase.
func Start(ctx context.Context, h host.Host, rootfs string, r environment.Request) (_ environment.Instance, err error) {
	began := time.Now()
	s, err := remote.Dial(ctx, h, remote.Options{Progress: func(line string) { fmt.Fprintln(r.Console, line) }})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.Name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	o := native.Defaults()
	o.RootFS = rootfs
	if f := there(ctx, s, o); f.State == environment.Missing {
		return nil, fmt.Errorf("starting %s: %s", r.Name, f.Reason)
	}
	e, err := s.Environment(ctx, kindThere, text(o))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.Name, err)
	}
	r.Image = needed(rootfs, r.Image)
	if err := e.Prepare(ctx, r.Image, func(line string) { fmt.Fprintln(r.Console, line) }); err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.Name, err)
	}
	prepared := time.Since(began)
	i, err := e.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return &whole{i.(*remote.Instance), s, prepared}, nil
}

// whole is an instance with its session.
type whole struct {
	*remote.Instance
	session  *remote.Session
	prepared time.Duration
}

// Phases of the start, with the copying of tare.
func (w *whole) Phases() []environment.Phase {
	return environment.WithPreparation(w.Instance.Phases(), w.prepared)
}

// Stop ends the instance and the session.
func (w *whole) Stop(ctx context.Context) error {
	return errors.Join(w.Instance.Stop(ctx), w.session.Close())
}

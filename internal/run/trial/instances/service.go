package instances

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/application"
	"tare/internal/application/secret"
	"tare/internal/base/bounded"
	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/linux/userns"
	"tare/internal/study"
)

// limits of the instance: those of its service where it has some, else the environment's.
func (i *Instance) limits(of environment.Limits) environment.Limits {
	if i.service == nil {
		return of
	}
	own := i.service.Limits
	if own.CPUs > 0 {
		of.CPUs = own.CPUs
	}
	if own.Memory > 0 {
		of.Memory = own.Memory
	}
	if own.PIDs > 0 {
		of.PIDs = own.PIDs
	}
	return of
}

// makeVolumes makes the directories of services, with what their images have there. An
// environment without mounts has them in its instances alone.
func (p *Pool) makeVolumes(ctx context.Context, r Request, g *Group) error {
	for _, roles := range g.Copies {
		shared := map[string]string{} // by the name of a volume
		for _, i := range roles.Instances() {
			if i.service == nil {
				continue
			}
			i.mounts = slices.Clone(i.service.Mounts)
			if i.own = !p.mounts(p.environment(r, i.Beside)); i.own {
				continue
			}
			for _, v := range i.service.Volumes {
				directory := shared[v.Name]
				if v.Name == "" && (v.To == "/data" || strings.HasPrefix(v.To, "/data/")) {
					continue // it is the instance's own already
				}
				if directory == "" || v.Name == "" {
					var err error
					if directory, err = p.makeVolume(ctx, r, g, i, v); err != nil {
						return fmt.Errorf("the volume %s of %s: %w", v.To, i.Name, err)
					}
					shared[v.Name] = directory
				}
				i.mounts = append(i.mounts, environment.Mount{From: directory, To: v.To, ReadOnly: v.ReadOnly})
			}
		}
	}
	return nil
}

// mounts reports whether the instances of an environment can have directories of this
// machine.
func (p *Pool) mounts(name string) bool {
	e := p.definition(name)
	options, err := e.Decode()
	return err == nil && e.Inside == nil && e.Host == "" && environment.CheckMounts(e.Kind, options) == nil
}

func (p *Pool) makeVolume(ctx context.Context, r Request, g *Group, i *Instance, v study.Volume) (string, error) {
	around, err := p.Owner.Directory("volume-" + p.networkName(r.Block, r.Environment))
	if err != nil {
		return "", err
	}
	g.volumes = append(g.volumes, around)
	directory := filepath.Join(around, "files")
	if err := os.Mkdir(directory, 0o755); err != nil {
		return "", err
	}
	if v.Empty {
		return directory, os.Chmod(directory, emptyMode)
	}
	return directory, i.image.Unpack(ctx, v.To, directory)
}

// emptyMode is that of a volume without what the image has there: that of an emptyDir of
// Kubernetes.
const emptyMode = 0o777

// PassVolumes gives what an instance has in the volumes that it shares to the others that
// have them, where each has directories of its own: agents send it. Nothing of it is kept.
func (r Roles) PassVolumes(ctx context.Context, from *Instance) error {
	if from.service == nil || !from.own {
		return nil
	}
	for _, v := range from.service.Volumes {
		for _, to := range r.Instances() {
			if v.Name == "" || v.ReadOnly || to == from || to.service == nil {
				continue
			}
			for _, same := range to.service.Volumes {
				if same.Name != v.Name {
					continue
				}
				if err := pass(ctx, from, v.To, to, same.To); err != nil {
					return fmt.Errorf("copying the volume %s of service %s to service %s: %w", v.To, from.service.Name, to.service.Name, err)
				}
			}
		}
	}
	return nil
}

// pass copies a directory of an instance to another one.
func pass(ctx context.Context, from *Instance, directory string, to *Instance, as string) error {
	read, write := io.Pipe()
	packed := make(chan error, 1)
	crash.Go(func() {
		err := asAgent(ctx, from, agent.Command{Argv: []string{self, "pack", directory}, Stdout: write, Unmasked: true})
		write.CloseWithError(err) // nil is the end of the stream
		packed <- err
	})
	err := asAgent(ctx, to, agent.Command{Argv: []string{self, "unpack", as}, Stdin: read})
	if err == nil {
		_, err = io.Copy(io.Discard, read) // what follows the last entry
	}
	read.CloseWithError(errors.New("the other instance reads no more"))
	return errors.Join(<-packed, err)
}

// self is the agent's program for the agent that starts it.
const self = "/proc/self/exe"

func asAgent(ctx context.Context, i *Instance, c agent.Command) error {
	var said bounded.Buffer
	said.Limit = 4 << 10
	c.Stderr, c.Timeout = &said, passTimeout
	exit, err := i.Agent().Run(ctx, c)
	if err == nil && !exit.OK() {
		err = fmt.Errorf("the agent in %s failed: %s", i.Name, cmp.Or(strings.TrimSpace(string(said.Bytes())), fmt.Sprintf("status %d", exit.Code)))
	}
	return err
}

const passTimeout = 10 * time.Minute

func (g *Group) removeVolumes() error {
	errs := lists.Map(g.volumes, userns.RemoveAll)
	g.volumes = nil
	return errors.Join(errs...)
}

// takeFiles writes the configs and secrets of the instance's service. A secret is in
// memory alone.
func (i *Instance) takeFiles(ctx context.Context, s *secret.Set) error {
	if i.service == nil {
		return nil
	}
	for _, v := range i.service.Volumes { // which an instance without mounts has on its disk
		w := wire.Write{Path: v.To, Directory: true}
		if v.Empty && !v.ReadOnly {
			w.Mode = emptyMode
		}
		if err := i.Agent().Put(ctx, w, nil); err != nil {
			return fmt.Errorf("%s: making the volume %s of service %s: %w", i.Name, v.To, i.service.Name, err)
		}
	}
	for n, f := range i.service.Files {
		w := wire.Write{Path: f.To, Mode: f.Mode, User: f.User}
		content := []byte(f.Content)
		var err error
		switch {
		case f.Secret != nil:
			w.Path, w.Memory, w.Link = fmt.Sprintf("service-%d", n), true, f.To
			content = s.Named(f.Secret.Name).Text.Reveal()
		case f.From != "":
			content, err = config(f)
		}
		if err == nil {
			err = i.Agent().Put(ctx, w, content)
		}
		if err != nil {
			return fmt.Errorf("%s: writing %s of service %s: %w", i.Name, f.To, i.service.Name, err)
		}
	}
	return nil
}

// hidden is what stands in the place of a secret value.
var hidden = regexp.MustCompile(regexp.QuoteMeta(application.HiddenBegins) + `([^()]*)\)`)

// Reveal puts the values of the service's own secret variables where a command and its
// variables have their places, and adds those variables. The result is not to be kept.
func (i *Instance) Reveal(argv, env []string) ([]string, []string) {
	if i.service == nil || len(i.service.Secrets) == 0 {
		return argv, env
	}
	values := map[string]string{}
	for _, v := range i.service.Secrets {
		if one := i.secrets.Named(v.Value.Name); one != nil {
			values[v.Name] = string(one.Text.Reveal())
		}
	}
	in := func(text string) string {
		return hidden.ReplaceAllStringFunc(text, func(found string) string {
			if value, own := values[hidden.FindStringSubmatch(found)[1]]; own {
				return value
			}
			return found
		})
	}
	argv, env = lists.Map(argv, in), lists.Map(env, in)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return argv, env
}

// config reads the file of a config, which has to be what was planned.
func config(f study.ServiceFile) ([]byte, error) {
	content, err := bounded.ReadFile(f.From, bounded.Output)
	if err != nil {
		return nil, bounded.Cause(err)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("%s changed since the run was planned: begin a new run", f.From)
	}
	return content, nil
}

// hostsFile is where resolvers of every libc look first.
const hostsFile = "/etc/hosts"

// nameServices lets services find each other by name, and the hosts that they are given.
// Agents write it, since images without a shell have services too.
func (r Roles) nameServices(ctx context.Context, network environment.Network) error {
	services := lists.Filter(r.Instances(), func(i *Instance) bool { return i.service != nil })
	for _, i := range services {
		text, err := i.Agent().ReadFile(ctx, hostsFile, 0)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = []byte("127.0.0.1 localhost\n"), nil
		}
		if err != nil {
			return fmt.Errorf("%s: reading %s: %w", i.Name, hostsFile, err)
		}
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		for _, other := range services {
			address := other.reachedAt(network)
			if other == i {
				address = environment.Listen(i.Instance)
			}
			text = fmt.Appendf(text, "%s %s\n", address, strings.Join(other.service.Names, " "))
		}
		for _, name := range slices.Sorted(maps.Keys(i.service.Hosts)) {
			text = fmt.Appendf(text, "%s %s\n", i.service.Hosts[name], name)
		}
		if err := i.Agent().WriteFile(ctx, hostsFile, 0o644, text); err != nil {
			return fmt.Errorf("%s: writing %s: %w", i.Name, hostsFile, err)
		}
	}
	return nil
}

package compose

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tare/internal/application"
	"tare/internal/application/secret"
	"tare/internal/base/bounded"
)

// readable is the mode of secrets and configs that say none.
const readable = 0o444

// references adds the secrets and the configs of a service.
func (r *reader) references(p *types.Project, c types.ServiceConfig, s *application.Service) (wrong error) {
	add := func(key string, f types.FileReferenceConfig, o types.FileObjectConfig) error {
		file := application.File{Source: o.File, Target: f.Target, UID: f.UID, GID: f.GID, Mode: readable, Secret: key == "secrets"}
		file.Target = cmp.Or(file.Target, f.Source)
		if !path.IsAbs(file.Target) {
			file.Target = map[bool]string{true: "/run/secrets/", false: "/"}[file.Secret] + file.Target
		}
		file.Target = path.Clean(file.Target)
		if f.Mode != nil {
			file.Mode = uint32(*f.Mode) & 0o7777
		}
		at := key + "." + f.Source
		value, set := r.env[o.Environment]
		switch {
		case bool(o.External):
			return r.problemf("%s: it is external, and tare reads no store of an engine: give file: or environment:", at)
		case o.Driver != "" || o.TemplateDriver != "":
			return r.problemf("%s: tare has no drivers of %s: give file: or environment:", at, key)
		case o.Environment != "" && !set:
			return r.problemf("%s: the environment has no variable %s: set it", at, o.Environment)
		case o.Environment != "" && file.Secret && r.given[o.Environment]:
			file.Env = o.Environment
		case o.Environment != "":
			file.Content = value
		case o.File != "":
			if err := regular(o.File); err != nil {
				return r.problemf("%s: file %s: %v", at, o.File, err)
			}
		default:
			file.Content = o.Content
		}
		if err := checkSecret(file, value); err != nil {
			return r.problemf("%s: %v", at, err)
		}
		s.Files = append(s.Files, file)
		return nil
	}
	for _, one := range c.Secrets {
		wrong = errors.Join(wrong, add("secrets", types.FileReferenceConfig(one), types.FileObjectConfig(p.Secrets[one.Source])))
	}
	for _, one := range c.Configs {
		wrong = errors.Join(wrong, add("configs", types.FileReferenceConfig(one), types.FileObjectConfig(p.Configs[one.Source])))
	}
	return wrong
}

// checkSecret says why a run would refuse the value of a secret: a variable's, or that of
// its file.
func checkSecret(f application.File, value string) error {
	content := []byte(value)
	switch {
	case !f.Secret || f.Content != "":
		return nil
	case f.Source != "":
		var err error
		if content, err = bounded.ReadFile(f.Source, secret.Most); err != nil {
			return fmt.Errorf("file %s: %w", f.Source, bounded.Cause(err))
		}
	}
	return secret.Source{File: f.Source, Env: f.Env, As: secret.AtPath}.Check(content)
}

// mounts adds the volumes of a service.
func (r *reader) mounts(p *types.Project, c types.ServiceConfig, s *application.Service) (wrong error) {
	for _, v := range c.Volumes {
		wrong = errors.Join(wrong, r.mount(p, c, v, s))
	}
	for _, text := range c.Tmpfs {
		target, options, _ := strings.Cut(text, ":")
		one := application.Volume{Kind: types.VolumeTypeTmpfs, Target: path.Clean(target)}
		for option := range strings.SplitSeq(options, ",") {
			if size, is := strings.CutPrefix(option, "size="); is {
				var bytes types.UnitBytes
				if err := bytes.DecodeMapstructure(size); err != nil {
					wrong = errors.Join(wrong, r.problemf("services.%s.tmpfs: %s: %v", c.Name, text, err))
				}
				one.Size = int64(bytes)
			}
		}
		s.Volumes = append(s.Volumes, one)
	}
	return wrong
}

// mount adds one volume. A path that is not there stays in the application: Compose makes a
// directory of it.
func (r *reader) mount(p *types.Project, c types.ServiceConfig, v types.ServiceVolumeConfig, s *application.Service) error {
	at := "services." + c.Name + ".volumes"
	one := application.Volume{Kind: v.Type, Source: v.Source, Target: path.Clean(v.Target), ReadOnly: v.ReadOnly}
	made := v.Bind == nil || bool(v.Bind.CreateHostPath)
	switch v.Type {
	case types.VolumeTypeVolume:
		if device, err := r.named(p.Volumes[v.Source], v.Source); err != nil {
			return err
		} else if device != "" {
			one.Kind, one.Source = types.VolumeTypeBind, device
		}
		if v.Volume != nil && v.Volume.Subpath != "" {
			return r.problemf("%s: %s: subpath is not supported: mount the whole volume", at, v.Target)
		}
	case types.VolumeTypeTmpfs:
		if v.Tmpfs != nil {
			one.Size = int64(v.Tmpfs.Size)
		}
	case types.VolumeTypeBind:
	default:
		return r.problemf("%s: %s: tare has no volumes of type %s: make it bind, volume or tmpfs", at, v.Target, v.Type)
	}
	if one.Kind == types.VolumeTypeBind {
		switch info, err := os.Stat(one.Source); {
		case err != nil && !made:
			return r.problemf("%s: %s: there is no %s on this machine, and Compose creates none: create it", at, v.Target, one.Source)
		case err == nil && !info.IsDir() && !info.Mode().IsRegular(), err != nil && strings.HasSuffix(one.Source, ".sock"):
			s.Asks = append(s.Asks, application.Ask{Key: "volumes", What: one.Source})
			return nil
		}
	}
	s.Volumes = append(s.Volumes, one)
	return nil
}

// named is the directory of this machine that a named volume is; "" where it is one of
// the engine's.
func (r *reader) named(v types.VolumeConfig, name string) (device string, err error) {
	at := "volumes." + name
	o := v.DriverOpts
	switch {
	case bool(v.External):
		return "", r.problemf("%s: it is external, and tare changes no data of others: mount a directory, or leave out external", at)
	case v.Driver != "" && v.Driver != "local":
		return "", r.problemf("%s: tare has no volume driver %s: mount a directory, or leave out driver", at, v.Driver)
	case len(o) == 0:
		return "", nil
	case o["o"] == "bind" && o["device"] != "":
		return o["device"], nil
	case o["type"] == "tmpfs":
		return "", nil
	}
	return "", r.problemf("%s: tare does not mount driver_opts: mount a directory instead", at)
}

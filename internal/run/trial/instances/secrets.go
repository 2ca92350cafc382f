package instances

import (
	"context"
	"fmt"

	"tare/internal/application/secret"
)

// takeSecrets masks the secrets in what the instance sends from now on, and writes those
// that are files. They pass the agent's stream alone: no argument, no configuration of a
// container or guest, and no disk has them.
func (i *Instance) takeSecrets(ctx context.Context, s *secret.Set) (err error) {
	if s == nil {
		return nil
	}
	i.secrets, i.paths = s, map[string]string{}
	i.Agent().MaskSecrets(s)
	for _, one := range s.Secrets {
		if one.As != secret.AsFile {
			continue
		}
		if i.paths[one.Name], err = i.Agent().WriteMemory(ctx, one.Name, one.User, one.Text.Reveal()); err != nil {
			return fmt.Errorf("%s: writing the secret %s to a file in memory: %w", i.Name, one.Name, err)
		}
	}
	return nil
}

// Secrets are the variables with which commands get the secrets, KEY=VALUE. They are not
// to be kept.
func (i *Instance) Secrets() (env []string) {
	if i.secrets == nil {
		return nil
	}
	for name, path := range i.paths {
		env = append(env, name+"="+path)
	}
	return append(env, i.secrets.Variables()...)
}

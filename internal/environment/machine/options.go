package machine

import (
	"fmt"
	"strings"

	"tare/internal/environment/native"
	"tare/internal/host"
)

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
		return fmt.Errorf("home: %q is not an absolute path", o.Home)
	}
	return nil
}

func (o *Options) destination() host.Destination {
	return host.Destination{Host: o.SSH, Identity: o.Identity, KnownHosts: o.KnownHosts, Config: o.Config, KeyAlias: o.KeyAlias}
}

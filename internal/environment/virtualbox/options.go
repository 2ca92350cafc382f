package virtualbox

import (
	"os/user"
	"path/filepath"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/support/hypervisor"
)

// Options of the kind virtualbox, as in a study.
type Options struct {
	hypervisor.Options `yaml:",inline"`
	// Network of the VM's first adapter: nat (VirtualBox's user-mode stack, with a
	// port forwarded to the guest's sshd), hostonly or bridged.
	Network string `yaml:"network" json:"network"`
	// Adapter is the host's interface for hostonly and bridged.
	Adapter string `yaml:"adapter" json:"adapter,omitempty"`
	// Folder is the directory of clones; "" is VirtualBox's default.
	Folder string `yaml:"folder" json:"folder,omitempty"`
	// RunAs is the user of this machine who owns the VMs; "" is the current one.
	RunAs string `yaml:"run_as" json:"run_as,omitempty"`
	// Program is the name or the path of VBoxManage.
	Program string `yaml:"program" json:"program"`
}

func defaults() *Options {
	return &Options{Options: hypervisor.Defaults(), Network: nat, Program: "VBoxManage"}
}

// The networks of an adapter.
const (
	nat      = "nat"
	hostonly = "hostonly"
	bridged  = "bridged"
)

// Validate returns every error in the options.
func (o *Options) Validate() error {
	wrong := []error{environment.OneOf("network", o.Network, nat, hostonly, bridged)}
	switch {
	case o.Network == nat && o.Adapter != "":
		wrong = append(wrong, strictyaml.AtKey("adapter", "not used with network: nat"))
	case o.Network == hostonly && o.Adapter == "":
		wrong = append(wrong, strictyaml.AtKey("adapter", "network: hostonly needs an interface of the host, such as vboxnet0; `VBoxManage list hostonlyifs` lists them"))
	case o.Network == bridged && o.Adapter == "":
		wrong = append(wrong, strictyaml.AtKey("adapter", "network: bridged needs an interface of the host, such as eth0; `VBoxManage list bridgedifs` lists them"))
	}
	if strings.HasPrefix(o.Adapter, "-") {
		wrong = append(wrong, strictyaml.AtKey("adapter", "%q is not a valid interface name", o.Adapter))
	}
	if o.Folder != "" && !filepath.IsAbs(o.Folder) {
		wrong = append(wrong, strictyaml.AtKey("folder", "%q is not an absolute path", o.Folder))
	}
	if o.Folder != "" && o.Mode != hypervisor.Linked && o.Mode != hypervisor.Clone {
		wrong = append(wrong, strictyaml.AtKey("folder", "not used with mode: %s, which makes no clone", o.Mode))
	}
	if o.RunAs != "" {
		if _, err := user.Lookup(o.RunAs); err != nil {
			wrong = append(wrong, strictyaml.AtKey("run_as", "%w", err))
		}
	}
	if o.Program == "" {
		wrong = append(wrong, strictyaml.AtKey("program", "empty; the default is VBoxManage"))
	}
	return hypervisor.Validate(&o.Options, wrong...)
}

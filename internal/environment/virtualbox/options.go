package virtualbox

import (
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/environment/support/hypervisor"
)

// Options of the kind virtualbox, as a study writes them.
type Options struct {
	hypervisor.Options `yaml:",inline"`
	// Network of the VM's first adapter: nat (VirtualBox's own stack, with a
	// forwarded port to the guest's sshd), hostonly or bridged.
	Network string `yaml:"network" json:"network"`
	// Adapter is the host's interface for hostonly and bridged.
	Adapter string `yaml:"adapter" json:"adapter,omitempty"`
	// Folder is where clones are made; "" is VirtualBox's own.
	Folder string `yaml:"folder" json:"folder,omitempty"`
	// RunAs is the user of this machine whose VMs they are; "" is oneself.
	RunAs string `yaml:"run_as" json:"run_as,omitempty"`
	// Program is VBoxManage, by its name on the PATH or its path.
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

// Validate says everything that is wrong with the options.
func (o *Options) Validate() error {
	var wrong []error
	networks := []string{nat, hostonly, bridged}
	switch {
	case !slices.Contains(networks, o.Network):
		wrong = append(wrong, fmt.Errorf("network: %q is none of %s", o.Network, strings.Join(networks, ", ")))
	case o.Network == nat && o.Adapter != "":
		wrong = append(wrong, fmt.Errorf("adapter: network: nat has none on the host"))
	case o.Network == hostonly && o.Adapter == "":
		wrong = append(wrong, fmt.Errorf("adapter: network: hostonly needs the host's interface, such as vboxnet0: VBoxManage list hostonlyifs"))
	case o.Network == bridged && o.Adapter == "":
		wrong = append(wrong, fmt.Errorf("adapter: network: bridged needs the host's interface, such as eth0: VBoxManage list bridgedifs"))
	}
	if strings.HasPrefix(o.Adapter, "-") {
		wrong = append(wrong, fmt.Errorf("adapter: %q is no interface", o.Adapter))
	}
	if o.Folder != "" && !filepath.IsAbs(o.Folder) {
		wrong = append(wrong, fmt.Errorf("folder: %q is no absolute path", o.Folder))
	}
	if o.Folder != "" && o.Mode != hypervisor.Linked && o.Mode != hypervisor.Clone {
		wrong = append(wrong, fmt.Errorf("folder: mode: %s makes no clone", o.Mode))
	}
	if o.RunAs != "" {
		if _, err := user.Lookup(o.RunAs); err != nil {
			wrong = append(wrong, fmt.Errorf("run_as: %w", err))
		}
	}
	if o.Program == "" {
		wrong = append(wrong, fmt.Errorf("program: no program; the default is VBoxManage"))
	}
	return hypervisor.Validate(&o.Options, wrong...)
}

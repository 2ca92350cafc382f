package hypervisor

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"tare/internal/environment"
	"tare/internal/quantity"
)

// The modes: what becomes of the template for an instance.
const (
	Linked  = "linked"  // a new VM whose disk is what differs from the template's snapshot
	Clone   = "clone"   // a new VM with a copy of the disk
	Restore = "restore" // the template itself, put back to the snapshot before and after
	Start   = "start"   // the template itself, as it is
)

// Options are those that every hypervisor's kind has, as a study writes them.
type Options struct {
	// Template is the VM that instances are made from, by its name.
	Template string `yaml:"template" json:"template"`
	// Snapshot of the template; "" is its current one (linked, restore), or the
	// VM's present state (clone).
	Snapshot string `yaml:"snapshot" json:"snapshot,omitempty"`
	// Mode is linked, clone, restore or start.
	Mode string `yaml:"mode" json:"mode"`
	// CPUs is the number of virtual CPUs; 0 is one for each of the limits'
	// cores, or the limits' cpus rounded up, or the template's.
	CPUs int `yaml:"cpus" json:"cpus,omitempty"`
	// Memory of the VM; 0 is the study's limit, or the template's.
	Memory quantity.Bytes `yaml:"memory" json:"memory,omitempty"`
	// User that logs in over SSH, who has to be root by whatever name.
	User string `yaml:"user" json:"user"`
	// Port that the guest's sshd listens on, inside.
	Port int `yaml:"port" json:"port"`
	// Identity is a private key's file; "" is what ssh_config and the agent offer.
	Identity string `yaml:"identity" json:"identity,omitempty"`
	// KnownHosts is a file that has the template's key under KeyAlias.
	KnownHosts string `yaml:"known_hosts" json:"known_hosts,omitempty"`
	// KeyAlias is the name that the key is known by; "" is the template's.
	KeyAlias string `yaml:"key_alias" json:"key_alias,omitempty"`
	// HostKey is the key itself, in place of a known_hosts file: a line of the
	// guest's /etc/ssh/ssh_host_*_key.pub.
	HostKey string `yaml:"host_key" json:"host_key,omitempty"`
	// RootFS is image (the study's image, as everywhere) or host (what the
	// guest has installed).
	RootFS string `yaml:"rootfs" json:"rootfs"`
	// StartTimeout is how long a start may take, from the template to the
	// agent's first word.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout"`
}

// Defaults of the options.
func Defaults() Options {
	return Options{Mode: Linked, User: "root", Port: 22, RootFS: "image", StartTimeout: 5 * time.Minute}
}

// plain is a name that passes every command line and known_hosts file.
var plain = regexp.MustCompile(`^[^\s,*?!#"'\\-][^\s,*?!"'\\]*$`)

// Wrong says everything that is wrong with the options.
func (o *Options) Wrong() (wrong []error) {
	no := func(format string, a ...any) { wrong = append(wrong, fmt.Errorf(format, a...)) }
	if o.Template == "" {
		no("template: names no virtual machine to start from")
	} else if strings.HasPrefix(o.Template, "-") || strings.ContainsAny(o.Template, "\n\r\x00") {
		no("template: %q is no name of a virtual machine", o.Template)
	}
	if strings.HasPrefix(o.Snapshot, "-") || strings.ContainsAny(o.Snapshot, "\n\r\x00") {
		no("snapshot: %q is no name of a snapshot", o.Snapshot)
	}
	modes := []string{Linked, Clone, Restore, Start}
	if !slices.Contains(modes, o.Mode) {
		no("mode: %q is none of %s", o.Mode, strings.Join(modes, ", "))
	}
	if o.Mode == Start {
		if o.Snapshot != "" {
			no("snapshot: mode: start takes the VM as it is; write mode: restore to put it back to a snapshot")
		}
		if o.CPUs != 0 {
			no("cpus: mode: start changes nothing about the VM")
		}
		if o.Memory != 0 {
			no("memory: mode: start changes nothing about the VM")
		}
	}
	if o.CPUs < 0 || o.CPUs > 255 {
		no("cpus: %d is not between 1 and 255", o.CPUs)
	}
	if o.Memory != 0 && o.Memory < leastMemory {
		no("memory: %s is too little for a guest: at least %s", o.Memory, leastMemory)
	}
	if o.User == "" || strings.ContainsAny(o.User, "@: \t\n") {
		no("user: %q is no user's name", o.User)
	}
	if o.Port < 1 || o.Port > 65535 {
		no("port: %d is not between 1 and 65535", o.Port)
	}
	if o.HostKey != "" {
		if o.KnownHosts != "" {
			no("host_key: known_hosts has the key already: leave one of the two out")
		}
		if _, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(o.HostKey)); err != nil || len(rest) > 0 {
			no("host_key: %q is no public key: copy the line of the guest's /etc/ssh/ssh_host_ed25519_key.pub", o.HostKey)
		}
	}
	if alias := o.KeyAlias; alias != "" && !plain.MatchString(alias) {
		no("key_alias: %q cannot stand in a known_hosts file", alias)
	}
	if o.RootFS != "image" && o.RootFS != "host" {
		no("rootfs: %q is none of image, host", o.RootFS)
	}
	if o.StartTimeout <= 0 {
		no("start_timeout: %v is no time to start in", o.StartTimeout)
	}
	return wrong
}

// Validate joins what is wrong with the options of a kind.
func Validate(common *Options, own ...error) error {
	return errors.Join(append(common.Wrong(), own...)...)
}

const leastMemory = 64 * quantity.MiB

// alias is the name that the guest's key is known by. The template's name may
// have what a known_hosts file cannot.
func (o *Options) alias() string {
	if o.KeyAlias != "" {
		return o.KeyAlias
	}
	if base := filepath.Base(o.Template); plain.MatchString(base) {
		return base
	}
	return "tare-template"
}

// own says whether an instance gets a VM of its own, which is deleted at its end.
func (o *Options) own() bool { return o.Mode == Linked || o.Mode == Clone }

// Label is what stands beside figures of other programs than the image's.
func (o *Options) Label() string {
	if o.RootFS == "host" {
		return "host rootfs"
	}
	return ""
}

// size is what the VM shall have; zeros are "the template's".
func (o *Options) size(l environment.Limits) (cpus int, memory quantity.Bytes) {
	if cpus = o.CPUs; cpus == 0 {
		cpus = len(l.Cores)
	}
	if cpus == 0 && l.CPUs > 0 {
		cpus = int(l.CPUs)
		if float64(cpus) < l.CPUs {
			cpus++
		}
	}
	if memory = o.Memory; memory == 0 {
		memory = l.Memory
	}
	return cpus, memory
}

package hypervisor

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
)

// The modes: how an instance is made from the template.
const (
	Linked  = "linked"  // a new VM with a differencing disk on the template's snapshot
	Clone   = "clone"   // a new VM with a copy of the disk
	Restore = "restore" // the template itself, reverted to the snapshot before and after
	Start   = "start"   // the template itself, in its current state
)

// Options are the options that all hypervisor kinds share, as in a study.
type Options struct {
	// Template is the name of the VM that instances are made from.
	Template string `yaml:"template" json:"template,omitempty"`
	// Snapshot of the template; "" is its current one (linked, restore), or the
	// VM's current state (clone).
	Snapshot string `yaml:"snapshot" json:"snapshot,omitempty"`
	// Mode is linked, clone, restore or start.
	Mode string `yaml:"mode" json:"mode,omitempty"`
	// CPUs is the number of virtual CPUs; 0 is the number of cores in the limits,
	// or else the cpus in the limits rounded up, or else the template's.
	CPUs int `yaml:"cpus" json:"cpus,omitempty"`
	// Memory of the VM; 0 is the study's limit, or the template's.
	Memory quantity.Bytes `yaml:"memory" json:"memory,omitempty"`
	// User for SSH, with user ID 0.
	User string `yaml:"user" json:"user,omitempty"`
	// Port of sshd in the guest.
	Port int `yaml:"port" json:"port,omitempty"`
	// Identity is a private key file; "" uses ssh_config and the SSH agent.
	Identity string `yaml:"identity" json:"identity,omitempty"`
	// KnownHosts is a file with the template's host key under KeyAlias.
	KnownHosts string `yaml:"known_hosts" json:"known_hosts,omitempty"`
	// KeyAlias is the name of the host key; "" is the template's name.
	KeyAlias string `yaml:"key_alias" json:"key_alias,omitempty"`
	// HostKey is the host key itself, instead of a known_hosts file: the line in
	// the guest's /etc/ssh/ssh_host_*_key.pub.
	HostKey string `yaml:"host_key" json:"host_key,omitempty"`
	// RootFS is image (the study's image) or host (the files of the guest).
	RootFS string `yaml:"rootfs" json:"rootfs,omitempty"`
	// StartTimeout is the timeout of a start, from the template to the agent's
	// first message.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout,omitempty"`
}

// Defaults of the options.
func Defaults() Options {
	return Options{Mode: Linked, User: "root", Port: 22, RootFS: "image", StartTimeout: 5 * time.Minute}
}

// plain matches names that are safe on a command line and in a known_hosts file.
var plain = regexp.MustCompile(`^[^\s,*?!#"'\\-][^\s,*?!"'\\]*$`)

// Wrong returns every error in the options.
func (o *Options) Wrong() (wrong []error) {
	no := func(key, format string, a ...any) { wrong = append(wrong, strictyaml.AtKey(key, format, a...)) }
	if o.Template == "" {
		no("template", "missing; name the virtual machine to start from")
	} else if strings.HasPrefix(o.Template, "-") || strings.ContainsAny(o.Template, "\n\r\x00") {
		no("template", "%q is not a valid name of a virtual machine", o.Template)
	}
	if strings.HasPrefix(o.Snapshot, "-") || strings.ContainsAny(o.Snapshot, "\n\r\x00") {
		no("snapshot", "%q is not a valid name of a snapshot", o.Snapshot)
	}
	wrong = append(wrong, environment.OneOf("mode", o.Mode, Linked, Clone, Restore, Start), environment.OneOf("rootfs", o.RootFS, "image", "host"))
	if o.Mode == Start {
		if o.Snapshot != "" {
			no("snapshot", "mode: start uses the VM in its current state; use mode: restore to revert it to a snapshot")
		}
		if o.CPUs != 0 {
			no("cpus", "mode: start does not change the VM")
		}
		if o.Memory != 0 {
			no("memory", "mode: start does not change the VM")
		}
	}
	if o.CPUs < 0 || o.CPUs > 255 {
		no("cpus", "%d is not between 1 and 255", o.CPUs)
	}
	if o.Memory != 0 && o.Memory < leastMemory {
		no("memory", "%s is too little for a guest: at least %s", o.Memory, leastMemory)
	}
	if o.User == "" || strings.ContainsAny(o.User, "@: \t\n") {
		no("user", "%q is not a valid user name", o.User)
	}
	if o.Port < 1 || o.Port > 65535 {
		no("port", "%d is not between 1 and 65535", o.Port)
	}
	if o.HostKey != "" {
		if o.KnownHosts != "" {
			no("host_key", "cannot be combined with known_hosts; remove one of them")
		}
		if !isPublicKey(o.HostKey) {
			no("host_key", "%q is not a public key: copy the line of the guest's /etc/ssh/ssh_host_ed25519_key.pub", o.HostKey)
		}
	}
	if alias := o.KeyAlias; alias != "" && !plain.MatchString(alias) {
		no("key_alias", "%q is not valid in a known_hosts file", alias)
	}
	if o.StartTimeout <= 0 {
		no("start_timeout", "%v is not positive", o.StartTimeout)
	}
	return wrong
}

// isPublicKey reports whether a line is a key type, the key in base64, and an
// optional comment. The key is a sequence of fields with their lengths, the first of
// which is its type (RFC 4253, section 6.6).
func isPublicKey(line string) bool {
	words := strings.Fields(line)
	if len(words) < 2 || strings.ContainsAny(strings.TrimSpace(line), "\r\n") {
		return false
	}
	rest, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil {
		return false
	}
	var fields []string
	for len(rest) >= 4 {
		length := binary.BigEndian.Uint32(rest)
		if rest = rest[4:]; uint64(length) > uint64(len(rest)) {
			return false
		}
		fields, rest = append(fields, string(rest[:length])), rest[length:]
	}
	return len(rest) == 0 && len(fields) >= 2 && fields[0] == words[0]
}

// Validate joins the errors of the shared options and of a kind's own.
func Validate(common *Options, own ...error) error {
	return errors.Join(append(common.Wrong(), own...)...)
}

const leastMemory = 64 * quantity.MiB

// alias is the name of the guest's host key. The template's name is used unless it
// has characters that are invalid in a known_hosts file.
func (o *Options) alias() string {
	if o.KeyAlias != "" {
		return o.KeyAlias
	}
	if base := filepath.Base(o.Template); plain.MatchString(base) {
		return base
	}
	return "tare-template"
}

// own reports whether an instance has a clone, which is deleted when it stops.
func (o *Options) own() bool { return o.Mode == Linked || o.Mode == Clone }

// Label marks values of programs that are not the image's.
func (o *Options) Label() string {
	if o.RootFS == "host" {
		return "host rootfs"
	}
	return ""
}

// size returns the size of the VM; 0 keeps the template's.
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

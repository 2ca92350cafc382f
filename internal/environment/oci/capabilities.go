package oci

import (
	"fmt"
	"slices"
	"strings"
)

// dockers are the capabilities that Docker gives.
var dockers = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
	"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// known are all capabilities, in the order of the kernel's numbers.
var known = strings.Fields(`CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_KILL CAP_SETGID CAP_SETUID
	CAP_SETPCAP CAP_LINUX_IMMUTABLE CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_ADMIN CAP_NET_RAW CAP_IPC_LOCK CAP_IPC_OWNER
	CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_CHROOT CAP_SYS_PTRACE CAP_SYS_PACCT CAP_SYS_ADMIN CAP_SYS_BOOT CAP_SYS_NICE
	CAP_SYS_RESOURCE CAP_SYS_TIME CAP_SYS_TTY_CONFIG CAP_MKNOD CAP_LEASE CAP_AUDIT_WRITE CAP_AUDIT_CONTROL CAP_SETFCAP
	CAP_MAC_OVERRIDE CAP_MAC_ADMIN CAP_SYSLOG CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_AUDIT_READ CAP_PERFMON CAP_BPF
	CAP_CHECKPOINT_RESTORE`)

// capabilitiesOf are those that the option asks for, and of them what tare holds
// itself: nobody can give what he does not have. held nil stands for all.
func capabilitiesOf(option string, held []string) ([]string, error) {
	var asked []string
	switch option {
	case "default":
		asked = dockers
	case "all":
		asked = known
	case "none":
	default:
		for _, name := range strings.Split(option, ",") {
			full := strings.ToUpper(strings.TrimSpace(name))
			if !strings.HasPrefix(full, "CAP_") {
				full = "CAP_" + full
			}
			if !slices.Contains(known, full) {
				return nil, fmt.Errorf("capabilities: %q is neither default, all nor none, and %s is no capability: write a list such as chown,setuid", option, full)
			}
			asked = append(asked, full)
		}
	}
	given := []string{}
	for _, name := range asked {
		if (held == nil || slices.Contains(held, name)) && !slices.Contains(given, name) {
			given = append(given, name)
		}
	}
	return given, nil
}

// capabilitySet reads a set as the kernel prints it, in hexadecimal.
func capabilitySet(hex string) (set []string, err error) {
	var bits uint64
	if _, err := fmt.Sscanf(strings.TrimSpace(hex), "%x", &bits); err != nil {
		return nil, fmt.Errorf("%q is no set of capabilities", hex)
	}
	for bit, name := range known {
		if bits&(1<<bit) != 0 {
			set = append(set, name)
		}
	}
	return set, nil
}

// Package capability names the kernel's capabilities, and reads sets of them as
// /proc prints them.
//
// It must not know who has them, or ought to.
package capability

import (
	"fmt"
	"strings"
)

// Names are all capabilities, in the order of the kernel's numbers.
var Names = strings.Fields(`CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_KILL CAP_SETGID CAP_SETUID
	CAP_SETPCAP CAP_LINUX_IMMUTABLE CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_ADMIN CAP_NET_RAW CAP_IPC_LOCK CAP_IPC_OWNER
	CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_CHROOT CAP_SYS_PTRACE CAP_SYS_PACCT CAP_SYS_ADMIN CAP_SYS_BOOT CAP_SYS_NICE
	CAP_SYS_RESOURCE CAP_SYS_TIME CAP_SYS_TTY_CONFIG CAP_MKNOD CAP_LEASE CAP_AUDIT_WRITE CAP_AUDIT_CONTROL CAP_SETFCAP
	CAP_MAC_OVERRIDE CAP_MAC_ADMIN CAP_SYSLOG CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_AUDIT_READ CAP_PERFMON CAP_BPF
	CAP_CHECKPOINT_RESTORE`)

// Parse reads a set as the kernel prints it, in hexadecimal. A capability that
// is younger than Names has its number for a name.
func Parse(hex string) (set []string, err error) {
	var bits uint64
	if _, err := fmt.Sscanf(strings.TrimSpace(hex), "%x", &bits); err != nil {
		return nil, fmt.Errorf("%q is not a set of capabilities", hex)
	}
	for bit := range 64 {
		if bits&(1<<bit) != 0 {
			set = append(set, Name(bit))
		}
	}
	return set, nil
}

// Name of the capability with this number.
func Name(bit int) string {
	if bit < len(Names) {
		return Names[bit]
	}
	return fmt.Sprintf("CAP_%d", bit)
}

package oci

import (
	"slices"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/linux/capability"
)

// dockerCapabilities are those that Docker gives by default.
var dockerCapabilities = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
	"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// known are all capabilities, in the order of the kernel's numbers.
var known = capability.Names

// CapabilitiesOf are the capabilities of an option that tare itself holds, since a
// process cannot give others. held nil stands for all.
func CapabilitiesOf(option string, held []string) ([]string, error) {
	var asked []string
	switch option {
	case "default":
		asked = dockerCapabilities
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
				return nil, strictyaml.AtKey("capabilities", "%q is neither default, all nor none, and %s is not a capability: write a list such as chown,setuid", option, full)
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

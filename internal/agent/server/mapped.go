package server

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// fit adapts an account to the user namespace that the agent is in. Where no list of
// groups can be set, which a map of one user forbids, it stays as it is; a user who has
// no ID there is an error that says so, rather than EINVAL.
func fit(c *syscall.Credential) error {
	if denied, err := os.ReadFile("/proc/self/setgroups"); err == nil && strings.TrimSpace(string(denied)) == "deny" {
		c.NoSetGroups = true
	}
	for file, id := range map[string]uint32{"/proc/self/uid_map": c.Uid, "/proc/self/gid_map": c.Gid} {
		text, err := os.ReadFile(file)
		if err == nil && !has(string(text), id) {
			return fmt.Errorf("ID %d is none of this user namespace (%s has %q): give the user who runs tare more IDs in /etc/subuid and /etc/subgid, or run tare as root", id, file, strings.Join(strings.Fields(string(text)), " "))
		}
	}
	return nil
}

// has reports whether an ID inside is in a map.
func has(text string, id uint32) bool {
	for line := range strings.Lines(text) {
		var inside, outside, count uint64
		if n, _ := fmt.Sscan(line, &inside, &outside, &count); n == 3 && uint64(id) >= inside && uint64(id) < inside+count {
			return true
		}
	}
	return false
}

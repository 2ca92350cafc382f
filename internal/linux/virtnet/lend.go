package virtnet

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Lend lets go of a tap's file and keeps the tap, for a program that opens it by
// its name. The program has to run in the namespace that the bridge is in; the
// tap ends with that, or with Close. A program of a user other than root is named.
func (p *Port) Lend(user int) error {
	if user != 0 {
		if err := unix.IoctlSetInt(int(p.File.Fd()), unix.TUNSETOWNER, user); err != nil {
			return fmt.Errorf("giving the tap %s to user %d: %w", p.Device, user, err)
		}
	}
	if err := unix.IoctlSetInt(int(p.File.Fd()), unix.TUNSETPERSIST, 1); err != nil {
		return fmt.Errorf("keeping the tap %s: %w", p.Device, err)
	}
	return p.File.Close()
}

// Space is a path of the network namespace that the port's device is in.
func (p *Port) Space() string { return p.bridge.Space() }

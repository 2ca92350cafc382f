package guest

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"tare/internal/linux/netlink"
)

// connectNetworks brings up the loopback and configures an interface for each
// address.
func connectNetworks(nets []Net, uevents *ueventListener) error {
	control, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	defer unix.Close(control)
	if err := bringUp(control, "lo"); err != nil {
		return err
	}
	for i, n := range nets {
		name := fmt.Sprintf("eth%d", i)
		if err := uevents.waitForInterface(name); err != nil {
			return err
		}
		if err := connect(control, name, n); err != nil {
			return err
		}
	}
	return nil
}

func connect(control int, name string, n Net) error {
	mask := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-n.Address.Bits()))))
	for _, set := range []struct {
		request uint
		value   netip.Addr
	}{{unix.SIOCSIFADDR, n.Address.Addr()}, {unix.SIOCSIFNETMASK, mask}} {
		ifreq, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		_ = ifreq.SetInet4Addr(set.value.AsSlice())
		if err := unix.IoctlIfreq(control, set.request, ifreq); err != nil {
			return fmt.Errorf("network: setting the address of %s to %s: %w", name, n.Address, err)
		}
	}
	if n.MTU > 0 {
		ifreq, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		ifreq.SetUint32(uint32(n.MTU))
		if err := unix.IoctlIfreq(control, unix.SIOCSIFMTU, ifreq); err != nil {
			return fmt.Errorf("network: setting the MTU of %s to %d: %w", name, n.MTU, err)
		}
	}
	if err := bringUp(control, name); err != nil {
		return err
	}
	if n.Gateway.IsValid() {
		if err := addDefaultRoute(n.Gateway); err != nil {
			return fmt.Errorf("network: adding the default route via %s: %w", n.Gateway, err)
		}
	}
	if n.Nameserver.IsValid() {
		_ = os.MkdirAll("/etc", 0o755)
		os.Remove("/etc/resolv.conf") // often a symlink to a file of systemd-resolved
		if err := os.WriteFile("/etc/resolv.conf", fmt.Appendf(nil, "nameserver %s\n", n.Nameserver), 0o644); err != nil {
			return fmt.Errorf("network: %w", err)
		}
	}
	return nil
}

func (l *ueventListener) waitForInterface(name string) error {
	return l.waitFor("the network interface "+name, func() bool {
		_, err := os.Stat("/sys/class/net/" + name)
		return err == nil
	})
}

func bringUp(control int, name string) error {
	ifreq, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err = unix.IoctlIfreq(control, unix.SIOCGIFFLAGS, ifreq); err == nil {
		ifreq.SetUint16(ifreq.Uint16() | unix.IFF_UP)
		err = unix.IoctlIfreq(control, unix.SIOCSIFFLAGS, ifreq)
	}
	if err != nil {
		return fmt.Errorf("network: bringing %s up: %w", name, err)
	}
	return nil
}

// addDefaultRoute adds the default route via a gateway, with one rtnetlink
// message.
func addDefaultRoute(gateway netip.Addr) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	route := []byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST, 0, 0, 0, 0}
	b := netlink.Message(unix.RTM_NEWROUTE, unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_REPLACE, route, netlink.Attribute(unix.RTA_GATEWAY, gateway.AsSlice()))
	if err := unix.Sendto(s, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 1<<10)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return err
	}
	_, err = netlink.Body(answer[:n])
	return err
}

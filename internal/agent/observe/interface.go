package observe

import (
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// offloads maps ethtool's names to its commands.
var offloads = map[string]uint32{
	"rx": unix.ETHTOOL_GRXCSUM, "tx": unix.ETHTOOL_GTXCSUM, "sg": unix.ETHTOOL_GSG,
	"tso": unix.ETHTOOL_GTSO, "gso": unix.ETHTOOL_GGSO, "gro": unix.ETHTOOL_GGRO,
}

// lro is ETH_FLAG_LRO of ETHTOOL_GFLAGS.
const lro = 1 << 15

// interfaces lists the interfaces of the network namespace.
func (a *Answer) interfaces() {
	list, err := net.Interfaces()
	if err != nil {
		a.absent("interfaces", err)
		return
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		a.absent("interfaces", err)
		return
	}
	defer unix.Close(socket)
	for _, i := range list {
		one := Interface{Name: i.Name, MTU: i.MTU, Loopback: i.Flags&net.FlagLoopback != 0, Up: i.Flags&net.FlagUp != 0, Offloads: map[string]bool{}}
		addresses, _ := i.Addrs()
		for _, address := range addresses {
			if network, ok := address.(*net.IPNet); ok {
				one.Addresses = append(one.Addresses, network.IP.String())
			}
		}
		one.queryDriver(socket)
		a.Interfaces = append(a.Interfaces, one)
	}
}

// queryDriver reads the driver's name, the transmit queue's length and the
// offloads.
func (i *Interface) queryDriver(socket int) {
	if driver, err := unix.IoctlGetEthtoolDrvinfo(socket, i.Name); err == nil {
		i.Driver = unix.ByteSliceToString(driver.Driver[:])
	}
	if request, err := unix.NewIfreq(i.Name); err == nil {
		if err := unix.IoctlIfreq(socket, unix.SIOCGIFTXQLEN, request); err == nil {
			length := int(request.Uint32())
			i.Queue = &length
		}
	}
	for name, command := range offloads {
		if on, err := ethtoolValue(socket, i.Name, command); err == nil {
			i.Offloads[name] = on != 0
		} else {
			i.Error = err.Error()
		}
	}
	if flags, err := ethtoolValue(socket, i.Name, unix.ETHTOOL_GFLAGS); err == nil {
		i.Offloads["lro"] = flags&lro != 0
	}
}

// ethtoolValue runs an ethtool command that returns a struct ethtool_value.
func ethtoolValue(socket int, name string, command uint32) (uint32, error) {
	value := struct{ command, data uint32 }{command: command}
	// struct ifreq: a name and a pointer.
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	request.data = unsafe.Pointer(&value)
	if _, _, number := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); number != 0 {
		return 0, number
	}
	return value.data, nil
}

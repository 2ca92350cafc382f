package observe

import (
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// offloads by the names that ethtool has for them.
var offloads = map[string]uint32{
	"rx": unix.ETHTOOL_GRXCSUM, "tx": unix.ETHTOOL_GTXCSUM, "sg": unix.ETHTOOL_GSG,
	"tso": unix.ETHTOOL_GTSO, "gso": unix.ETHTOOL_GGSO, "gro": unix.ETHTOOL_GGRO,
}

// lro is a bit of the flags, which have an answer of their own.
const lro = 1 << 15

// interfaces looks at those of the network namespace.
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
		one.ask(socket)
		a.Interfaces = append(a.Interfaces, one)
	}
}

// ask the driver.
func (i *Interface) ask(socket int) {
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
		if on, err := setting(socket, i.Name, command); err == nil {
			i.Offloads[name] = on != 0
		} else {
			i.Error = err.Error()
		}
	}
	if flags, err := setting(socket, i.Name, unix.ETHTOOL_GFLAGS); err == nil {
		i.Offloads["lro"] = flags&lro != 0
	}
}

// setting is one that ethtool answers with a number.
func setting(socket int, name string, command uint32) (uint32, error) {
	value := struct{ command, data uint32 }{command: command}
	// As the kernel's struct ifreq has it: a name, and a pointer.
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

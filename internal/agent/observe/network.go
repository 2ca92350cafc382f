package observe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/linux/netlink"
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

// hooks of netfilter, indexed by enum nf_inet_hooks.
var hooks = []string{"prerouting", "input", "forward", "output", "postrouting"}

// PacketFilter returns the netfilter state of the calling thread's network
// namespace.
func PacketFilter() (f Filter) {
	f.Namespace, _ = os.Readlink("/proc/thread-self/ns/net")
	var err error
	if f.Chains, err = chains(); err != nil {
		f.ChainsError = err.Error()
	}
	if f.Tracked, err = tracksConnections(); err != nil {
		f.TrackedError = err.Error()
	}
	return f
}

// chains lists the base chains for IPv4 of nftables and of legacy iptables. It
// needs CAP_NET_ADMIN in the namespace.
func chains() ([]Chain, error) {
	list, err := nftChains()
	if err != nil {
		return nil, fmt.Errorf("listing the chains of nftables: %w", err)
	}
	legacy, err := legacyChains()
	return append(list, legacy...), err
}

// conntrackCount has the number of connections that conntrack tracks.
const conntrackCount = "/proc/sys/net/netfilter/nf_conntrack_count"

// tracksConnections reports whether conntrack tracks connections over the
// loopback. It sends a packet there and reads the number of connections.
func tracksConnections() (bool, error) {
	if _, err := os.Stat(conntrackCount); err != nil {
		return false, err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(socket)
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return false, err
	}
	own, err := unix.Getsockname(socket)
	if err != nil {
		return false, err
	}
	if err := unix.Sendto(socket, []byte{0}, 0, own); err != nil {
		return false, err
	}
	text, err := read(conntrackCount)
	return strings.TrimSpace(text) != "0", err
}

// nftChains lists the base chains of nftables. A kernel without nftables returns
// an error that means that there are none.
func nftChains() ([]Chain, error) {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(socket)
	const nfgenmsg = 4 // size of struct nfgenmsg, which begins with the family
	request := netlink.Message(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETCHAIN, unix.NLM_F_DUMP, make([]byte, nfgenmsg))
	if err := unix.Sendto(socket, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var chains []Chain
	buffer := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(socket, buffer, 0)
		if err != nil {
			return nil, err
		}
		messages, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_DONE:
				return chains, nil
			case m.Header.Type == unix.NLMSG_ERROR && len(m.Data) >= 4:
				switch number := unix.Errno(-int32(binary.NativeEndian.Uint32(m.Data))); number {
				case unix.EINVAL, unix.EOPNOTSUPP:
					return nil, nil
				default:
					return nil, number
				}
			case len(m.Data) >= nfgenmsg:
				if c, ok := nftChain(m.Data[0], m.Data[nfgenmsg:]); ok {
					chains = append(chains, c)
				}
			}
		}
	}
}

// nftChain decodes a chain. It returns false for chains that are not base chains
// (those without a hook) and for families other than IPv4.
func nftChain(family byte, text []byte) (Chain, bool) {
	hook := netlink.Find(netlink.Find(text, unix.NFTA_CHAIN_HOOK), unix.NFTA_HOOK_HOOKNUM)
	if hook == nil || number(hook) >= len(hooks) || family != unix.AF_INET && family != unix.NFPROTO_INET {
		return Chain{}, false
	}
	table := bytes.TrimRight(netlink.Find(text, unix.NFTA_CHAIN_TABLE), "\x00")
	// No rule jumps to a base chain, so its use count is its number of rules.
	return Chain{Table: string(table), Hook: hooks[number(hook)], Rules: number(netlink.Find(text, unix.NFTA_CHAIN_USE))}, true
}

// number decodes a big-endian attribute of nftables.
func number(text []byte) int {
	if len(text) < 4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(text))
}

// legacyTables lists the tables of legacy iptables in the namespace. Only these
// are read, since reading another one would create it.
const legacyTables = "/proc/thread-self/net/ip_tables_names"

// legacyChains lists the base chains of legacy iptables.
func legacyChains() ([]Chain, error) {
	names, err := read(legacyTables)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the tables of iptables: %w", err)
	}
	var chains []Chain
	for _, table := range strings.Fields(names) {
		of, err := legacyTable(table)
		if err != nil {
			return nil, fmt.Errorf("reading the table %s of iptables: %w", table, err)
		}
		chains = append(chains, of...)
	}
	return chains, nil
}

// IPT_SO_GET_INFO and IPT_SO_GET_ENTRIES, the socket options that read a table of
// legacy iptables, and the size of struct ipt_get_entries before its entries.
const (
	iptSOGetInfo        = 64
	iptSOGetEntries     = 65
	iptGetEntriesHeader = 40
)

// iptGetInfo is struct ipt_getinfo: at which offset the rules of each hook begin
// (hook_entry), and where its policy is (underflow).
type iptGetInfo struct {
	Name          [32]byte
	Hooks         uint32
	Begins, Ends  [5]uint32
	Entries, Size uint32
}

func legacyTable(name string) ([]Chain, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return nil, err
	}
	defer unix.Close(socket)
	var o iptGetInfo
	copy(o.Name[:len(o.Name)-1], name)
	if err := getsockopt(socket, iptSOGetInfo, unsafe.Pointer(&o), unsafe.Sizeof(o)); err != nil {
		return nil, err
	}
	text := make([]byte, iptGetEntriesHeader+int(o.Size))
	copy(text[:len(o.Name)-1], name)
	binary.NativeEndian.PutUint32(text[len(o.Name):], o.Size)
	if err := getsockopt(socket, iptSOGetEntries, unsafe.Pointer(&text[0]), uintptr(len(text))); err != nil {
		return nil, err
	}
	var chains []Chain
	for hook, what := range hooks {
		if o.Hooks&(1<<hook) != 0 {
			chains = append(chains, Chain{Table: name, Hook: what, Rules: rules(text[iptGetEntriesHeader:], int(o.Begins[hook]), int(o.Ends[hook]))})
		}
	}
	return chains, nil
}

// rules counts the rules between two offsets of a table.
func rules(table []byte, from, to int) (n int) {
	const nextOffset = 90 // offset of next_offset in struct ipt_entry
	for ; from < to && from+nextOffset+2 <= len(table); n++ {
		step := int(binary.NativeEndian.Uint16(table[from+nextOffset:]))
		if step == 0 {
			break
		}
		from += step
	}
	return n
}

func getsockopt(socket, option int, value unsafe.Pointer, size uintptr) error {
	length := uint32(size)
	if _, _, number := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(socket), unix.IPPROTO_IP, uintptr(option), uintptr(value), uintptr(unsafe.Pointer(&length)), 0); number != 0 {
		return number
	}
	return nil
}

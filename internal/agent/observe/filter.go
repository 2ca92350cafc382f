package observe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/linux/netlink"
)

// hooks of the packet filter, by the kernel's numbers for them.
var hooks = []string{"prerouting", "input", "forward", "output", "postrouting"}

// PacketFilter is what packets of the calling thread's network namespace pass.
func PacketFilter() (f Filter) {
	f.Namespace, _ = os.Readlink("/proc/thread-self/ns/net")
	var err error
	if f.Chains, err = chains(); err != nil {
		f.ChainsError = err.Error()
	}
	if f.Tracked, err = tracked(); err != nil {
		f.TrackedError = err.Error()
	}
	return f
}

// chains are those that IPv4 packets pass, of nftables and of the older tables of
// iptables. To ask takes CAP_NET_ADMIN in the namespace.
func chains() ([]Chain, error) {
	list, err := newChains()
	if err != nil {
		return nil, fmt.Errorf("asking the kernel for the rules of nftables: %w", err)
	}
	older, err := oldChains()
	return append(list, older...), err
}

// counted is where the kernel says how many connections it tracks.
const counted = "/proc/sys/net/netfilter/nf_conntrack_count"

// tracked says whether the kernel tracks connections over the loopback: whether
// it knows of any once a packet went there.
func tracked() (bool, error) {
	if _, err := os.Stat(counted); err != nil {
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
	text, err := read(counted)
	return strings.TrimSpace(text) != "0", err
}

// newChains are those of nftables. A kernel that has none says that it does not
// know the question.
func newChains() ([]Chain, error) {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(socket)
	const family = 4 // and what else struct nfgenmsg has
	question := netlink.Message(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETCHAIN, unix.NLM_F_DUMP, make([]byte, family))
	if err := unix.Sendto(socket, question, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
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
			case len(m.Data) >= family:
				if c, passed := newChain(m.Data[0], m.Data[family:]); passed {
					chains = append(chains, c)
				}
			}
		}
	}
}

// newChain reads one from the kernel's answer. What hangs at no hook is passed
// by nothing by itself.
func newChain(family byte, text []byte) (Chain, bool) {
	hook := netlink.Find(netlink.Find(text, unix.NFTA_CHAIN_HOOK), unix.NFTA_HOOK_HOOKNUM)
	if hook == nil || number(hook) >= len(hooks) || family != unix.AF_INET && family != unix.NFPROTO_INET {
		return Chain{}, false
	}
	table := bytes.TrimRight(netlink.Find(text, unix.NFTA_CHAIN_TABLE), "\x00")
	// Nothing jumps to such a chain, so all that uses it are its rules.
	return Chain{Table: string(table), Hook: hooks[number(hook)], Rules: number(netlink.Find(text, unix.NFTA_CHAIN_USE))}, true
}

// number as nftables sends them.
func number(text []byte) int {
	if len(text) < 4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(text))
}

// oldNames is where the tables of iptables are listed that the namespace has: to
// ask for another one would make it.
const oldNames = "/proc/thread-self/net/ip_tables_names"

// oldChains are those of iptables' own tables.
func oldChains() ([]Chain, error) {
	names, err := read(oldNames)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading which tables iptables has: %w", err)
	}
	var chains []Chain
	for _, table := range strings.Fields(names) {
		of, err := oldTable(table)
		if err != nil {
			return nil, fmt.Errorf("asking for the table %s of iptables: %w", table, err)
		}
		chains = append(chains, of...)
	}
	return chains, nil
}

// Questions about a table of iptables, and how long what comes before its rules
// is.
const (
	askOutline = 64
	askRules   = 65
	preamble   = 40
)

// outline is the kernel's struct ipt_getinfo: at which of its rules each hook
// begins, and which is the policy after the last.
type outline struct {
	Name          [32]byte
	Hooks         uint32
	Begins, Ends  [5]uint32
	Entries, Size uint32
}

func oldTable(name string) ([]Chain, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return nil, err
	}
	defer unix.Close(socket)
	var o outline
	copy(o.Name[:len(o.Name)-1], name)
	if err := put(socket, askOutline, unsafe.Pointer(&o), unsafe.Sizeof(o)); err != nil {
		return nil, err
	}
	text := make([]byte, preamble+int(o.Size))
	copy(text[:len(o.Name)-1], name)
	binary.NativeEndian.PutUint32(text[len(o.Name):], o.Size)
	if err := put(socket, askRules, unsafe.Pointer(&text[0]), uintptr(len(text))); err != nil {
		return nil, err
	}
	var chains []Chain
	for hook, what := range hooks {
		if o.Hooks&(1<<hook) != 0 {
			chains = append(chains, Chain{Table: name, Hook: what, Rules: rules(text[preamble:], int(o.Begins[hook]), int(o.Ends[hook]))})
		}
	}
	return chains, nil
}

// rules from one place of a table to another, each of which says how long it is.
func rules(table []byte, from, to int) (n int) {
	const length = 90 // where struct ipt_entry has it
	for ; from < to && from+length+2 <= len(table); n++ {
		step := int(binary.NativeEndian.Uint16(table[from+length:]))
		if step == 0 {
			break
		}
		from += step
	}
	return n
}

func put(socket, question int, answer unsafe.Pointer, size uintptr) error {
	length := uint32(size)
	if _, _, number := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(socket), unix.IPPROTO_IP, uintptr(question), uintptr(answer), uintptr(unsafe.Pointer(&length)), 0); number != 0 {
		return number
	}
	return nil
}

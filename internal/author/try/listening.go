package try

import (
	"context"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tare/internal/agent"
)

// socket is one at which something listens.
type socket struct {
	port  int
	local bool // only for programs of the same machine or instance
}

// tables are the kernel's lists of TCP sockets.
var tables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// listening lists the sockets that listen in the network of an instance.
func listening(ctx context.Context, a *agent.Client) (all []socket) {
	for _, table := range tables {
		// One is absent where a kernel has no IPv6.
		if text, err := a.ReadFile(ctx, table, 16<<20); err == nil {
			all = append(all, listeningIn(string(text))...)
		}
	}
	return all
}

// listeningIn reads a table: a heading, then a line for each socket with its local address
// and its state as second and fourth word.
func listeningIn(table string) (all []socket) {
	const listens = "0A"
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) < 4 || words[3] != listens {
			continue
		}
		address, text, _ := strings.Cut(words[1], ":")
		port, err := strconv.ParseUint(text, 16, 16)
		if err != nil {
			continue
		}
		s := socket{int(port), isLoopback(address)}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// isLoopback reports whether an address of a table is one of the loopback: the kernel
// prints its words of four bytes in the machine's byte order, here the lowest first.
func isLoopback(address string) bool {
	raw, err := hex.DecodeString(address)
	if err != nil {
		return false
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	ip, _ := netip.AddrFromSlice(raw)
	return ip.Unmap().IsLoopback()
}

// added are the sockets that were not there before.
func added(before, now []socket) []socket {
	return slices.DeleteFunc(slices.Clone(now), func(s socket) bool { return slices.Contains(before, s) })
}

// reachable reports whether something listens at a port for other machines.
func reachable(all []socket, port int) bool { return slices.Contains(all, socket{port, false}) }

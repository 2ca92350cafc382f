// Package listener finds the TCP sockets at which something listens, and those of them
// that certain processes hold.
//
// It must not know what the processes are.
package listener

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"tare/internal/linux/procfile"
)

// Socket is one at which something listens.
type Socket struct {
	Port  int
	Local bool // only for programs of the same machine or instance
	inode string
}

// tables are the kernel's lists of TCP sockets.
var tables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// All lists the sockets that listen in the network of whoever reads the files.
func All(read func(file string) ([]byte, error)) (all []Socket) {
	for _, table := range tables {
		// One is absent where a kernel has no IPv6.
		if text, err := read(table); err == nil {
			all = append(all, listeningIn(string(text))...)
		}
	}
	return all
}

// listeningIn reads a table: a heading, then a line for each socket with its local address,
// its state and its inode as second, fourth and tenth word.
func listeningIn(table string) (all []Socket) {
	const listens = "0A"
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) < 10 || words[3] != listens {
			continue
		}
		address, text, _ := strings.Cut(words[1], ":")
		if port, err := strconv.ParseUint(text, 16, 16); err == nil {
			all = append(all, Socket{int(port), isLoopback(address), words[9]})
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

// HeldBy keeps the sockets of this machine that one of the processes has open. Where this
// user may not see the files of one of them, it leaves out only those that another process
// is seen to have.
func HeldBy(pids []int, all []Socket) []Socket {
	held, hidden := inodes(pids)
	if !hidden {
		return slices.DeleteFunc(slices.Clone(all), func(s Socket) bool { return !held[s.inode] })
	}
	var others []int
	for _, pid := range procfile.PIDs() {
		if !slices.Contains(pids, pid) {
			others = append(others, pid)
		}
	}
	held, _ = inodes(others)
	return slices.DeleteFunc(slices.Clone(all), func(s Socket) bool { return held[s.inode] })
}

// inodes are those of the sockets that processes have open. Some are hidden if this user
// may not see the files of one of the processes.
func inodes(pids []int) (found map[string]bool, hidden bool) {
	found = map[string]bool{}
	for _, pid := range pids {
		directory := fmt.Sprintf("/proc/%d/fd", pid)
		files, err := os.ReadDir(directory)
		hidden = hidden || errors.Is(err, os.ErrPermission)
		for _, file := range files {
			target, err := os.Readlink(directory + "/" + file.Name())
			hidden = hidden || errors.Is(err, os.ErrPermission)
			if inode, is := strings.CutPrefix(target, "socket:["); is {
				found[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	return found, hidden
}

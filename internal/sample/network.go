package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/prometheus/procfs"

	"tare/internal/netns"
)

// traffic adds up the counters of network interfaces. Loopback is left out: its
// bytes never leave the instance.
type traffic struct {
	first, last map[string][2]float64 // interface → received, sent
	missing     string
}

// look reads the interfaces; one that is gone keeps its last figures.
func (t *traffic) look(fs procfs.FS, root string, f Footprint) {
	read, err := readInterfaces(fs, root, f)
	if err != nil {
		if t.first == nil {
			t.missing = err.Error()
		}
		return
	}
	t.missing = ""
	begin := t.first == nil
	if begin {
		t.first, t.last = map[string][2]float64{}, map[string][2]float64{}
	}
	for name, counters := range read {
		if begin {
			t.first[name] = counters
		}
		t.last[name] = counters
	}
}

// figures are bytes received and sent since the first look.
func (t *traffic) figures() (received, sent Figure) {
	if t.missing != "" {
		return Absent("%s", t.missing), Absent("%s", t.missing)
	}
	var in, out float64
	for name, last := range t.last {
		in += last[0] - t.first[name][0]
		out += last[1] - t.first[name][1]
	}
	return Known(in), Known(out)
}

func readInterfaces(fs procfs.FS, root string, f Footprint) (map[string][2]float64, error) {
	read := map[string][2]float64{}
	switch {
	case f.NetworkPID != 0:
		if shared, err := sharesNetwork(root, f.NetworkPID); err != nil {
			return nil, err
		} else if shared {
			return nil, fmt.Errorf("the instance shares the host's network, where its bytes cannot be told apart")
		}
		p, err := fs.Proc(f.NetworkPID)
		if err != nil {
			return nil, fmt.Errorf("reading the network bytes of process %d: %w", f.NetworkPID, err)
		}
		devices, err := p.NetDev()
		if err != nil {
			return nil, fmt.Errorf("reading the network bytes of process %d: %w", f.NetworkPID, err)
		}
		for name, line := range devices {
			if name != "lo" {
				read[name] = [2]float64{float64(line.RxBytes), float64(line.TxBytes)}
			}
		}
	case len(f.Devices) > 0:
		devices, err := interfacesIn(fs, root, f.Space)
		if err != nil {
			return nil, fmt.Errorf("reading the network bytes of the host's interfaces: %w", err)
		}
		for _, name := range f.Devices {
			line, ok := devices[name]
			if !ok {
				return nil, fmt.Errorf("the host has no network interface %s", name)
			}
			// What the host's end sends is what the instance receives.
			read[name] = [2]float64{float64(line.TxBytes), float64(line.RxBytes)}
		}
	default:
		return nil, fmt.Errorf("the instance has no network of its own whose bytes could be counted")
	}
	return read, nil
}

// interfacesIn reads the counters of the host's interfaces, or of those in
// another network namespace of tare's.
func interfacesIn(fs procfs.FS, root, space string) (devices procfs.NetDev, err error) {
	if space == "" {
		return fs.NetDev()
	}
	file, err := os.Open(space)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	err = netns.Within(file, func() error {
		thread, err := procfs.NewFS(filepath.Join(root, "thread-self"))
		if err == nil {
			devices, err = thread.NetDev()
		}
		return err
	})
	return devices, err
}

func sharesNetwork(root string, pid int) (bool, error) {
	theirs, err := os.Readlink(filepath.Join(root, strconv.Itoa(pid), "ns", "net"))
	if err != nil {
		return false, fmt.Errorf("looking up the network of process %d: %w", pid, err)
	}
	ours, err := os.Readlink(filepath.Join(root, "self", "ns", "net"))
	if err != nil {
		return false, fmt.Errorf("looking up the host's network: %w", err)
	}
	return ours == theirs, nil
}

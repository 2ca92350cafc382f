package usage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tare/internal/linux/netns"
	"tare/internal/linux/procfile"
)

// counts of an interface: bytes received and sent, packets received and sent.
type counts [4]float64

// traffic adds up the counters of network interfaces, except loopback, whose
// bytes do not leave the instance.
type traffic struct {
	table       *interfaces
	devices     []string // on the host, where directions are reversed; none: all but loopback
	first, last map[string]counts
	missing     string
}

// interfaces is a net/dev file of a process or a namespace. Instances on the same
// network share it.
type interfaces struct {
	file   *procfile.File
	pass   int // of the last reading
	buffer []byte
	text   []byte
	err    error
}

// read reads the file once per pass.
func (i *interfaces) read(pass int) ([]byte, error) {
	if i.pass != pass {
		i.text, i.err = i.file.Read(&i.buffer)
		i.pass = pass
	}
	return i.text, i.err
}

// openTraffic finds the file that counts the instance's bytes.
func openTraffic(g *Sampling, f Footprint) *traffic {
	t := &traffic{devices: f.Devices}
	if err := t.open(g, f); err != nil {
		t.missing = err.Error()
	}
	return t
}

func (t *traffic) open(g *Sampling, f Footprint) error {
	path, within := filepath.Join(g.on.proc, "net", "dev"), f.Space
	switch {
	case f.NetworkPID != 0:
		if shared, err := sharesNetwork(g.on.proc, f.NetworkPID); err != nil {
			return err
		} else if shared {
			return fmt.Errorf("the instance shares the host's network, which does not count its bytes separately")
		}
		t.devices, within = nil, ""
		path = filepath.Join(g.on.proc, strconv.Itoa(f.NetworkPID), "net", "dev")
	case len(f.Devices) == 0:
		return fmt.Errorf("the instance has no network that counts its bytes")
	case within != "":
		path = filepath.Join(g.on.proc, "thread-self", "net", "dev")
	}
	key := path + within
	if t.table = g.tables[key]; t.table != nil {
		return nil
	}
	file := procfile.At(path)
	err := error(nil)
	if within == "" {
		err = file.Open()
	} else if space, no := os.Open(within); no != nil {
		err = no
	} else {
		// The file shows the namespace in which it was opened.
		err = netns.Within(space, file.Open)
		space.Close()
	}
	if err != nil {
		return fmt.Errorf("reading the network bytes of the instance: %w", err)
	}
	t.table = &interfaces{file: file, pass: -1}
	g.tables[key] = t.table
	return nil
}

// read reads the interfaces. One that was removed keeps its last counts.
func (t *traffic) read(pass int) {
	if t.table == nil {
		return
	}
	text, err := t.table.read(pass)
	if err != nil {
		if t.first == nil {
			t.missing = err.Error()
		}
		return
	}
	t.missing = ""
	begin := t.first == nil
	if begin {
		t.first, t.last = map[string]counts{}, map[string]counts{}
	}
	for line := range procfile.Lines(text) {
		word, rest, is := bytes.Cut(line, colon)
		device := bytes.TrimSpace(word)
		if !is || !t.counted(device) {
			continue
		}
		var field [10]float64
		for i := range field {
			word, rest = procfile.Word(rest)
			n, _ := procfile.Number(word)
			field[i] = float64(n)
		}
		c := counts{field[0], field[8], field[1], field[9]}
		if len(t.devices) > 0 {
			// The host's end sends what the instance receives.
			c = counts{c[1], c[0], c[3], c[2]}
		}
		if begin {
			t.first[string(device)] = c
		}
		if t.last[string(device)] != c || begin {
			t.last[string(device)] = c
		}
	}
	for _, device := range t.devices {
		if _, there := t.first[device]; begin && !there {
			t.first, t.missing = nil, "the host has no network interface "+device
			return
		}
	}
}

var colon = []byte(":")

func (t *traffic) counted(device []byte) bool {
	if len(t.devices) == 0 {
		// What passes the device of Kata's guest passes the container's too.
		return string(device) != "lo" && !bytes.HasSuffix(device, []byte("_kata"))
	}
	return slices.ContainsFunc(t.devices, func(d string) bool { return d == string(device) })
}

// figures returns bytes received and sent, and packets received and sent, since
// the first reading.
func (t *traffic) figures() (since [4]Figure) {
	if t.missing != "" {
		absent := Figure{Missing: t.missing}
		return [4]Figure{absent, absent, absent, absent}
	}
	for device, last := range t.last {
		first := t.first[device]
		for i := range since {
			since[i].Value += last[i] - first[i]
		}
	}
	return since
}

func sharesNetwork(proc string, pid int) (bool, error) {
	theirs, err := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "ns", "net"))
	if err != nil {
		return false, fmt.Errorf("reading the network namespace of process %d: %w", pid, err)
	}
	ours, err := os.Readlink(filepath.Join(proc, "self", "ns", "net"))
	if err != nil {
		return false, fmt.Errorf("reading the host's network namespace: %w", err)
	}
	return ours == theirs, nil
}

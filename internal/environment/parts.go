package environment

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"tare/internal/base/lists"
)

// Part is one part of an isolation layer that can be switched on separately.
type Part struct {
	Key   string `json:"key"`   // namespaces.pid
	Name  string `json:"name"`  // "pid namespace"; "the NAME" begins a sentence
	About string `json:"about"` // what is switched, and what that does
	// Switched is what is switched alone: namespaces.pid: false → true. About can
	// name an effect, which explains a cost but not a gain.
	Switched string `json:"switched,omitempty"`
	Group    string `json:"group"` // namespaces
	// Subject begins a sentence about the part where "The NAME" would not. Many
	// says that it is plural; without a subject the name decides.
	Subject string `json:"subject,omitempty"`
	Many    bool   `json:"many,omitempty"`
	// Needs are the keys of the parts that have to be on before this one.
	Needs []string `json:"needs,omitempty"`
}

// Change is a part with the options that switch it on: values by the option's
// path in JSON, nil for an option that is removed.
type Change struct {
	Part
	Set map[string]any
}

// Parts declares the parts of a kind, from which package attribution builds
// ladders: what each option switches, and how a ladder leads from the kind to
// another one. With the zero value each option is a part named after its key, and
// the change to another kind is one step.
type Parts struct {
	// Switches describes options in the order in which they are switched. Options
	// that are not listed come first, in alphabetical order.
	Switches []Switch
	// Regroup, where it is set, replaces the changes between two sets of options.
	// each has one change for every option that differs, or several where the
	// option has Ways. It is for options that are switched together, and for
	// changes that lead through values which neither end has. The notes say what
	// cannot be switched separately.
	Regroup func(from, to any, each []Change) (changes []Change, notes []string)

	// Cross expresses an environment of the kind in the options of an intermediate
	// kind. Two kinds that cross to the same intermediate kind have a ladder that
	// leads through its parts. nil: no ladder leads through another kind.
	Cross func(options, facts any) (Crossing, error)
	// Facts returns what Cross depends on besides the options, such as the default
	// runtime of an engine. It can contact services of this machine. nil: Cross
	// gets nil.
	Facts func(ctx context.Context, options any) any
	// Align is for an intermediate kind: it sets the options that make no
	// difference to one end of a ladder to the values of the other end, so that no
	// step switches them.
	Align func(one, two *Crossing)

	// Guest, where it is set, says that instances boot the image with a kernel of
	// their own.
	Guest *Guest
	// Approach changes options to the closest that the kind has to an environment
	// of another kind, before the kind is changed in one step. nil: none is closer.
	Approach func(options any, other Other)
}

// Switch describes one option of a kind.
type Switch struct {
	Option string // its path in JSON: "namespaces.pid"
	Name   string // "pid namespace"; "" for its path with spaces
	// Ways are lists of values, each of which builds on the one before: a change
	// from one value to another takes a step for each value of the list between.
	Ways [][]string
	// Values that have a name of their own, in addition to those that many kinds
	// share.
	Values map[string]Value
}

// Value describes what an option's value makes.
type Value struct {
	Name   string // "overlay root"
	Effect string // what it does to what runs, "" where the name says it
}

// Crossing is an environment as the intermediate kind expresses it.
type Crossing struct {
	Kind    string // the intermediate kind
	Options any    // of the intermediate kind: the same isolation
	// Closest are options of the environment's own kind, without what only that
	// kind has: from them one step leads to Options. nil for the intermediate kind
	// itself.
	Closest any
	// Indifferent are options of the intermediate kind that make no difference to
	// this environment; see Parts.Align.
	Indifferent []string
	// Kernel serves the system calls; "" is the host's. A change of the kernel
	// leads through the intermediate kind even between environments of one kind.
	Kernel string
	// Leave is the step from Closest to Options, and Enter the step back, which is
	// what no other part explains and needs no key.
	Leave, Enter Part
	Notes        []string // what cannot be switched separately
}

// Guest declares the step from an environment without a kernel of its own into a
// virtual machine, and the step back.
type Guest struct {
	Enter, Leave Part // where About is "", it names the two kinds
	// EnterNotes belong to a ladder into the guest, Notes to any that has one at an
	// end: what cannot be switched separately.
	EnterNotes, Notes []string
	// Bridged reports whether a guest with these options is attached to a bridge of
	// the host.
	Bridged func(options any) bool
}

// Other is what Parts.Approach has to know about the other end of a ladder.
type Other struct {
	Bridged bool // it has a kernel of its own, and is attached to a bridge of the host
}

// InOrder are switches without names, in this order.
func InOrder(options ...string) []Switch {
	return lists.Map(options, func(o string) Switch { return Switch{Option: o} })
}

// Position of an option in the order in which options are switched; -1 for one
// that is not listed.
func (p Parts) Position(option string) int {
	return slices.IndexFunc(p.Switches, func(s Switch) bool { return s.Option == option })
}

func (p Parts) find(option string) Switch {
	if n := p.Position(option); n >= 0 {
		return p.Switches[n]
	}
	return Switch{Option: option}
}

// Changes are the steps from one value of an option to another, nil standing for
// an absent value.
func (p Parts) Changes(option string, before, after any) (list []Change) {
	s := p.find(option)
	for _, value := range s.way(before, after) {
		c := s.change(before, value)
		if len(s.Ways) > 0 {
			c.Key = option + "." + OptionText(value)
		}
		if len(list) > 0 {
			c.Needs = []string{list[len(list)-1].Key}
		}
		list, before = append(list, c), value
	}
	return list
}

// Change describes the change of an option in one step.
func (p Parts) Change(option string, before, after any) Change {
	return p.find(option).change(before, after)
}

// way are the values from one to another, without the first.
func (s Switch) way(before, after any) (way []any) {
	one, _ := before.(string)
	two, _ := after.(string)
	for _, values := range s.Ways {
		i, j := slices.Index(values, one), slices.Index(values, two)
		if i < 0 || j < 0 {
			continue
		}
		for i != j {
			if i < j {
				i++
			} else {
				i--
			}
			way = append(way, values[i])
		}
		return way
	}
	return []any{after}
}

func (s Switch) change(before, after any) Change {
	group, _, _ := strings.Cut(s.Option, ".")
	switched := s.Option + ": " + OptionText(before) + " → " + OptionText(after)
	c := Change{Part{Key: s.Option, Group: group, About: switched, Switched: switched}, map[string]any{s.Option: after}}
	value, known := s.Values[OptionText(after)]
	if !known {
		value, known = sharedValues[s.Option][OptionText(after)]
	}
	if known {
		c.Name = value.Name
		if value.Effect != "" {
			c.About = value.Effect + " (" + switched + ")"
		}
		return c
	}
	name := s.Name
	if name == "" {
		name = strings.NewReplacer("_", " ", ".", " ").Replace(s.Option)
	}
	switch after {
	case true:
		c.Name = name
	case false:
		c.Name = "absence of the " + name
	default:
		c.Name = "change of " + name + " to " + OptionText(after)
	}
	return c
}

// OptionText is the value of an option for people.
func OptionText(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case string:
		if v == "" {
			return "none"
		}
		return v
	}
	text, _ := json.Marshal(value) // a value of JSON
	return string(text)
}

// SharedValues describes values of options that have the same name and meaning in
// several kinds.
func SharedValues() map[string]map[string]Value { return sharedValues }

var sharedValues = map[string]map[string]Value{
	"root": {
		"overlay": {"overlay root", "files of the root are looked up in two layers, and copied up at the first write"},
		"folder":  {"root in a directory", "files of the root are in one file system"},
		"bind":    {"read-only root", ""},
	},
	"data": {
		"overlay": {"data in the overlay", "/data is in the overlay of the root"},
		"bind":    {"data on a bind mount", "/data is a bind mount that bypasses the overlay"},
		"tmpfs":   {"data in memory", "/data is a tmpfs without a disk"},
	},
	"seccomp": {
		"default":    {"seccomp filter", "each system call runs the filter first"},
		"unconfined": {"absence of the seccomp filter", "no system call runs a filter"},
	},
	"network": {
		"host":   {"host's network", "packets pass only the host's network stack"},
		"none":   {"network namespace", "the instance has a separate loopback and no other network"},
		"bridge": {"network namespace and bridge", "packets to and from the instance pass a veth pair and a bridge, packets inside a separate loopback"},
		"nat":    {"NAT", "addresses of outgoing packets are translated"},
		"user":   {"user-mode network", "a process forwards packets through sockets of the host"},
		"pasta":  {"user-mode network by pasta", "a process without a TCP of its own forwards packets through sockets of the host"},
	},
	"log": {
		"null":      {"direct log path", "output of the workload goes to tare directly"},
		"pipe":      {"log path through a process", "output of the workload passes a process"},
		"file":      {"log path through a process and a file", "a process writes the output of the workload to a file"},
		"json-file": {"log path as JSON", "a process writes each line of output to a file as JSON"},
	},
}

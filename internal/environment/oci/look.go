package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/linux/capability"
	"tare/internal/linux/cgroup"
)

// View is what the kernel shows to a process: what a file holds, or what a link
// leads to, by its path.
type View map[string]string

// Where a process sees what isolates it.
const (
	status    = "/proc/self/status"
	mountinfo = "/proc/self/mountinfo"
	uidMap    = "/proc/self/uid_map"
	netDev    = "/proc/self/net/dev"
	hostname  = "/proc/sys/kernel/hostname"
	bootID    = "/proc/sys/kernel/random/boot_id"
	ns        = "/proc/self/ns/"
)

var looked = []string{status, mountinfo, uidMap, netDev, hostname, bootID,
	ns + "pid", ns + "mnt", ns + "ipc", ns + "uts", ns + "cgroup", ns + "user", ns + "time", ns + "net"}

// look finds out what the runtime made of the options, from inside.
func (i *instance) look(ctx context.Context, l environment.Limits) error {
	i.pid = i.firstProcess()
	if i.environ.runtime.hides() != "" && i.pid > 0 {
		// The runtime could not put it into the hierarchy that it did not see.
		if err := i.group.Add(i.pid); err != nil {
			return err
		}
	}
	var out, errs bytes.Buffer
	exit, err := i.agent.Run(ctx, agent.Command{Argv: append([]string{agentInside, "look"}, looked...), Stdout: &out, Stderr: &errs})
	if err != nil {
		return fmt.Errorf("looking at the isolation from inside: %w", err)
	}
	inside := View{}
	if err := json.Unmarshal(out.Bytes(), &inside); err != nil || !exit.OK() {
		return fmt.Errorf("looking at the isolation from inside: the agent's second process (tare-agent look) %s", failure(exit, errs.String()))
	}
	o := &i.environ.options
	i.notes = append(i.notes, Ignored(o, inside, i.beside(), i.environ.held)...)
	if n := len(l.Cores); n > 0 && o.Limits && i.agent.Hello().CPUs != n {
		i.notes = append(i.notes, fmt.Sprintf("the instance sees %d CPUs where it may use %d cores (%s)", i.agent.Hello().CPUs, n, cgroup.FormatCores(l.Cores)))
	}
	if !o.Limits && !reflect.ValueOf(l).IsZero() {
		i.notes = append(i.notes, "the study's limits are not put on the instance (cgroup_limits: false)")
	}
	if o.gvisor() {
		i.notes = append(i.notes, GvisorNotes...)
	}
	if o.Log != "null" {
		i.notes = append(i.notes, fmt.Sprintf("all that the workloads print goes through a process of the log (%s), in the agent's framing", o.Log))
	}
	return nil
}

// failure is how a command ended and what it said, in one line: of a program
// written in Go that crashes, what comes before the empty line; the stacks of
// its threads come after.
func failure(exit agent.Exit, complaint string) string {
	how := fmt.Sprintf("ended with status %d", exit.Code)
	switch {
	case exit.TimedOut:
		how = "took too long"
	case exit.Signal != "":
		how = "was ended by " + exit.Signal
	}
	said, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n\n")
	line := []rune(strings.Join(strings.FieldsFunc(said, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
	const most = 200
	if len(line) > most {
		line = append([]rune("…"), line[len(line)-most:]...)
	}
	if len(line) == 0 {
		return how + " and said nothing of use"
	}
	return how + " and said: " + string(line)
}

// GvisorNotes hold wherever gVisor runs.
var GvisorNotes = []string{
	"gVisor keeps to itself which core a command inside is pinned to: on the host its threads run on any core of the instance",
	"gVisor's own memory and threads count towards the instance's limits",
}

// GvisorRoles are the roles of gVisor's processes, by their names. A stub runs
// the workload's own code.
var GvisorRoles = map[string]string{"runsc-sandbox": "sandbox", "runsc-gofer": "gofer", "exe": "stub"}

// beside is what the runtime had for itself, which an instance without a
// namespace of its own shares. The runtime is in tare's namespaces, but for the
// mounts.
func (i *instance) beside() View {
	v := View{}
	for _, path := range looked {
		at := path
		if path == ns+"mnt" {
			at = fmt.Sprintf("/proc/%d/ns/mnt", i.runtime.Pid)
		}
		if target, err := os.Readlink(at); err == nil {
			v[path] = target
		} else if text, err := os.ReadFile(at); err == nil {
			v[path] = string(text)
		}
	}
	return v
}

// Ignored says, a line each, what inside is not as the options ask for; host is
// what a process beside the instance sees, and held the capabilities that could
// be given.
func Ignored(o *Options, inside, host View, held []string) (notes []string) {
	note := func(key, format string, values ...any) {
		notes = append(notes, fmt.Sprintf("%s: the runtime %s did not do as asked: ", key, o.Runtime)+fmt.Sprintf(format, values...))
	}
	own := inside[bootID] != "" && inside[bootID] != host[bootID]
	for _, n := range []struct {
		name, file string
		asked      bool
		usual      bool // to be off takes somebody who wants it off
	}{
		{"pid", "pid", o.Namespaces.PID, true}, {"mount", "mnt", o.Namespaces.Mount, true}, {"ipc", "ipc", o.Namespaces.IPC, true},
		{"uts", "uts", o.Namespaces.UTS, true}, {"cgroup", "cgroup", o.Namespaces.Cgroup, true},
		{"user", "user", o.Namespaces.User, false}, {"time", "time", o.Namespaces.Time, false},
	} {
		key, theirs, ours := "namespaces."+n.name, inside[ns+n.file], host[ns+n.file]
		switch {
		case own && !n.asked && !n.usual:
		case own && !n.asked:
			note(key, "the instance has a kernel of its own, and with it all that this namespace would share")
		case theirs == "" && n.asked:
			note(key, "inside no such namespace is to be seen")
		case theirs != "" && theirs == ours && n.asked:
			note(key, "inside is the host's %s", theirs)
		case theirs != "" && theirs != ours && !n.asked:
			note(key, "inside is %s and beside it %s", theirs, ours)
		}
	}
	if theirs := inside[ns+"net"]; o.Network == "host" && !own && theirs != host[ns+"net"] {
		note("network", "inside is %s and beside it %s", theirs, host[ns+"net"])
	} else if o.Network != "host" && theirs != "" && theirs == host[ns+"net"] {
		note("network", "inside is the host's %s", theirs)
	}
	if mapped := !slices.Equal(strings.Fields(inside[uidMap]), strings.Fields(host[uidMap])); o.Namespaces.User != mapped && inside[uidMap] != "" && !own {
		note("namespaces.user", "the user ids inside are mapped by %q", strings.Join(strings.Fields(inside[uidMap]), " "))
	}
	notes = append(notes, rights(o, inside, own, held, note)...)
	filesystems(o, inside, note)
	return notes
}

// rights are what the process may do.
func rights(o *Options, inside View, own bool, held []string, note func(key, format string, values ...any)) (more []string) {
	filtered := field(inside[status], "Seccomp")
	switch {
	case o.Seccomp != "unconfined" && filtered != "2":
		note("seccomp", "inside no filter is in force (Seccomp: %q)", filtered)
	case o.Seccomp == "unconfined" && filtered == "2":
		note("seccomp", "inside a filter is in force")
	}
	// A kernel that does not print the line has no such thing.
	if got := field(inside[status], "NoNewPrivs"); (got == "1") != o.NoNewPrivs {
		note("no_new_privs", "inside it reads %q", got)
	}
	want, _ := capabilitiesOf(o.Capabilities, held)
	got, err := capability.Parse(field(inside[status], "CapEff"))
	if err != nil {
		note("capabilities", "inside %v", err)
	} else if lacks, has := without(want, got), without(got, want); len(lacks)+len(has) > 0 {
		note("capabilities", "inside are lacking %s and are too many %s", list(lacks), list(has))
	}
	if all, _ := capabilitiesOf(o.Capabilities, nil); len(all) > len(want) {
		more = append(more, "capabilities: this process does not hold itself, and could not give, "+list(without(all, want)))
	}
	return more
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func without(names, others []string) (rest []string) {
	for _, n := range names {
		if !slices.Contains(others, n) {
			rest = append(rest, n)
		}
	}
	return rest
}

// filesystems are what is mounted.
func filesystems(o *Options, inside View, note func(key, format string, values ...any)) {
	kinds, readOnly := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(inside[mountinfo]) {
		place, kind, ok := strings.Cut(line, " - ")
		fields, what := strings.Fields(place), strings.Fields(kind)
		if !ok || len(fields) < 6 || len(what) < 1 {
			continue
		}
		kinds[fields[4]], readOnly[fields[4]] = what[0], slices.Contains(strings.Split(fields[5], ","), "ro")
	}
	if o.Root == "overlay" && kinds["/"] != "overlay" && !o.gvisor() {
		note("root", "inside the root is a file system of the kind %q", kinds["/"])
	}
	if o.Root != "overlay" && kinds["/"] == "overlay" {
		note("root", "inside the root is an overlay")
	}
	if o.Root == "bind" && !readOnly["/"] {
		note("root", "inside the root can be written to")
	}
	// Of the paths, the one that every kernel has.
	if masked := readOnly["/proc/sys"]; masked != o.Masked {
		note("masked", "inside /proc/sys is read-only: %t", masked)
	}
	if _, bind := kinds["/data"]; bind != (o.Data != "overlay") {
		note("data", "inside /data is a mount of its own: %t", bind)
	}
}

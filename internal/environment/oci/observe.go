package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"tare/internal/agent"
	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/linux/capability"
	"tare/internal/linux/cgroup"
)

// View is what a process observes of its isolation: the contents of files and the
// targets of links, by path.
type View map[string]string

// Files and links that show the isolation of a process.
const (
	status    = "/proc/self/status"
	mountinfo = "/proc/self/mountinfo"
	uidMap    = "/proc/self/uid_map"
	netDev    = "/proc/self/net/dev"
	hostname  = "/proc/sys/kernel/hostname"
	bootID    = "/proc/sys/kernel/random/boot_id"
	ns        = "/proc/self/ns/"
)

var observedPaths = []string{status, mountinfo, uidMap, netDev, hostname, bootID,
	ns + "pid", ns + "mnt", ns + "ipc", ns + "uts", ns + "cgroup", ns + "user", ns + "time", ns + "net"}

// observe compares the isolation inside with the options and notes the differences.
func (i *instance) observe(ctx context.Context, l environment.Limits) error {
	i.pid = i.firstProcess()
	if i.runtime != nil && i.environ.runtime.hiddenHierarchy() != "" && i.pid > 0 {
		// The runtime could not add it to the hierarchy that was hidden from it.
		if err := i.group.Add(i.pid); err != nil {
			return err
		}
	}
	stdout, stderr := bounded.Buffer{Limit: bounded.Line}, bounded.Buffer{Limit: bounded.Line}
	exit, err := i.Client.Run(ctx, agent.Command{Argv: append([]string{agentInside, "look"}, observedPaths...), Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		return fmt.Errorf("observing the isolation inside: %w", err)
	}
	inside := View{}
	if err := json.Unmarshal(stdout.Bytes(), &inside); err != nil || !exit.OK() {
		return fmt.Errorf("observing the isolation inside: the agent's second process (tare-agent look) %s", failure(exit, string(stderr.Bytes())))
	}
	o := &i.environ.options
	i.Findings = append(i.Findings, Ignored(o, inside, i.hostView(), i.environ.held)...)
	if n := len(l.Cores); n > 0 && o.Limits && i.Client.Hello().CPUs != n {
		i.Findings = append(i.Findings, fmt.Sprintf("the instance sees %d CPUs, but may use only %d cores (%s)", i.Client.Hello().CPUs, n, cgroup.FormatCores(l.Cores)))
	}
	if !o.Limits && !reflect.ValueOf(l).IsZero() {
		i.Findings = append(i.Findings, "the study's limits are not set on the instance (cgroup_limits: false)")
	}
	if o.gvisor() {
		i.Findings = append(i.Findings, GvisorNotes...)
		if o.Gvisor.Netstack && o.Network != "host" {
			i.Findings = append(i.Findings, LinuxPorts(ctx, i.Client)...)
		}
	}
	if o.Log != "null" {
		i.Findings = append(i.Findings, fmt.Sprintf("the output of the workloads passes the logger process (log: %s), in the agent's framing", o.Log))
	}
	return nil
}

// failure is the exit and the standard error of a command in one line: of a crashed Go
// program what comes before the empty line, after which come the stacks.
func failure(exit agent.Exit, stderr string) string {
	how := fmt.Sprintf("exited with status %d", exit.Code)
	switch {
	case exit.TimedOut:
		how = "timed out"
	case exit.Signal != "":
		how = "was killed by " + exit.Signal
	}
	message, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n\n")
	line := []rune(strings.Join(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
	const maxRunes = 200
	if len(line) > maxRunes {
		line = append([]rune("…"), line[len(line)-maxRunes:]...)
	}
	if len(line) == 0 {
		return how + " without a message"
	}
	return how + ": " + string(line)
}

// GvisorNotes apply wherever gVisor runs.
var GvisorNotes = []string{
	"gVisor does not apply CPU affinity set inside to its threads on the host: they run on any core of the instance",
	"gVisor's own memory and threads count towards the instance's limits",
}

// LinuxPorts gives connections in gVisor's network stack the ports that Linux gives them,
// where that is possible. gVisor's own begin at 16000, and a connection that was closed
// keeps its port for a minute: no server can listen there meanwhile.
func LinuxPorts(ctx context.Context, c *agent.Client) (notes []string) {
	if err := c.WriteFile(ctx, "/proc/sys/net/ipv4/ip_local_port_range", 0, []byte("32768 60999\n")); err != nil {
		notes = append(notes, fmt.Sprintf("gVisor gives connections any port from 16000 on, also that of a server which starts later: setting others: %v", err))
	}
	return notes
}

// GvisorRoles are the roles of gVisor's processes by name. A stub executes the
// workload's code.
var GvisorRoles = map[string]string{"runsc-sandbox": "sandbox", "runsc-gofer": "gofer", "exe": "stub"}

// hostView is the view of a process on the host: what an instance without a
// namespace shares. The runtime is in tare's namespaces, except for the mounts.
func (i *instance) hostView() View {
	v := View{}
	for _, path := range observedPaths {
		at := path
		if path == ns+"mnt" && i.runtime != nil {
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

// Ignored returns a note for each option that is not in force inside. host is the view
// of a process on the host, and held are the capabilities that tare itself has and can
// give.
func Ignored(o *Options, inside, host View, held []string) (notes []string) {
	note := func(key, format string, values ...any) {
		notes = append(notes, fmt.Sprintf("%s: the runtime %s ignored the option: ", key, o.Runtime)+fmt.Sprintf(format, values...))
	}
	own := inside[bootID] != "" && inside[bootID] != host[bootID]
	for _, n := range []struct {
		name, file string
		asked      bool
		usual      bool // on by default
	}{
		{"pid", "pid", o.Namespaces.PID, true}, {"mount", "mnt", o.Namespaces.Mount, true}, {"ipc", "ipc", o.Namespaces.IPC, true},
		{"uts", "uts", o.Namespaces.UTS, true}, {"cgroup", "cgroup", o.Namespaces.Cgroup, true},
		{"user", "user", o.Namespaces.User, false}, {"time", "time", o.Namespaces.Time, false},
	} {
		key, theirs, ours := "namespaces."+n.name, inside[ns+n.file], host[ns+n.file]
		switch {
		case own && !n.asked && !n.usual:
		case own && !n.asked:
			note(key, "the instance has a separate kernel, so it shares nothing that this namespace isolates")
		case theirs == "" && n.asked:
			note(key, "no such namespace is visible inside")
		case theirs != "" && theirs == ours && n.asked:
			note(key, "inside is the host's %s", theirs)
		case theirs != "" && theirs != ours && !n.asked:
			note(key, "inside is %s and on the host %s", theirs, ours)
		}
	}
	if theirs := inside[ns+"net"]; o.Network == "host" && !own && theirs != host[ns+"net"] {
		note("network", "inside is %s and on the host %s", theirs, host[ns+"net"])
	} else if o.Network != "host" && theirs != "" && theirs == host[ns+"net"] {
		note("network", "inside is the host's %s", theirs)
	}
	if mapped := !slices.Equal(strings.Fields(inside[uidMap]), strings.Fields(host[uidMap])); o.Namespaces.User != mapped && inside[uidMap] != "" && !own {
		note("namespaces.user", "the user ids inside are mapped by %q", strings.Join(strings.Fields(inside[uidMap]), " "))
	}
	notes = append(notes, checkPrivileges(o, inside, held, note)...)
	checkMounts(o, inside, note)
	return notes
}

// checkPrivileges notes differences of seccomp, no_new_privs and capabilities.
func checkPrivileges(o *Options, inside View, held []string, note func(key, format string, values ...any)) (more []string) {
	filtered := field(inside[status], "Seccomp")
	switch {
	case o.Seccomp != "unconfined" && filtered != "2":
		note("seccomp", "no filter is in force inside (Seccomp: %q)", filtered)
	case o.Seccomp == "unconfined" && filtered == "2":
		note("seccomp", "a filter is in force inside")
	}
	// A kernel without the line does not have the flag.
	if got := field(inside[status], "NoNewPrivs"); (got == "1") != o.NoNewPrivs {
		note("no_new_privs", "inside it reads %q", got)
	}
	want, _ := CapabilitiesOf(o.Capabilities, held)
	got, err := capability.Parse(field(inside[status], "CapEff"))
	if err != nil {
		note("capabilities", "inside %v", err)
	} else if lacks, has := without(want, got), without(got, want); len(lacks)+len(has) > 0 {
		note("capabilities", "missing inside: %s; not expected inside: %s", list(lacks), list(has))
	}
	if all, _ := CapabilitiesOf(o.Capabilities, nil); len(all) > len(want) {
		more = append(more, "capabilities: not granted, since this process does not have them: "+list(without(all, want)))
	}
	return more
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func without(names, others []string) []string {
	return lists.Filter(names, func(n string) bool { return !slices.Contains(others, n) })
}

// checkMounts notes differences of what is mounted.
func checkMounts(o *Options, inside View, note func(key, format string, values ...any)) {
	kinds, readOnly := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(inside[mountinfo]) {
		mount, filesystem, ok := strings.Cut(line, " - ")
		fields, what := strings.Fields(mount), strings.Fields(filesystem)
		if !ok || len(fields) < 6 || len(what) < 1 {
			continue
		}
		kinds[fields[4]], readOnly[fields[4]] = what[0], slices.Contains(strings.Split(fields[5], ","), "ro")
	}
	if o.Root == "overlay" && kinds["/"] != "overlay" && !o.gvisor() {
		note("root", "the root inside is a file system of type %q", kinds["/"])
	}
	if o.Root != "overlay" && kinds["/"] == "overlay" {
		note("root", "the root inside is an overlay")
	}
	if o.Root == "bind" && !readOnly["/"] {
		note("root", "the root inside is writable")
	}
	// /proc/sys stands for all paths: every kernel has it.
	if masked := readOnly["/proc/sys"]; masked != o.Masked {
		note("masked", "inside, /proc/sys is read-only: %t", masked)
	}
	if _, bind := kinds["/data"]; bind != (o.Data != "overlay") {
		note("data", "inside, /data is a separate mount: %t", bind)
	}
}

package fingerprint

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/agent/observe"
	"tare/internal/linux/capability"
	"tare/internal/parity"
)

// ulimits by their names in /proc/PID/limits.
var ulimits = map[string]string{
	"Max open files": "nofile", "Max processes": "nproc", "Max locked memory": "memlock", "Max stack size": "stack",
	"Max core file size": "core", "Max address space": "as", "Max file size": "fsize", "Max data size": "data",
	"Max pending signals": "sigpending", "Max msgqueue size": "msgqueue", "Max nice priority": "nice",
	"Max realtime priority": "rtprio", "Max realtime timeout": "rttime", "Max cpu time": "cpu",
	"Max resident set": "rss", "Max file locks": "locks",
}

// own lists the variables that a shell sets itself.
var own = []string{"_", "SHLVL", "PWD", "OLDPWD"}

// process adds the facts of the first server; without a server, those of a
// command.
func (r *reading) process() {
	name := self
	if len(r.Servers) > 0 {
		name = r.Servers[0].Name
	}
	p := r.Processes[name]
	field := func(key string) string { return statusField(p.Texts["status"], key) }
	says := func(key, name, value string) {
		if value == "" {
			r.missing(key, parity.Inside, "/proc/PID/status has no line %s", name)
		} else {
			r.inside(key, value)
		}
	}
	uid, gid := strings.Fields(field("Uid")), strings.Fields(field("Gid"))
	if len(uid) > 1 && len(gid) > 1 {
		r.inside("process.user", uid[1]+":"+gid[1])
	} else {
		says("process.user", "Uid", "")
	}
	says("cpu.allowed", "Cpus_allowed_list", field("Cpus_allowed_list"))
	says("seccomp.mode", "Seccomp", map[string]string{"0": "off", "1": "strict", "2": "filter"}[field("Seccomp")])
	says("seccomp.filters", "Seccomp_filters", field("Seccomp_filters"))
	says("speculation.store_bypass", "Speculation_Store_Bypass", field("Speculation_Store_Bypass"))
	says("speculation.indirect_branch", "SpeculationIndirectBranch", field("SpeculationIndirectBranch"))
	says("no_new_privileges", "NoNewPrivs", map[string]string{"0": "off", "1": "on"}[field("NoNewPrivs")])
	says("capabilities.effective", "CapEff", r.capabilities(field("CapEff")))
	says("capabilities.bounding", "CapBnd", r.capabilities(field("CapBnd")))
	r.scheduling(name, p)
	r.ulimits(name, p)
	r.processText("process.oom", name, "oom_score_adj")
	r.processText("user.map", name, "uid_map")
	r.inside("lsm.profile", cmp.Or(confinement(p.Texts["attr/current"]), parity.None))
	r.namespaces(name, p)
	r.variables(name, p)
}

// confinement is what /proc/PID/attr/current names: a profile of AppArmor, or a label of
// SELinux, which ends with a NUL. Engines draw two categories for each container.
func confinement(text string) string {
	return categories.ReplaceAllString(strings.Trim(text, "\x00 \n"), "$1:c*,c*")
}

func statusField(status, key string) string {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// processText adds a file of /proc/PID as one fact.
func (r *reading) processText(key, name, file string) {
	if text, ok := r.Processes[name].Texts[file]; ok {
		r.inside(key, strings.Join(strings.Fields(text), " "))
		return
	}
	r.missing(key, parity.Inside, "/proc/PID/%s: %s", file, r.why(name+": "+file))
}

// capabilities returns the names in a capability set, which is in hexadecimal.
func (r *reading) capabilities(hex string) string {
	set, err := capability.Parse(hex)
	if err != nil {
		return ""
	}
	last, err := strconv.Atoi(strings.TrimSpace(r.Texts[lastCap]))
	if err != nil {
		last = len(capability.Names) - 1
	}
	switch {
	case len(set) == 0:
		return parity.None
	case len(set) > last:
		return "all"
	}
	slices.Sort(set)
	return strings.ToLower(strings.ReplaceAll(strings.Join(set, ","), "CAP_", ""))
}

// policies are the scheduling policies by number.
var policies = map[string]string{"0": "other", "1": "fifo", "2": "rr", "3": "batch", "5": "idle", "6": "deadline", "7": "ext"}

// scheduling parses /proc/PID/stat: the nice value is field 19, the policy field
// 41 (proc_pid_stat(5)).
func (r *reading) scheduling(name string, p observe.Process) {
	stat := p.Texts["stat"]
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // from the third on
	if len(fields) < 39 {
		for _, key := range []string{"process.priority", "process.policy"} {
			r.missing(key, parity.Inside, "/proc/PID/stat: %s", r.why(name+": stat"))
		}
		return
	}
	r.inside("process.priority", fields[16])
	r.inside("process.policy", policies[fields[38]])
}

func (r *reading) ulimits(name string, p observe.Process) {
	for full, short := range ulimits {
		values := []string(nil)
		for line := range strings.Lines(p.Texts["limits"]) {
			if rest, ok := strings.CutPrefix(line, full+" "); ok {
				values = strings.Fields(rest)
			}
		}
		for n, end := range []string{"soft", "hard"} {
			key := "ulimit[" + short + "]." + end
			if len(values) > n {
				value := values[n]
				if !r.outer.Shared && (short == "nproc" || short == "sigpending") {
					value = about(value) // which follows from kernel.threads-max
				}
				r.inside(key, value)
			} else {
				r.missing(key, parity.Inside, "/proc/PID/limits: %s", r.why(name+": limits"))
			}
		}
	}
}

func (r *reading) namespaces(name string, p observe.Process) {
	for _, space := range []string{"pid", "mnt", "net", "ipc", "uts", "cgroup", "user", "time"} {
		key, theirs := "namespace["+space+"]", p.Texts["ns/"+space]
		if space == "net" {
			// /proc of another user's server has no link; it is in the same
			// namespace as the agent.
			theirs = cmp.Or(theirs, r.Filter.Namespace)
		}
		switch {
		case r.outer.Elsewhere != "":
			r.missing(key, parity.Inside, "%s, and so are the namespaces to compare with", r.outer.Elsewhere)
		case !r.outer.Shared:
			r.inside(key, parity.OwnKernel)
		case theirs == "":
			r.missing(key, parity.Inside, "/proc/PID/ns/%s: %s", space, r.why(name+": ns/"+space))
		case theirs == r.outer.Host.Namespaces[space]:
			r.inside(key, parity.Hosts)
		default:
			r.inside(key, parity.Own)
		}
	}
}

func (r *reading) variables(name string, p observe.Process) {
	environ, known := p.Texts["environ"]
	if !known {
		for _, key := range []string{"locale", "environment[?]"} {
			r.missing(key, parity.Inside, "/proc/PID/environ: %s", r.why(name+": environ"))
		}
		return
	}
	// A server that sets its process title overwrites its environment: use that
	// of any command.
	if !strings.Contains(environ, "PATH=") && r.Texts[variables] != "" {
		environ = r.Texts[variables]
	}
	values := map[string]string{}
	for _, entry := range strings.Split(environ, "\x00") {
		key, value, ok := strings.Cut(entry, "=")
		if ok && key != "" && !strings.ContainsAny(key, "[]") && !slices.Contains(own, key) {
			values[key] = value
			r.inside("environment["+key+"]", value)
		}
	}
	locale := "POSIX"
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if values[key] != "" {
			locale = values[key]
			break
		}
	}
	r.inside("locale", locale)
}

// logs adds the targets of a server's standard output and error, and its open log
// files.
func (r *reading) logs(server string, p observe.Process) {
	channel := ""
	for n, key := range []string{1: "log[" + server + "].stdout", 2: "log[" + server + "].stderr"} {
		if key == "" {
			continue
		}
		target, open := "", false
		for _, f := range p.Files {
			if f.Number == n {
				target, open = f.Target, true
			}
		}
		if n == 1 {
			channel = target
		}
		switch {
		case !open && r.Absent[server+": fd"] != "":
			r.missing(key, parity.Inside, "/proc/PID/fd: %s", r.Absent[server+": fd"])
		case !open || target == "/dev/null":
			r.inside(key, parity.Nowhere)
		case piped(target):
			r.inside(key, parity.ToTheAgent)
		default:
			r.inside(key, r.fileOn(target))
		}
	}
	if why := r.Absent[server+": fd"]; why != "" {
		r.missing("log["+server+"].file[?]", parity.Inside, "/proc/PID/fd: %s", why)
	}
	for _, f := range p.Files {
		switch {
		case f.Number < 3:
		case piped(f.Target) && f.Target == channel:
			r.inside("log["+server+"].file[stdout]", parity.ToTheAgent)
		case logFile(f):
			r.inside("log["+server+"].file["+r.plain(f.Target)+"]", r.on(f.Target).kind)
		}
	}
}

func piped(target string) bool {
	return strings.HasPrefix(target, "pipe:") || strings.HasPrefix(target, "host:")
}

func (r *reading) fileOn(path string) string {
	if !strings.HasPrefix(path, "/") {
		kind, _, _ := strings.Cut(path, ":")
		return kind
	}
	return fmt.Sprintf("file %s on %s", path, r.on(path).kind)
}

// logFile reports whether a file that is open for writing is a log, by its name or
// that of its directory.
func logFile(f observe.File) bool {
	flags, err := strconv.ParseInt(f.Flags, 8, 64)
	if err == nil && flags&3 == 0 || !strings.HasPrefix(f.Target, "/") || strings.HasPrefix(f.Target, "/dev/") {
		return false
	}
	switch filepath.Ext(f.Target) {
	case ".log", ".err", ".out":
		return true
	}
	directories := strings.Split(filepath.Dir(f.Target), "/")
	return slices.Contains(directories, "log") || slices.Contains(directories, "logs")
}

package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/linux/private"
)

// requiresEngine lists what must hold for containers with these options.
func requiresEngine(b brand, o Options) []environment.Requirement {
	list := []environment.Requirement{{
		What:  fmt.Sprintf("a %s that answers at %s", b.name, o.Socket),
		Check: func(ctx context.Context) environment.Finding { return b.answers(ctx, o.Socket) },
	}}
	if o.Runtime != "" {
		list = append(list, environment.Requirement{
			What:  fmt.Sprintf("the runtime %s in the %s", o.Runtime, b.name),
			Check: func(ctx context.Context) environment.Finding { return b.knows(ctx, o.Socket, o.Runtime) },
		})
	}
	if blockdevice.Named(o.Data) {
		list = append(list, blockdevice.Requirement(o.Data))
	}
	if o.Log != "none" {
		list = append(list, environment.Requirement{
			What:  fmt.Sprintf("the log driver %s in the %s", o.Log, b.name),
			Check: func(ctx context.Context) environment.Finding { return b.logs(ctx, o.Socket, o.Log) },
		})
	}
	return list
}

func missing(fix environment.Fix, reason string, args ...any) environment.Finding {
	return environment.Lacks(fmt.Sprintf(reason, args...), fix)
}

func (b brand) answers(ctx context.Context, host string) environment.Finding {
	e, err := b.at(host)
	if err != nil {
		return missing(environment.Fix{}, "%v", err)
	}
	defer e.api.Close()
	if err := e.unreachable(ctx); err != nil {
		return missing(e.fix(err), "%v", err)
	}
	if _, err := e.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); errors.Is(err, context.DeadlineExceeded) {
		return missing(e.fix(errSilent), "%v", e.explain("greeting it", err))
	} else if err != nil {
		return missing(environment.Advice("install a release of the engine that speaks Docker API "+minAPIVersion+" or newer"), "the %s at %s: %v", b.name, host, err)
	}
	e.replies = newReplies() // a check asks anew
	info, err := e.info(ctx)
	if err != nil {
		return missing(e.fix(err), "%v", err)
	}
	repliesOf.Store(host, e.replies)
	found := groups(info, e.rootless(info), environment.Finding{State: environment.Usable,
		Reason: fmt.Sprintf("release %s, API %s, default runtime %s", info.ServerVersion, e.api.ClientVersion(), info.DefaultRuntime)})
	if b.name == thePodman.name && !e.rootless(info) && netavark() && bridgesAreFiltered() && dropsBetween(ctx) {
		found.State = environment.Caveat
		found.Reason += "; the policy of the chain FORWARD is DROP, as Docker sets it, and none of its rules is Podman's: packets between containers may be dropped"
		found.Fix = environment.Advice("if a server in another container does not answer: iptables -I DOCKER-USER -i podman+ -o podman+ -j ACCEPT")
	}
	return found
}

// netavark says whether netavark makes Podman's networks. Newer releases of it have their
// rules in nftables, and an accept there does not override a drop by iptables.
func netavark() bool {
	return slices.ContainsFunc([]string{"/usr/lib", "/usr/libexec", "/usr/local/lib", "/usr/local/libexec"}, func(prefix string) bool {
		_, err := os.Stat(prefix + "/podman/netavark")
		return err == nil
	})
}

// bridgesAreFiltered says whether packets pass iptables on a bridge too, as Docker has it.
func bridgesAreFiltered() bool {
	text, err := os.ReadFile("/proc/sys/net/bridge/bridge-nf-call-iptables")
	return err == nil && strings.TrimSpace(string(text)) == "1"
}

// dropsBetween says whether iptables drops what Podman's containers send to each other.
func dropsBetween(ctx context.Context) bool {
	rules, err := exec.CommandContext(ctx, "iptables", "-S").Output()
	theirs := func(name string) bool { return strings.Contains(string(rules), name) }
	return err == nil && theirs("-P FORWARD DROP") && !slices.ContainsFunc([]string{"podman", "NETAVARK", "CNI-FORWARD"}, theirs)
}

// rootless reports whether the engine runs as an ordinary user. Docker reports it;
// Podman does not, but its socket belongs to the user.
func (e *engine) rootless(info system.Info) bool {
	return slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return strings.Contains(o, "rootless") }) || e.user() != 0
}

// user is the one whose socket it is: the engine reaches files with that user's
// permissions.
func (e *engine) user() int {
	var socket unix.Stat_t
	_ = unix.Stat(strings.TrimPrefix(e.host, "unix://"), &socket)
	return int(socket.Uid)
}

// admit lets the engine of another user come to an instance's directory and to the
// agent's, which are closed to all others.
func (e *engine) admit(home, instance, agent string) error {
	if uid := e.user(); uid != 0 && uid != os.Geteuid() {
		owner := filepath.Dir(instance)
		return private.Admit(uid, home, agent, filepath.Dir(owner), owner, instance)
	}
	return nil
}

// groups adds to a finding how the engine makes cgroups, and what that means for
// limits.
func groups(info system.Info, rootless bool, f environment.Finding) environment.Finding {
	f.Reason += fmt.Sprintf(", cgroup v%s by %s", info.CgroupVersion, info.CgroupDriver)
	switch {
	case rootless && info.CgroupVersion != "2":
		f.State = environment.Caveat
		f.Reason += "; rootless on cgroup v1 it enforces no limits: a trial with limits fails"
		f.Fix = environment.Advice("use an engine that runs as root, or a machine with cgroup v2 alone")
	case rootless:
		f.State = environment.Caveat
		f.Reason += "; rootless it limits only what systemd delegates to its user, by default memory and processes: a trial with other limits fails"
		f.Fix = environment.Advice("for CPUs, cores and io: in /etc/systemd/system/user@.service.d/delegate.conf, below [Service], Delegate=cpu cpuset io memory pids; then systemctl daemon-reload, and log in again")
	case info.CgroupDriver == "systemd":
		f.Reason += ": containers are below system.slice, and get another share of a busy machine's CPUs than the cgroups that tare makes"
	case info.CgroupDriver == "none":
		f.State = environment.Caveat
		f.Reason += "; it enforces no limits: a trial with limits fails"
	}
	return f
}

// ask checks something in what the engine says of itself.
func (b brand) ask(ctx context.Context, host string, check func(system.Info) environment.Finding) environment.Finding {
	e, err := b.at(host)
	if err != nil {
		return missing(environment.Fix{}, "%v", err)
	}
	defer e.api.Close()
	info, err := e.info(ctx)
	if err != nil {
		return missing(e.fix(err), "%v", err)
	}
	return check(info)
}

func (b brand) knows(ctx context.Context, host, runtime string) environment.Finding {
	return b.ask(ctx, host, func(info system.Info) environment.Finding { return b.findRuntime(info, runtime) })
}

func (b brand) findRuntime(info system.Info, runtime string) environment.Finding {
	found, ok := info.Runtimes[runtime]
	if program := oci.Shim(runtime); !ok && program != "" && b.name == theDocker.name {
		return findShim(info, runtime, program)
	}
	if !ok {
		return missing(b.addRuntime(runtime), "the %s has no runtime %s, only %s", b.name, runtime, strings.Join(runtimes(info), ", "))
	}
	// Podman lists runtimes that are not installed.
	if found.Path != "" {
		path, err := exec.LookPath(found.Path)
		if err != nil {
			return missing(b.addRuntime(runtime), "the %s looks for the runtime %s at %s: %v", b.name, runtime, found.Path, err)
		}
		if isRunsc(runtime) {
			return oci.CheckRunsc(path)
		}
	}
	return environment.Finding{State: environment.Usable}
}

// findShim looks for a shim, which Docker needs no configuration for.
func findShim(info system.Info, runtime, program string) environment.Finding {
	const since = 23
	if major, err := strconv.Atoi(strings.Split(info.ServerVersion, ".")[0]); err == nil && major < since {
		return missing(environment.Advice(fmt.Sprintf("use Docker %d.0 or newer", since)), "Docker %s does not start the shim %s by its name %s", info.ServerVersion, program, runtime)
	}
	if !installed(program) {
		return missing(environment.Advice("install "+program+" in a directory of dockerd's PATH, such as /usr/local/bin"), "the runtime %s is the program %s, which is not installed", runtime, program)
	}
	return environment.Works("")
}

// addRuntime is how to add a runtime to an engine.
func (b brand) addRuntime(runtime string) environment.Fix {
	path, err := exec.LookPath(runtime)
	if err != nil {
		path = "/usr/local/bin/" + runtime
	}
	var fix environment.Fix
	if isRunsc(runtime) && err != nil {
		fix = oci.InstallRunsc
		fix.Text = "; first " + fix.Text
	}
	if b.name == thePodman.name {
		fix.Text = fmt.Sprintf("add %s = [%q] below [engine.runtimes] in /etc/containers/containers.conf and restart the service%s", runtime, path, fix.Text)
		return fix
	}
	fix.Text = fmt.Sprintf(`put {"runtimes": {%q: {"path": %q}}} into /etc/docker/daemon.json and run sudo systemctl restart docker (or start dockerd with --add-runtime %s=%s)%s`,
		runtime, path, runtime, path, fix.Text)
	return fix
}

func (b brand) logs(ctx context.Context, host, driver string) environment.Finding {
	return b.ask(ctx, host, func(info system.Info) environment.Finding {
		if !slices.Contains(info.Plugins.Log, driver) {
			return missing(environment.Advice("choose a driver that it has"), "the %s has no log driver %s, only %s", b.name, driver, strings.Join(info.Plugins.Log, ", "))
		}
		return environment.Works("")
	})
}

// runtime is the program behind the name of a runtime of an engine, "" being its
// default one, and the arguments that the engine gives it.
func (b brand) runtime(ctx context.Context, socket, name string) (program string, arguments []string, err error) {
	e, err := b.at(socket)
	if err != nil {
		return "", nil, err
	}
	defer e.api.Close()
	info, err := e.info(ctx)
	if err != nil {
		return "", nil, err
	}
	name = cmp.Or(name, info.DefaultRuntime)
	found, known := info.Runtimes[name]
	if program := oci.Shim(name); !known && program != "" {
		return "", nil, fmt.Errorf("the runtime %s is the shim %s, which runs a container under containerd alone", name, program)
	}
	if !known {
		return "", nil, fmt.Errorf("the %s at %s has no runtime %q, only %s", b.name, socket, name, strings.Join(runtimes(info), ", "))
	}
	if found.Path == "" { // a shim of containerd, which finds the program
		return name, found.Args, nil
	}
	return found.Path, found.Args, nil
}

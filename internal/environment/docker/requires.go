package docker

import (
	"context"
	"debug/elf"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/moby/moby/client"

	"tare/internal/environment"
)

// requiresEngine lists what must hold for containers with these options.
func requiresEngine(b brand, o Options) []environment.Requirement {
	list := []environment.Requirement{{
		What:  fmt.Sprintf("a %s that answers at %s", b.name, o.Host),
		Check: func(ctx context.Context) environment.Finding { return b.answers(ctx, o.Host) },
	}}
	if o.Runtime != "" {
		list = append(list, environment.Requirement{
			What:  fmt.Sprintf("the runtime %s in the %s", o.Runtime, b.name),
			Check: func(ctx context.Context) environment.Finding { return b.knows(ctx, o.Host, o.Runtime) },
		})
	}
	if o.Log != "none" {
		list = append(list, environment.Requirement{
			What:  fmt.Sprintf("the log driver %s in the %s", o.Log, b.name),
			Check: func(ctx context.Context) environment.Finding { return b.logs(ctx, o.Host, o.Log) },
		})
	}
	return list
}

func missing(mend, reason string, args ...any) environment.Finding {
	return environment.Finding{State: environment.Missing, Reason: fmt.Sprintf(reason, args...), Mend: mend}
}

func (b brand) answers(ctx context.Context, host string) environment.Finding {
	e, err := b.at(host)
	if err != nil {
		return missing("", "%v", err)
	}
	defer e.api.Close()
	if err := e.unreachable(ctx); err != nil {
		return missing(b.start, "%v", err)
	}
	if _, err := e.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return missing("install a release of the engine that speaks Docker API "+oldest+" or newer", "the %s at %s: %v", b.name, host, err)
	}
	info, err := e.info(ctx)
	if err != nil {
		return missing(b.start, "%v", err)
	}
	return environment.Finding{State: environment.Usable,
		Reason: fmt.Sprintf("release %s, API %s, default runtime %s", info.ServerVersion, e.api.ClientVersion(), info.DefaultRuntime)}
}

func (b brand) knows(ctx context.Context, host, runtime string) environment.Finding {
	e, err := b.at(host)
	if err != nil {
		return missing("", "%v", err)
	}
	defer e.api.Close()
	info, err := e.info(ctx)
	if err != nil {
		return missing(b.start, "%v", err)
	}
	found, ok := info.Runtimes[runtime]
	if !ok {
		return missing(b.addRuntime(runtime), "the %s knows no runtime %s, only %s", b.name, runtime, strings.Join(runtimes(info), ", "))
	}
	// Podman lists every runtime that it has heard of.
	if found.Path != "" {
		path, err := exec.LookPath(found.Path)
		if err != nil {
			return missing(b.addRuntime(runtime), "the %s looks for the runtime %s at %s: %v", b.name, runtime, found.Path, err)
		}
		if isRunsc(runtime) {
			return sound(path)
		}
	}
	return environment.Finding{State: environment.Usable}
}

// addRuntime is how a runtime is made known.
func (b brand) addRuntime(runtime string) string {
	path, err := exec.LookPath(runtime)
	if err != nil {
		path = "/usr/local/bin/" + runtime
	}
	hint := ""
	if isRunsc(runtime) && err != nil {
		hint = "; first install runsc: scripts/install-runsc.sh /usr/local/bin"
	}
	if b.name == thePodman.name {
		return fmt.Sprintf("add %s = [%q] below [engine.runtimes] in /etc/containers/containers.conf and restart the service%s", runtime, path, hint)
	}
	return fmt.Sprintf(`put {"runtimes": {%q: {"path": %q}}} into /etc/docker/daemon.json and run sudo systemctl restart docker (or start dockerd with --add-runtime %s=%s)%s`,
		runtime, path, runtime, path, hint)
}

func (b brand) logs(ctx context.Context, host, driver string) environment.Finding {
	e, err := b.at(host)
	if err != nil {
		return missing("", "%v", err)
	}
	defer e.api.Close()
	info, err := e.info(ctx)
	if err != nil {
		return missing(b.start, "%v", err)
	}
	if !slices.Contains(info.Plugins.Log, driver) {
		return missing("choose a driver that it has", "the %s has no log driver %s, only %s", b.name, driver, strings.Join(info.Plugins.Log, ", "))
	}
	return environment.Finding{State: environment.Usable}
}

// sound says whether a runsc program can run at all: the sandbox executes it
// again from within an empty root, where no loader is.
func sound(path string) environment.Finding {
	program, err := elf.Open(path)
	if err != nil {
		return missing("scripts/install-runsc.sh /usr/local/bin", "%s is no program: %v", path, err)
	}
	defer program.Close()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return missing("build it with CGO_ENABLED=0: scripts/install-runsc.sh /usr/local/bin",
				"%s is linked dynamically, and the sandbox cannot execute it again from within its empty root (\"cannot read client sync file\")", path)
		}
	}
	return environment.Finding{State: environment.Usable, Reason: strings.TrimSpace(path + " " + programVersion(context.Background(), path))}
}

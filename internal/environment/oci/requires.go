package oci

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/kvm"
	"tare/internal/linux/virtnet"
)

// InstallRunsc is how to install gVisor's runsc, with a package of tare and with its
// sources. Distributions have old releases, or none.
var InstallRunsc = environment.Fix{Code: environment.FixScript, Program: "runsc", Script: "scripts/install-runsc.sh", Arguments: "/usr/local/bin",
	Text: "install a current runsc as https://gvisor.dev/docs/user_guide/install/ says; with tare's sources: scripts/install-runsc.sh /usr/local/bin"}

// InstallRuntime is how to install the runtime of a name.
func InstallRuntime(name string) environment.Fix { return install(&Options{Runtime: name}) }

// install is how to install a runtime.
func install(o *Options) environment.Fix {
	switch o.family() {
	case "runsc":
		return InstallRunsc
	case "crun":
		return environment.Install("crun")
	case "kata":
		return environment.Advice("no distribution has its command line: see https://katacontainers.io")
	case "youki":
		return environment.Advice("no distribution has it: see https://github.com/youki-dev/youki/releases")
	}
	return environment.Install("runc")
}

// Shim is the program that containerd, and so Docker, executes for a runtime with a name such
// as io.containerd.kata.v2; "" for a name of another form (BinaryName of containerd's
// pkg/shim).
func Shim(runtime string) string {
	parts := strings.Split(runtime, ".")
	if len(parts) < 2 || slices.Contains(parts[len(parts)-2:], "") || strings.ContainsAny(runtime, "/ \t\n") {
		return ""
	}
	return "containerd-shim-" + strings.Join(parts[len(parts)-2:], "-")
}

func missing(fix environment.Fix, reason string, args ...any) environment.Finding {
	return environment.Lacks(fmt.Sprintf(reason, args...), fix)
}

// Requirements lists what must hold for these options.
func Requirements(o *Options) []environment.Requirement {
	list := []environment.Requirement{
		environment.Root("root, to run an OCI runtime", environment.AsRoot("")),
		{What: "the OCI runtime " + o.Runtime, Check: func(ctx context.Context) environment.Finding { return checkRuntime(ctx, o) }},
	}
	return append(list, ManagedRequirements(o)...)
}

// ManagedRequirements are those of the options besides root and the runtime's program.
func ManagedRequirements(o *Options) (list []environment.Requirement) {
	list = append(list, Platform(o.Platform)...)
	if o.Namespaces.Time {
		list = append(list, environment.Requirement{
			What:  "time namespaces in " + o.Runtime,
			Check: func(ctx context.Context) environment.Finding { return checkTime(ctx, o) },
		})
	}
	if filepath.IsAbs(o.Seccomp) {
		list = append(list, environment.Requirement{
			What: "the seccomp profile " + o.Seccomp,
			Check: func(context.Context) environment.Finding {
				return environment.Tested(checkProfile(o.Seccomp), environment.Advice("name a profile in Docker's format, or default"))
			},
		})
	}
	if blockdevice.Named(o.Data) {
		list = append(list, blockdevice.Requirement(o.Data))
	}
	if proxy := proxies[o.Network]; proxy != "" {
		pkg := map[string]string{"slirp4netns": "slirp4netns", "pasta": "passt"}[proxy]
		list = append(list, environment.Program(proxy+", the user-mode network", proxy, environment.Install(pkg)),
			environment.Requirement{What: "taps, for " + proxy, Check: func(context.Context) environment.Finding {
				_, err := os.Stat("/dev/net/tun")
				return environment.Tested(err, environment.Run("modprobe tun"))
			}})
	}
	if o.Network == "nat" {
		list = append(list, environment.Program("iptables, which adds the NAT rule", virtnet.Masquerader, environment.Install("iptables")))
	}
	return list
}

// Platform lists what a platform of gVisor requires. Where virtual CPUs are interpreted, a
// sandbox of the platform kvm never answers, and takes a core until its start is given up.
func Platform(name string) []environment.Requirement {
	if name != "kvm" || runtime.GOARCH != "amd64" { // for others there is no probe
		return nil
	}
	return []environment.Requirement{{What: "KVM at hardware speed, for gVisor's platform kvm", Check: func(ctx context.Context) environment.Finding {
		r := kvm.Probe(ctx, vmm.ProbeTimeout)
		if !r.Usable {
			return missing(environment.Advice("platform: systrap"), "%s", r.Reason)
		}
		return environment.Finding{State: environment.Usable, Reason: r.Reason}
	}}}
}

func checkRuntime(ctx context.Context, o *Options) environment.Finding {
	path, err := exec.LookPath(o.Runtime)
	if err != nil {
		return missing(install(o), "%v", err)
	}
	switch o.family() {
	case "runsc":
		return CheckRunsc(path)
	case "kata":
		if exec.CommandContext(ctx, path, "run", "--help").Run() != nil {
			return missing(environment.Advice("run Kata Containers 2 and newer through an engine: kind: docker with a runtime of that name"),
				"%s has no command run: since release 2 Kata Containers is a shim of containerd and runs no bundle", path)
		}
	}
	return environment.Finding{State: environment.Usable, Reason: strings.TrimSpace(path + " " + Version(ctx, path))}
}

// checkTime reads the runtime's features; a runtime without the command is too old for
// time namespaces.
func checkTime(ctx context.Context, o *Options) environment.Finding {
	if o.gvisor() {
		return missing(environment.Advice("namespaces: {time: false}"), "gVisor has no time namespaces")
	}
	var features struct {
		Linux struct {
			Namespaces []string `json:"namespaces"`
		} `json:"linux"`
	}
	text, err := exec.CommandContext(ctx, o.Runtime, "features").Output()
	if err == nil {
		err = json.Unmarshal(text, &features)
	}
	if err != nil || !slices.Contains(features.Linux.Namespaces, "time") {
		return missing(environment.Advice("install runc 1.2, crun 1.9 or newer, or write namespaces: {time: false}"),
			"%s %s does not list time among its namespaces", o.Runtime, Version(ctx, o.Runtime))
	}
	return environment.Finding{State: environment.Usable}
}

// CheckRunsc checks that a runsc program is linked statically: the sandbox executes it
// again in an empty root, where no dynamic loader is.
func CheckRunsc(path string) environment.Finding {
	program, err := elf.Open(path)
	if err != nil {
		return missing(InstallRunsc, "%s is not an ELF program: %v", path, err)
	}
	defer program.Close()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			fix := InstallRunsc
			fix.Text = "it has to be built with CGO_ENABLED=0: " + fix.Text
			return missing(fix,
				"%s is linked dynamically, and the sandbox cannot execute it again from within its empty root (\"cannot read client sync file\")", path)
		}
	}
	return environment.Finding{State: environment.Usable, Reason: strings.TrimSpace(path + " " + Version(context.Background(), path))}
}

// Version is the version of a program's Go module, or what --version prints.
func Version(ctx context.Context, program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	if info, err := buildinfo.ReadFile(path); err == nil && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return ""
	}
	// "runc version 1.1.5\ncommit: ..."
	line, _, _ := strings.Cut(string(out), "\n")
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return ""
	}
	return fields[len(fields)-1]
}

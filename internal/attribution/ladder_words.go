package attribution

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/environment/oci"
	"tare/internal/study"
)

// part describes a change for people. Names are such that "the ..." begins a
// sentence with them.
func part(kind string, c delta) Part {
	group, _, _ := strings.Cut(c.path, ".")
	p := Part{Key: c.path, Group: group, About: c.String(), Switched: c.String()}
	if kind == "podman" {
		kind = "docker" // whose words are the same
	}
	w, known := words[kind+"."+c.path+"="+show(c.after)]
	if !known {
		w, known = words["oci."+c.path+"="+show(c.after)]
	}
	if known {
		p.Name = w[0]
		if w[1] != "" {
			p.About = w[1] + " (" + p.About + ")"
		}
		return p
	}
	name := strings.NewReplacer("_", " ", ".", " ").Replace(c.path)
	if s, known := oci.FindSwitch(c.path); known && kind == "oci" {
		name = s.Name
	}
	switch c.after {
	case true:
		p.Name = name
	case false:
		p.Name = "absence of the " + name
	default:
		p.Name = "change of " + name + " to " + show(c.after)
	}
	return p
}

// call names a part that is made of several.
func (p *Part) call(named []string) {
	last := named[len(named)-1]
	if n := len(named) - 2; n > 1 {
		named, last = named[:3], fmt.Sprintf("%d others", n)
	}
	p.Name = strings.Join(named[:len(named)-1], ", ") + " and " + last
	p.Subject, p.Many = strings.ToUpper(p.Name[:1])+p.Name[1:]+", switched together,", true
}

// step compares an environment that has the part with one that lacks it.
func (p Part) step(environment, base string, order int) study.Step {
	return study.Step{Part: p.Key, Name: p.Name, About: p.About, Switched: p.Switched, Environment: environment, Base: base, Order: order,
		Subject: p.Subject, Many: p.Many || p.Subject == "" && plural(p.Name)}
}

// plural says whether a name takes the plural: by the noun in it that the others
// belong to.
func plural(name string) bool {
	for _, after := range []string{" of ", " in ", " on ", " under ", " with ", " without ", " past ", " through ", " as ", " to ", " by ", " mode ", " type ", " ("} {
		name, _, _ = strings.Cut(name, after)
	}
	return strings.Contains(name, " and ") || strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss")
}

// parameterPart is the part that one parameter of a workload makes: where it says where a
// log goes, the log's path.
func parameterPart(workload, key, before, after string) Part {
	about := fmt.Sprintf("with.%s.%s: %s → %s", workload, key, before, after)
	p := Part{Key: "with." + workload + "." + key, Name: key + " of " + workload, About: about, Switched: about, Group: parametersGroup,
		Subject: fmt.Sprintf("Setting %s of %s from %s to %s", key, workload, before, after)}
	if isLog(key, before, after) {
		p.Name, p.Subject = "log path of "+workload, ""
	}
	return p
}

// isLog says whether a parameter says where a log goes: by its name, or by either
// of its values.
func isLog(key string, values ...string) bool {
	words := strings.Split(key, "_")
	if last := words[len(words)-1]; last == "log" || last == "logs" {
		return true
	}
	return slices.ContainsFunc(values, func(v string) bool {
		return v == "/dev/stdout" || v == "/dev/stderr" || strings.HasSuffix(v, ".log") || strings.Contains(key, "log") && strings.HasPrefix(v, "/")
	})
}

// words are the changes that have a name of their own, and what they do to what
// runs. Those of the runtime are also the ones of other kinds.
var words = map[string][2]string{
	"oci.namespaces.mount=true":   {"mount namespace", "the instance has a table of mounts of its own"},
	"oci.namespaces.pid=true":     {"pid namespace", "processes are numbered in a namespace of their own as well"},
	"oci.namespaces.ipc=true":     {"ipc namespace", "System V IPC and message queues are the instance's own"},
	"oci.namespaces.uts=true":     {"uts namespace", "the host's name is the instance's own"},
	"oci.namespaces.cgroup=true":  {"cgroup namespace", "the instance sees its cgroup as the root"},
	"oci.namespaces.user=true":    {"user namespace", "the kernel translates user ids"},
	"oci.devices=true":            {"device filter", "each opening of a device passes the cgroup's filter"},
	"oci.masked=true":             {"masked paths", "parts of /proc and /sys are hidden or read-only by mounts of their own"},
	"oci.root=overlay":            {"overlay root", "files of the root are looked up in two layers, and copied up when they are first written"},
	"oci.root=folder":             {"root in a folder", "files of the root lie in one file system"},
	"oci.root=bind":               {"read-only root", ""},
	"oci.data=overlay":            {"data in the overlay", "what the workload reads and writes at /data lies in the overlay"},
	"oci.data=bind":               {"data on a bind mount", "what the workload reads and writes at /data lies past the overlay"},
	"oci.data=tmpfs":              {"data in memory", "what the workload reads and writes at /data touches no disk"},
	"oci.capabilities=default":    {"smaller set of capabilities", "root inside has those that Docker gives"},
	"oci.capabilities=all":        {"full set of capabilities", "root inside has all that the host gives"},
	"oci.capabilities=" + podmans: {"smaller set of capabilities", "root inside has those that Podman gives"},
	"oci.no_new_privs=true":       {"rule of no new privileges", "executing a file gives what runs no more privileges"},
	"oci.no_new_privs=false":      {"absence of the rule of no new privileges", "executing a file may give what runs more privileges"},
	"oci.seccomp=default":         {"seccomp filter", "each system call passes a filter first"},
	"oci.seccomp=unconfined":      {"absence of the seccomp filter", "no system call passes a filter"},
	"oci.network=host":            {"host's network", "packets pass the host's network stack alone"},
	"oci.network=none":            {"network namespace", "the instance has a loopback of its own and no way out"},
	"oci.network=bridge":          {"network namespace and bridge", "packets that enter or leave the instance pass a veth pair and a bridge, those inside a loopback of its own"},
	"oci.network=nat":             {"NAT", "addresses are translated on the way out"},
	"oci.network=user":            {"user-mode network", "a process carries packets through sockets of the host"},
	"oci.log=null":                {"log path past all processes", "what the workload prints goes straight to tare"},
	"oci.log=pipe":                {"log path through a process", "what the workload prints passes a process between"},
	"oci.log=file":                {"log path through a process and a file", "what the workload prints is written down on its way"},
	"oci.log=json-file":           {"log path as JSON", "what the workload prints is written down on its way, each line as JSON"},

	"oci.gvisor.netstack=true":  {"network stack of gVisor", "packets are made by gVisor's own network stack"},
	"oci.gvisor.netstack=false": {"kernel's network stack under gVisor", "sockets are those of the kernel below"},
	"oci.gvisor.overlay=true":   {"overlay of gVisor", "gVisor merges the root's layers itself, and keeps what is written in a file"},
	"oci.gvisor.overlay=false":  {"kernel's overlay under gVisor", "the kernel below merges the root's layers"},
	"oci.gvisor.shared=true":    {"shared file access of gVisor", "gVisor looks at /data anew each time, as others might change it"},
	"oci.gvisor.shared=false":   {"exclusive file access of gVisor", "gVisor keeps what it knows of /data"},
	"oci.gvisor.directfs=false": {"gofer of gVisor", "files are opened by another process"},
	"oci.gvisor.directfs=true":  {"direct file access of gVisor", "files are opened by the sandbox itself"},

	"native.rootfs=image": {"image's programs", "the image's programs run, and not the host's"},
	"native.rootfs=host":  {"host's programs", "the host's programs run, and not the image's"},

	"docker.network=publish": {"published ports with NAT and proxy", "packets to the published ports are translated, or pass a proxy"},
	"docker.data=volume":     {"volume of the engine", "/data lies in a volume of the engine"},

	"qemu.machine=q35":            {"machine type q35", "a PC with firmware and PCI, in place of a microvm"},
	"qemu.machine=microvm":        {"machine type microvm", "a machine without firmware and PCI"},
	"qemu.cache=unsafe":           {"disk cache without syncs", "the guest's syncs are ignored"},
	"qemu.cache=writeback":        {"disk cache in the host's memory", "the guest's syncs reach the host's disk"},
	"qemu.cache=none":             {"disk cache mode none", "the guest's disks pass by the host's page cache"},
	"qemu.cache=directsync":       {"disk cache mode directsync", "each write of the guest is synced"},
	"qemu.disk_device=nvme":       {"NVMe disk", "the guest's disks are emulated NVMe devices, and not virtio's"},
	"qemu.disk_device=virtio-blk": {"virtio disk", "the guest's disks are virtio's"},
	"qemu.network=bridge":         {"network device", "packets pass a virtio network card, QEMU, a tap and a bridge"},
	"qemu.network=user":           {"user-mode network of QEMU", "packets pass a virtio network card and QEMU's own network stack"},
	"qemu.network=none":           {"absence of a network device", ""},
	"qemu.accel=kvm":              {"hardware virtualization (KVM)", ""},
	"qemu.accel=tcg":              {"software emulation (TCG)", ""},
}

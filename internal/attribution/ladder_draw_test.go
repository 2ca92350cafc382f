package attribution

import (
	"encoding/json"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/testing/knowncost"
)

// values of options from which environments are drawn.
var values = map[string]map[string][]any{
	"native": {"rootfs": {"image", "host"}, "root": {"folder", "overlay"}, "network": {"host", "loopback", "bridge", "nat", "none"}, "data": {"bind", "overlay", "tmpfs", "/dev/sdz1"}},
	"docker": {"network": {"bridge", "nat", "publish", "host", "none"}, "ports": {nil, []any{"80"}, []any{"80", "7000-7010"}}, "log": {"none", "json-file", "local"},
		"seccomp": {"default", "unconfined"}, "data": {"bind", "volume", "overlay", "tmpfs", "/dev/sdz1"}, "runtime": {"", "crun", "runsc", "absent"}},
	"podman": {"network": {"bridge", "nat", "publish", "host", "none"}, "ports": {nil, []any{"80"}}, "log": {"none", "json-file"},
		"seccomp": {"default", "unconfined"}, "data": {"bind", "volume", "overlay", "tmpfs"}, "runtime": {"", "crun"}},
	"gvisor": {"engine": {"auto", "docker", "direct"}, "network": {"", "bridge", "sandbox", "host", "none"}, "data": {"bind", "overlay", "volume"}, "platform": {"systrap", "ptrace", "kvm"}},
	"oci": {"runtime": {"runc", "crun", "runsc"}, "platform": {"", "ptrace", "systrap"}, "root": {"folder", "bind", "overlay"}, "data": {"bind", "overlay", "tmpfs"},
		"network": {"host", "none", "bridge", "nat", "user"}, "log": {"null", "pipe", "file", "json-file"}, "seccomp": {"default", "unconfined"},
		"capabilities": {"all", "none", "default", "chown"}, "masked": {true, false}, "devices": {true, false}, "cgroup_limits": {true, false},
		"no_new_privs": {true, false}, "namespaces.mount": {true, false}, "namespaces.pid": {true, false}, "namespaces.user": {true, false},
		"gvisor.netstack": {true, false}, "gvisor.shared": {true, false}},
	"qemu": {"machine": {"q35", "microvm"}, "disk_device": {"virtio-blk", "nvme"}, "cache": {"writeback", "none", "directsync", "unsafe"}, "aio": {"threads", "io_uring", "native"},
		"root_disk": {"qcow2", "raw", "/dev/sdz1"}, "data_disk": {"qcow2", "raw", "/dev/sdz1", "/dev/sdz2"}, "root_cache": {nil, "none"}, "data_aio": {nil, "native", "threads"},
		"network": {"none", "user", "bridge", "nat"}, "cpus": {nil, 1, 2}, "accel": {"auto", "tcg"}, "kernel_args": {nil, "quiet"}},
	"firecracker":  {"network": {"none", "tap", "nat"}, "root": {"overlay", "copy"}, "start": {"boot", "snapshot"}},
	knowncost.Kind: {"costly": {true, false}, "idle": {true, false}, "percent": {5, 7.5}},
}

// any environment of a kind that it takes.
func anyOf(name, kind string) *rapid.Generator[study.Environment] {
	return rapid.Custom(func(t *rapid.T) study.Environment {
		e := of(t, name, kind)
		d, err := begin(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(values[kind])) {
			d.options.set(key, rapid.SampledFrom(values[kind][key]).Draw(t, key))
		}
		if kind == "oci" && d.options["runtime"] != "runsc" { // which alone has these
			d.options.set("platform", nil)
			d.options.set("gvisor.netstack", true)
			d.options.set("gvisor.shared", true)
		}
		if d.options["network"] != "publish" && kind != "native" {
			d.options.set("ports", nil)
		}
		e.Options, _ = json.Marshal(d.options)
		if !d.valid() {
			e.Kind = ""
			return e
		}
		e, _ = d.environment()
		e.Limits.CPUs = rapid.SampledFrom([]float64{0, 1}).Draw(t, "limit of cpus")
		if rapid.Bool().Draw(t, "limited") {
			e.Limits.Memory = 1 << 29
		}
		if p := rapid.SampledFrom([]string{"", "off", "/dev/stdout"}).Draw(t, "with"); p != "" {
			e.With = map[string]map[string]string{"nginx": {"access_log": p}}
		}
		return e
	}).Filter(func(e study.Environment) bool { return e.Kind != "" })
}

func drawPair(t *rapid.T) (from, to study.Environment) {
	kinds := slices.Sorted(maps.Keys(values))
	from = anyOf("a", rapid.SampledFrom(kinds).Draw(t, "from")).Draw(t, "one")
	to = anyOf("b", rapid.SampledFrom(kinds).Draw(t, "to")).Draw(t, "two")
	return from, to
}

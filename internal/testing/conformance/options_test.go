package conformance

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/testing/testenv"
)

// networks are what the kinds can be asked for, and what they say of it.
var networks = []struct {
	kind, options string
	path          string // part of what the instance says
	alone         bool   // the host reaches an instance by itself
}{
	{"native", `{"network": "host"}`, "the host's network stack", true},
	{"native", `{"network": "loopback"}`, "by its loopback", true},
	{"native", `{"network": "bridge"}`, "veth pair, bridge", true},
	{"native", `{"network": "nat"}`, "router with NAT", true},
	{"native", `{"network": "none"}`, "none", false},
	{"docker", `{"network": "host"}`, "the host's network stack", true},
	{"docker", `{"network": "bridge"}`, "veth pair, the engine's bridge", true},
	{"docker", `{"network": "nat"}`, "NAT beyond the host", true},
	{"docker", `{"network": "publish", "ports": ["7213-7215"]}`, "published ports", true},
	{"docker", `{"network": "none"}`, "none", false},
	{"podman", `{"network": "host"}`, "the host's network stack", true},
	{"podman", `{"network": "bridge"}`, "veth pair, the engine's bridge", true},
	{"podman", `{"network": "nat"}`, "NAT beyond the host", true},
	{"podman", `{"network": "publish", "ports": ["7213-7215"]}`, "published ports", true},
	{"podman", `{"network": "none"}`, "none", false},
	{"containerd", `{"network": "host"}`, "the host's network stack", true},
	{"containerd", `{"network": "bridge"}`, "veth pair, a separate bridge of tare", true},
	{"containerd", `{"network": "nat"}`, "bridge of tare, NAT", true},
	{"containerd", `{"network": "none"}`, "none", false},
	{"gvisor", `{"engine": "docker", "network": "bridge"}`, "gVisor's network stack, veth pair", true},
	{"qemu", `{"accel": "tcg", "data": "64MiB", "network": "none"}`, "none", false},
	{"qemu", `{"accel": "tcg", "data": "64MiB", "network": "user"}`, "QEMU's user-mode stack", false},
	{"qemu", `{"accel": "tcg", "data": "64MiB", "network": "bridge"}`, "tap, bridge", true},
	{"qemu", `{"accel": "tcg", "data": "64MiB", "network": "nat"}`, "router with NAT", true},
}

// named is a test's name for options: it becomes part of a home, which has no
// commas, colons and quotes.
func named(kind, options string) string {
	return kind + " " + strings.NewReplacer(`"`, "", ",", "", ":", "", "{", "", "}", "", "[", "", "]", "", "/", "").Replace(options)
}

func TestEveryNetworkIsReachedAsItSays(t *testing.T) {
	for _, n := range networks {
		p := provider{name: named(n.kind, n.options), kind: n.kind, options: n.options}
		t.Run(p.name, func(t *testing.T) {
			s := p.prepare(t)
			paths := s.shared.Paths()
			t.Logf("%+v", paths)
			if !strings.Contains(paths.Network, n.path) {
				t.Errorf("a packet passes %q, want %q in it", paths.Network, n.path)
			}
			if reached := s.shared.Address() != ""; reached != n.alone {
				t.Errorf("its address is %q", s.shared.Address())
			}
			own := s.own(t)
			if strings.Contains(n.options, `"none"`) {
				reachesNothing(t, s.shared)
				if n.kind == "podman" || n.kind == "qemu" {
					return // Podman's may not reach the host, and QEMU's have this by default, which the suite connects
				}
			}
			twoReachEachOther(t, own)
		})
	}
}

// reachesNothing looks for any way out of an instance.
func reachesNothing(t *testing.T, i environment.Instance) {
	t.Helper()
	if got := run(t, i, "ls /sys/class/net 2>/dev/null || cut -d: -f1 /proc/net/dev | tail -n +3"); strings.TrimSpace(got) != "lo" {
		t.Errorf("it has the interfaces %q", got)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tried := 0
	for _, a := range addresses {
		ip, _, _ := net.ParseCIDR(a.String())
		if ip.To4() == nil || ip.IsLoopback() {
			continue
		}
		tried++
		knock := fmt.Sprintf(`perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(PeerAddr => q(%s), PeerPort => %d, Timeout => 5) ? q(reached) : q(no)'`,
			ip, l.Addr().(*net.TCPAddr).Port)
		if got := run(t, i, knock); got != "no" {
			t.Errorf("asked for %s it says %q", ip, got)
		}
	}
	if tried == 0 {
		t.Log("the host has no address but its loopback's")
	}
}

// disks are where the kinds can be asked to put root and data. DEVICE is a
// device of the test's.
var disks = []struct{ kind, options, root, data string }{
	{"native", `{}`, "directory", "bind mount"},
	{"native", `{"root": "overlay"}`, "overlay", "bind mount"},
	{"native", `{"root": "overlay", "data": "overlay"}`, "overlay", "overlay"},
	{"native", `{"data": "tmpfs"}`, "directory", "tmpfs"},
	{"native", `{"data": "DEVICE"}`, "directory", "block device"},
	{"docker", `{"data": "bind"}`, "overlay", "bind mount"},
	{"docker", `{"data": "volume"}`, "overlay", "volume"},
	{"docker", `{"data": "overlay"}`, "overlay", "overlay"},
	{"docker", `{"data": "tmpfs"}`, "overlay", "tmpfs"},
	{"docker", `{"data": "DEVICE"}`, "overlay", "block device"},
	{"podman", `{"data": "bind"}`, "overlay", "bind mount"},
	{"podman", `{"data": "volume"}`, "overlay", "volume"},
	{"podman", `{"data": "overlay"}`, "overlay", "overlay"},
	{"podman", `{"data": "tmpfs"}`, "overlay", "tmpfs"},
	{"podman", `{"data": "DEVICE"}`, "overlay", "block device"},
	{"containerd", `{"data": "bind"}`, "overlay", "bind mount"},
	{"containerd", `{"data": "overlay"}`, "overlay", "overlay"},
	{"containerd", `{"data": "tmpfs"}`, "overlay", "tmpfs"},
	{"containerd", `{"data": "DEVICE"}`, "overlay", "block device"},
	{"gvisor", `{"engine": "docker"}`, "gVisor's overlay", "gofer"},
	{"qemu", `{"accel": "tcg", "data": "64MiB"}`, "qcow2 file, cache writeback, threads", "raw file, cache writeback, threads"},
	{"qemu", `{"accel": "tcg", "data": "64MiB", "root_disk": "raw", "root_cache": "none", "root_aio": "native", "data_disk": "qcow2", "data_cache": "directsync"}`, "raw file, cache none, native", "qcow2 file, cache directsync, threads"},
	{"qemu", `{"accel": "tcg", "data": "64MiB", "cache": "none", "aio": "io_uring", "data_cache": "unsafe"}`, "cache none, io_uring", "cache unsafe, io_uring"},
	{"qemu", `{"accel": "tcg", "data": "64MiB", "data_disk": "DEVICE", "data_cache": "none", "data_aio": "native"}`, "qcow2 file", "block device, cache none, native"},
	{"qemu", `{"accel": "tcg", "data": "64MiB", "root_disk": "DEVICE"}`, "block device, cache writeback", "raw file"},
}

func TestEveryDiskIsWrittenToAndSaysWhatItIs(t *testing.T) {
	for _, d := range disks {
		p := provider{name: named(d.kind, d.options), kind: d.kind, options: d.options}
		t.Run(p.name, func(t *testing.T) {
			device := ""
			if strings.Contains(d.options, "DEVICE") {
				device = testenv.LoopDevice(t, deviceSize)
				p.options = strings.ReplaceAll(d.options, "DEVICE", device)
			}
			s := p.prepare(t)
			paths := s.shared.Paths()
			t.Logf("%+v", paths)
			if !strings.Contains(paths.Root, d.root) || !strings.Contains(paths.Data, d.data) {
				t.Errorf("root is %q and data is %q, want %q and %q in them", paths.Root, paths.Data, d.root, d.data)
			}
			if paths.RootOn == "" || paths.DataOn == "" {
				t.Errorf("they are on %q and %q", paths.RootOn, paths.DataOn)
			}
			if got := run(t, s.shared, "ls -A /data"); got != "" {
				t.Errorf("a fresh /data holds %q", got)
			}
			if size := run(t, s.shared, `set -- $(stat -f -c "%b %S" /data) && echo $(($1 * $2))`); device != "" && strings.Contains(paths.Data, "block device") && atoi(strings.TrimSpace(size)) > deviceSize {
				t.Errorf("/data has %s bytes, more than the device", size)
			}
			run(t, s.shared, "dd if=/dev/zero of=/data/file bs=1M count=4 conv=fsync 2>&1 && echo root > /var/file && sync && rm /data/file && su nobody -s /bin/sh -c 'echo x > /data/anybody'")
			if err := s.shared.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if device == "" {
				return
			}
			if written, err := os.ReadFile("/sys/block/" + strings.TrimPrefix(device, "/dev/") + "/stat"); err != nil || strings.Fields(string(written))[6] == "0" {
				t.Errorf("nothing was written to %s: %s, %v", device, written, err)
			}
			// Fresh again, although the first left something on the device.
			again := s.own(t).start(t, "again")
			if got := run(t, again, "ls -A /data; ls /var/file 2>/dev/null || true"); got != "" {
				t.Errorf("the second finds %q", got)
			}
		})
	}
}

// deviceSize is that of the device of a disk.
const deviceSize = 2 << 30

// marked are options that make more on the host than the providers' own.
var marked = []provider{
	{name: "native nat", kind: "native", options: `{"network": "nat", "root": "overlay"}`},
	{name: "docker publish", kind: "docker", options: `{"network": "publish", "ports": ["7213"]}`},
	{name: "docker publish-loopback", kind: "docker", options: `{"network": "publish-loopback", "ports": ["7213"]}`},
	{name: "docker nat", kind: "docker", options: `{"network": "nat"}`},
	{name: "podman publish", kind: "podman", options: `{"network": "publish", "ports": ["7213"]}`},
}

func TestWhatAKilledTareMadeForAnOptionIsSwept(t *testing.T) {
	for _, p := range marked {
		t.Run(p.name, func(t *testing.T) {
			s := p.prepare(t)
			if err := s.shared.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			whatAKilledTareLeavesIsSwept(t, s.own(t))
		})
	}
}

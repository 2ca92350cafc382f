package qemu

import (
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"tare/internal/base/quantity"
	"tare/internal/image/kernel"
	"tare/internal/linux/virtnet"
)

func TestTheDefaultsAreValid(t *testing.T) {
	if err := defaults().Validate(); err != nil {
		t.Error(err)
	}
}

func TestOptionsAreReadAsPeopleWriteThem(t *testing.T) {
	got := defaults()
	if err := yaml.Unmarshal([]byte("machine: microvm\nmemory: 1GiB\ndata: 4GiB\nstart_timeout: 90s\ncache: none\naio: native\n"), got); err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Machine, want.Memory, want.Data = "microvm", quantity.GiB, 4*quantity.GiB
	want.StartTimeout, want.Cache, want.AIO = 90*time.Second, "none", "native"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	back := defaults()
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Errorf("through JSON: %s", diff)
	}
}

func TestAWrongOptionIsNamedWithWhatIsRight(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Accel = "hvf" }, `accel: "hvf" is not known: choose one of auto, kvm, tcg`},
		{func(o *Options) { o.Machine = "pc" }, `machine: "pc" is not known: choose one of q35, microvm`},
		{func(o *Options) { o.Cache = "writethrough" }, `cache: "writethrough"`},
		{func(o *Options) { o.DiskDevice = "ide" }, `disk_device: "ide" is not known: choose one of virtio-blk, nvme`},
		{func(o *Options) { o.DiskDevice, o.Machine = "nvme", "microvm" }, "disk_device: nvme is a PCI device"},
		{func(o *Options) { o.AIO = "native" }, "set cache: none or directsync instead of writeback"},
		{func(o *Options) { o.Network = "tap" }, `network: "tap"`},
		{func(o *Options) { o.Memory = quantity.MiB }, "memory: 1MiB is too small"},
		{func(o *Options) { o.Data = 0 }, "data: 0B is too small"},
		{func(o *Options) { o.CPUs = -1 }, "cpus: -1"},
		{func(o *Options) { o.StartTimeout = 0 }, "start_timeout: 0s"},
		{func(o *Options) { o.Model = "host -x" }, `model: "host -x"`},
	} {
		o := defaults()
		c.change(o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to say %q", err, c.want)
		}
	}
}

var example = machine{
	name: "b1", accel: "tcg", cpus: 2, memory: 256 * quantity.MiB, tscKHz: 2250000,
	guest: &kernel.Guest{Kernel: "/s/bzImage", Vmlinux: "/s/vmlinux", Initramfs: "/s/initramfs"},
	env:   []string{"LANG=C.UTF-8", "GREETING=good day"},
	root:  "/w/a,b/root.qcow2", data: "/w/a,b/data.raw",
}

// after finds the value of the nth flag of a name.
func after(t *testing.T, list []string, flag, start string) string {
	t.Helper()
	for i, word := range list[:len(list)-1] {
		if word == flag && strings.HasPrefix(list[i+1], start) {
			return list[i+1]
		}
	}
	t.Fatalf("%q has no %s %s...", list, flag, start)
	return ""
}

func TestTheCommandLineMatchesTheOptions(t *testing.T) {
	o := defaults()
	list := o.arguments(example)
	for _, c := range [][2]string{
		{"-machine", "q35"}, {"-accel", "tcg,thread=multi"}, {"-cpu", "max"}, {"-smp", "2"}, {"-m", "256M"},
		{"-kernel", "/s/vmlinux"}, {"-initrd", "/s/initramfs"}, {"-device", "virtio-serial-pci"},
		{"-drive", "if=none,id=root,format=qcow2,cache=writeback,aio=threads,werror=report,rerror=report,file=/w/a,,b/root.qcow2"},
		{"-device", "virtio-blk-pci,drive=root"},
	} {
		if got := after(t, list, c[0], c[1]); got != c[1] {
			t.Errorf("%s %s, want %s", c[0], got, c[1])
		}
	}
	want := `console=ttyS0 quiet panic=-1 oops=panic tare.root=/dev/vda tare.data=/dev/vdb tare.port=tare tare.off=poweroff cryptomgr.notests ` +
		`tsc_early_khz=2250000 tsc=reliable no_timer_check "tare.env=LANG=C.UTF-8" "tare.env=GREETING=good day"`
	if got := after(t, list, "-append", ""); got != want {
		t.Errorf("kernel line\n%s, want\n%s", got, want)
	}

	m := example
	m.accel, m.env = "kvm", nil
	if got := after(t, o.arguments(m), "-kernel", ""); got != "/s/bzImage" {
		t.Errorf("the kernel of a PC with KVM is %s", got)
	}

	o.Machine, o.Network, o.Cache, o.AIO, o.KernelArgs = "microvm", "user", "none", "native", "loglevel=7"
	list = o.arguments(m)
	for _, c := range [][2]string{
		{"-machine", "microvm,pit=on,pic=on,rtc=on,x-option-roms=off"}, {"-bios", "qboot.rom"}, {"-accel", "kvm"}, {"-cpu", "host"},
		{"-kernel", "/s/vmlinux"}, {"-device", "virtio-serial-device"}, {"-netdev", "user,id=net"},
		{"-device", "virtio-net-device,netdev=net"}, {"-device", "virtio-blk-device,drive=data"},
		{"-drive", "if=none,id=data,format=raw,cache=none,aio=native,werror=report,rerror=report,file=/w/a,,b/data.raw"},
	} {
		if got := after(t, list, c[0], c[1]); got != c[1] {
			t.Errorf("%s %s, want %s", c[0], got, c[1])
		}
	}
	want = "console=ttyS0 quiet panic=-1 oops=panic tare.root=/dev/vda tare.data=/dev/vdb tare.port=tare reboot=t tare.off=reboot tare.net=10.0.2.15/24,10.0.2.2,10.0.2.3 loglevel=7"
	if got := after(t, list, "-append", ""); got != want {
		t.Errorf("kernel line\n%s, want\n%s", got, want)
	}
}

func TestDisksAsNVMeAreNamespacesOfOneController(t *testing.T) {
	o := defaults()
	o.DiskDevice = "nvme"
	list := o.arguments(example)
	for _, want := range []string{"nvme,serial=tare", "nvme-ns,nsid=1,drive=root", "nvme-ns,nsid=2,drive=data"} {
		if got := after(t, list, "-device", want); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if line := after(t, list, "-append", ""); !strings.Contains(line, "tare.root=/dev/nvme0n1 tare.data=/dev/nvme0n2 ") {
		t.Errorf("kernel line %s", line)
	}
}

func TestAGuestOnANetworkHasACardForIt(t *testing.T) {
	port := &virtnet.Port{Address: netip.MustParsePrefix("10.213.0.2/24"), MAC: net.HardwareAddr{0x52, 0x54, 10, 213, 0, 2}}
	for _, c := range []struct{ machine, network, words string }{
		{"q35", "none", "tare.net=10.213.0.2/24"},
		{"microvm", "user", "tare.net=10.0.2.15/24,10.0.2.2,10.0.2.3 tare.net=10.213.0.2/24"},
	} {
		o, m := defaults(), example
		o.Machine, o.Network, m.port = c.machine, c.network, port
		list := o.arguments(m)
		after(t, list, "-netdev", "tap,id=private,fd=5")
		if card := o.device("virtio-net") + ",netdev=private,mac=52:54:0a:d5:00:02"; after(t, list, "-device", card) != card {
			t.Errorf("%q", list)
		}
		line := after(t, list, "-append", "")
		var words []string
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "tare.net=") {
				words = append(words, word)
			}
		}
		if strings.Join(words, " ") != c.words {
			t.Errorf("%s", line)
		}
	}
}

func TestAKernelCommandLineThatWouldBeGarbledIsRejected(t *testing.T) {
	o := defaults()
	if err := o.check(example); err != nil {
		t.Error(err)
	}
	m := example
	m.env = []string{`QUOTE="`}
	if err := o.check(m); err == nil || !strings.Contains(err.Error(), "double quotes") {
		t.Errorf("a quote: %v", err)
	}
	m.env = []string{"LONG=" + strings.Repeat("x", 2047)}
	if err := o.check(m); err == nil || !strings.Contains(err.Error(), "the kernel accepts at most 2047") {
		t.Errorf("a long line: %v", err)
	}
}

package guest

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

func TestTheKernelCommandLineIsReadAsTheKernelDoes(t *testing.T) {
	got, err := ParseCommandLine("console=ttyS0 quiet panic=-1 tare.root=/dev/vda tare.data=/dev/vdb\ttare.port=tare " +
		`tare.net=10.0.2.15/24,10.0.2.2,10.0.2.3,1450 tare.off=reboot tare.hostname=vm "tare.env=A=b c" tare.env=D="e f" -- init` + "\n")
	want := Config{
		Root: "/dev/vda", Data: "/dev/vdb", Port: "tare", Off: "reboot", Hostname: "vm", Env: []string{"A=b c", "D=e f"},
		Nets: []Net{{netip.MustParsePrefix("10.0.2.15/24"), netip.MustParseAddr("10.0.2.2"), netip.MustParseAddr("10.0.2.3"), 1450}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAbsentParametersHaveDefaults(t *testing.T) {
	got, err := ParseCommandLine("tare.vsock=1024 tare.net=192.168.0.2/16 tare.net=10.213.0.2/24")
	want := Config{VSock: 1024, Off: "poweroff", Hostname: "tare", Nets: []Net{
		{Address: netip.MustParsePrefix("192.168.0.2/16")}, {Address: netip.MustParsePrefix("10.213.0.2/24")}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAGuestThatIsSavedAwaitsItsHost(t *testing.T) {
	got, err := ParseCommandLine("tare.root=/dev/vda tare.data=/dev/vdb tare.over=1 tare.vsock=1024 tare.await=1 tare.timer=0xd0000000 virtio_mmio.device=4K@0xd0001000:5")
	want := Config{Root: "/dev/vda", Data: "/dev/vdb", Over: true, VSock: 1024, Await: true, Timer: 0xd0000000, Off: "poweroff", Hostname: "tare"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAModuleGetsItsParametersFromTheCommandLine(t *testing.T) {
	const line = "quiet virtio_mmio.device=4K@0xd0001000:5 virtio_mmio.device=4K@0xd0002000:6 virtio_blk.queues=1 tare.off=reboot"
	for file, want := range map[string]string{
		"virtio_mmio.ko": "device=4K@0xd0001000:5 device=4K@0xd0002000:6", "/m/virtio-mmio.ko.xz": "device=4K@0xd0001000:5 device=4K@0xd0002000:6",
		"virtio_blk.ko": "queues=1", "virtio.ko": "",
	} {
		if got := parameters(line, file); got != want {
			t.Errorf("%s: %q", file, got)
		}
	}
}

func TestAnInvalidParameterIsNamed(t *testing.T) {
	for line, word := range map[string]string{
		"tare.port=a tare.rood=/dev/vda":          "tare.rood=/dev/vda",
		"tare.port=a tare.off=maybe":              "tare.off=maybe",
		"tare.port=a tare.net=10.0.2.15":          "tare.net=10.0.2.15",
		"tare.port=a tare.net=fe80::1/64":         "IPv4",
		"tare.port=a tare.net=10.0.0.1/8,x":       "tare.net=10.0.0.1/8,x",
		"tare.port=a tare.env=A":                  "KEY=VALUE",
		"tare.vsock=many":                         "tare.vsock=many",
		"tare.port=a tare.await=perhaps":          "tare.await=perhaps",
		"tare.port=a tare.over=1":                 "tare.over needs",
		"quiet":                                   "tare.port",
		"tare.port=a tare.vsock=1":                "exactly one of",
		"tare.port=a tare.net=1.2.3.4/8,,,large":  "large",
		"tare.port=a tare.net=1.2.3.4/8,,,1,more": "GATEWAY",
	} {
		if _, err := ParseCommandLine(line); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`console=ttyS0 "tare.env=A=b c" tare.port=x`)
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, word := range split(line) {
			if strings.ContainsAny(line, `" `) {
				continue
			}
			if !strings.Contains(line, word) {
				t.Errorf("%q is not in %q", word, line)
			}
		}
		ParseCommandLine(line)
	})
}

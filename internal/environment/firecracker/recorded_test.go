package firecracker

import (
	"net"
	"strings"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/microvm"
	"tare/internal/linux/virtnet"
	"tare/internal/testing/exchanges"
	"tare/internal/testing/microvmtest"
)

const recorded = "../../testing/fakefirecracker/testdata/recorded.json"

// What is sent is what a real Firecracker was asked, and accepted: see make
// test-vmm.
func TestARealFirecrackerAcceptedWhatIsSent(t *testing.T) {
	limited := &microvm.Limiter{Bandwidth: &microvm.Bucket{Size: 1 << 20, Refill: 1000}, Ops: &microvm.Bucket{Size: 500, Refill: 1000}}
	for _, c := range []struct {
		session string
		options func(*Options)
		machine func(*microvm.Machine)
		restore bool
	}{
		{session: "tare boots, pauses and saves a guest"},
		{session: "tare restores a guest", restore: true},
		{session: "tare boots a guest with every option",
			options: func(o *Options) {
				o.Cache, o.AIO, o.SMT, o.BootTimer, o.NetBandwidth, o.NetOps = "unsafe", "async", true, true, 1<<20, 500
			},
			machine: func(m *microvm.Machine) {
				m.CPUs, m.RootWritable, m.Disk = 2, true, limited
				const longest = 2047 // of the kernel
				m.CommandLine = strings.Repeat("0123456 ", longest/8)[:longest-(&firecracker{}).vmm().AddedArgs]
				m.Port = &virtnet.Port{Device: exchanges.TapName, MAC: net.HardwareAddr{0x52, 0x54, 10, 213, 0, 2}}
			}},
	} {
		o := defaults()
		m := &microvm.Machine{Name: "guest", CPUs: 1, Memory: 64 * quantity.MiB, Directory: t.TempDir(), CommandLine: "console=ttyS0 reboot=k"}
		if c.options != nil {
			c.options(o)
			c.machine(m)
		}
		var sent exchanges.Sent
		v, api := (&firecracker{*o}).vmm(), microvm.NewAPI(&sent)
		microvmtest.Life(t, v, api, m, c.restore)
		sent.Check(t, recorded, c.session)
	}
}

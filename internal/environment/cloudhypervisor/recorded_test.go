package cloudhypervisor

import (
	"net"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/microvm"
	"tare/internal/linux/virtnet"
	"tare/internal/testing/exchanges"
	"tare/internal/testing/microvmtest"
)

const recorded = "../../testing/fakecloudhypervisor/testdata/recorded.json"

// What is sent is what a real Cloud Hypervisor was asked, and accepted: see make
// test-vmm.
func TestARealCloudHypervisorAcceptedWhatIsSent(t *testing.T) {
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
			options: func(o *Options) { o.Cache, o.NetBandwidth, o.NetOps = "none", 1<<20, 500 },
			machine: func(m *microvm.Machine) {
				m.CPUs, m.RootWritable, m.Disk = 2, true, limited
				m.Port = &virtnet.Port{Device: exchanges.TapName, MAC: net.HardwareAddr{0x52, 0x54, 10, 213, 0, 2}}
			}},
	} {
		o := defaults()
		m := &microvm.Machine{Name: "guest", CPUs: 1, Memory: 64 * quantity.MiB, Directory: "", CommandLine: "console=ttyS0 reboot=k"}
		if c.options != nil {
			c.options(o)
			c.machine(m)
		}
		var sent exchanges.Sent
		v, api := (&hypervisor{*o}).vmm(), microvm.NewAPI(&sent)
		microvmtest.Life(t, v, api, m, c.restore)
		_ = api.Send(t.Context(), v.Quit)
		sent.Check(t, recorded, c.session)
	}
}

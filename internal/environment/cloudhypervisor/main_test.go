package cloudhypervisor

import (
	"testing"

	"go.uber.org/goleak"

	"tare/internal/linux/kvm"
	"tare/internal/testing/exchanges"
	"tare/internal/testing/microvmtest"
)

var kind = microvmtest.Kind{Key: "cloud-hypervisor", Variable: "CLOUD_HYPERVISOR", Name: "Cloud Hypervisor",
	VMM: exchanges.VMM{Recorded: "testdata/recorded.json", Boot: "PUT /api/v1/vm.boot", Save: "PUT /api/v1/vm.snapshot", Load: "PUT /api/v1/vm.restore", Quit: "PUT /api/v1/vmm.shutdown",
		Snapshot: (&hypervisor{}).vmm().SnapshotFiles, Died: `{"source": "vm", "event": "rebooting"}`}}

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	kind.VMM.Main()
	goleak.VerifyTestMain(m)
}

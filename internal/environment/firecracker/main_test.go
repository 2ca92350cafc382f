package firecracker

import (
	"testing"

	"go.uber.org/goleak"

	"tare/internal/linux/kvm"
	"tare/internal/testing/exchanges"
	"tare/internal/testing/microvmtest"
)

var kind = microvmtest.Kind{Key: "firecracker", Variable: "FIRECRACKER", Name: "Firecracker",
	VMM: exchanges.VMM{Recorded: "testdata/recorded.json", Boot: "PUT /actions", Save: "PUT /snapshot/create", Load: "PUT /snapshot/load",
		Snapshot: []string{stateFile, memoryFile}}}

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	kind.VMM.Main()
	goleak.VerifyTestMain(m)
}

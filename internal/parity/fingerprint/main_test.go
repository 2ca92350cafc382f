package fingerprint

import (
	"testing"

	"go.uber.org/goleak"

	"tare/internal/linux/kvm"
	"tare/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	goleak.VerifyTestMain(m, testenv.EngineConnections()...)
}

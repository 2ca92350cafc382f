package fingerprint

import (
	"os"
	"testing"

	"tare/internal/linux/kvm"
)

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	os.Exit(m.Run())
}

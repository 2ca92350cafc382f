package oci

import (
	"testing"

	"go.uber.org/goleak"

	"tare/internal/linux/kvm"
)

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	goleak.VerifyTestMain(m)
}

package oci

import (
	"testing"

	"tare/internal/linux/kvm"
	"tare/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	testenv.Main(m, map[string]testenv.Role{"proxied": proxied})
}

package main

import (
	"testing"

	"tare/internal/testing/exchanges"
)

const recorded = "testdata/recorded.json"

var arguments = []string{"--api-socket", "path=api.sock", "--log-file", "log", "-v"}

func TestMain(m *testing.M) { exchanges.Main(m, main) }

func TestTheDoubleAnswersAsCloudHypervisorDid(t *testing.T) {
	exchanges.TestDouble(t, recorded, version, arguments...)
}

func TestTheRealCloudHypervisorAnswersAsRecorded(t *testing.T) {
	exchanges.TestReal(t, recorded, exchanges.Program(t, "CLOUD_HYPERVISOR", "cloud-hypervisor"), arguments...)
}

package main

import (
	"testing"

	"tare/internal/testing/exchanges"
)

const recorded = "testdata/recorded.json"

var arguments = []string{"--api-sock", "api.sock"}

func TestMain(m *testing.M) { exchanges.Main(m, main) }

func TestTheDoubleAnswersAsFirecrackerDid(t *testing.T) {
	exchanges.TestDouble(t, recorded, version, arguments...)
}

func TestTheRealFirecrackerAnswersAsRecorded(t *testing.T) {
	exchanges.TestReal(t, recorded, exchanges.Program(t, "FIRECRACKER", "firecracker"), arguments...)
}

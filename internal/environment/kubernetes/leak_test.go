package kubernetes

import (
	"testing"

	"go.uber.org/goleak"

	"tare/internal/testing/localhost"
	"tare/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	localhost.ServeIfAsked() // in the helpers
	goleak.VerifyTestMain(m, testenv.EngineConnections()...)
}

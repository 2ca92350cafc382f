package kubernetes

import (
	"testing"

	"go.uber.org/goleak"

	"tare/internal/testing/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, testenv.EngineConnections()...) }

package kvm

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const timeout = 2 * time.Second

func TestMain(m *testing.M) {
	ProbeMain()
	goleak.VerifyTestMain(m)
}

func TestWithoutTheDeviceTheReasonSaysSo(t *testing.T) {
	r := probe(context.Background(), timeout, filepath.Join(t.TempDir(), "kvm"))
	if r.Present || r.Usable || !strings.Contains(r.Reason, "does not exist") {
		t.Errorf("got %+v", r)
	}
}

func TestAFileThatIsNotKVMIsNotUsable(t *testing.T) {
	r := measure(os.DevNull)
	if r.Usable || r.InstructionsPerSecond != 0 || !strings.Contains(r.Reason, "version") {
		t.Errorf("got %+v", r)
	}
}

func TestSpeedDecidesNotPresence(t *testing.T) {
	for _, c := range []struct {
		speed  float64
		usable bool
	}{{2e6, false}, {99e6, false}, {100e6, true}, {4e9, true}} {
		r := evaluate(c.speed)
		if r.Usable != c.usable || !r.Present || r.InstructionsPerSecond != c.speed || r.Reason == "" {
			t.Errorf("at %g instructions per second: %+v", c.speed, r)
		}
	}
}

func TestAProbeThatHangsEndsAtTheTimeout(t *testing.T) {
	var stderr bytes.Buffer
	child := exec.Command("tail", "-f", os.DevNull)
	r := run(context.Background(), 50*time.Millisecond, child, &stderr)
	if r.Usable || !strings.Contains(r.Reason, "did not end within 50ms") {
		t.Errorf("got %+v", r)
	}
}

func TestAProbeThatFailsIsNotUsableAndItsStderrIsInTheReason(t *testing.T) {
	var stderr bytes.Buffer
	child := exec.Command("sh", "-c", "echo killed by the kernel >&2; exit 3")
	child.Stderr = &stderr
	r := run(context.Background(), timeout, child, &stderr)
	if r.Usable || !strings.Contains(r.Reason, "exit status 3") || !strings.Contains(r.Reason, "killed by the kernel") {
		t.Errorf("got %+v", r)
	}
}

func TestTheResultOfACancelledProbeIsNotKept(t *testing.T) {
	if _, err := os.Stat(Device); err != nil {
		t.Skip("needs " + Device + ": " + err.Error())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := Probe(ctx, timeout); r.Usable || known.result != nil {
		t.Errorf("got %+v, kept %+v", r, known.result)
	}
}

func TestTheResultOfTheRealProbeIsKept(t *testing.T) {
	first := Probe(context.Background(), timeout)
	t.Logf("%+v", first)
	if first.Reason == "" {
		t.Error("a probe without a reason")
	}
	if first.Usable && first.InstructionsPerSecond < Fast {
		t.Errorf("usable at %g instructions per second", first.InstructionsPerSecond)
	}
	if !first.Present && first.InstructionsPerSecond != 0 {
		t.Errorf("absent, yet it ran: %+v", first)
	}
	if second := Probe(context.Background(), timeout); second != first {
		t.Errorf("a second probe: %+v", second)
	}
}

package kvm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	var steps []string
	r := measure(os.DevNull, func(step string) { steps = append(steps, step) })
	if r.Usable || r.InstructionsPerSecond != 0 || !strings.Contains(r.Reason, os.DevNull+" opens, but reading its version failed: KVM_GET_API_VERSION: ") || len(steps) != 2 {
		t.Errorf("got %+v after %q", r, steps)
	}
	r = measure(filepath.Join(t.TempDir(), "kvm"), func(string) {})
	if !strings.HasPrefix(r.Reason, "opening ") || !strings.HasSuffix(r.Reason, "/kvm failed: no such file or directory") {
		t.Errorf("got %+v", r)
	}
}

func TestSpeedDecidesNotPresence(t *testing.T) {
	for _, c := range []struct {
		speed, own float64
		usable     bool
	}{{2e6, 3e9, false}, {2e6, 8e6, false}, {2e6, 7e6, true}, {29e6, 3e9, false}, {29e6, 30e6, true}, {30e6, 0, true}, {4e9, 0, true}} {
		r := evaluate(c.speed, c.own, 1)
		if r.Usable != c.usable || !r.Present || r.InstructionsPerSecond != c.speed || r.Reason == "" {
			t.Errorf("at %g instructions per second, and %g of a process: %+v", c.speed, c.own, r)
		}
	}
}

// Another process that gets the processor makes one loop slow, not all of them.
func TestOneSlowLoopDoesNotDecide(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name   string
		loops  []time.Duration
		usable bool
		speed  float64
	}{
		{"fast", []time.Duration{ms / 2, 10 * ms}, true, 100e6},
		{"the first one is slow", []time.Duration{25 * ms, ms, 10 * ms}, true, 100e6},
		{"a longer one is slow", []time.Duration{ms, 40 * ms, 10 * ms}, true, 100e6},
		{"all are slow", []time.Duration{80 * ms, 50 * ms, 40 * ms, 80 * ms}, false, 2.5e6},
		{"too slow for more than two", []time.Duration{400 * ms, 500 * ms}, false, 250e3},
	} {
		t.Run(c.name, func(t *testing.T) {
			left := c.loops
			speed, loops, err := fastest(Fast, func(uint64) (time.Duration, error) {
				if len(left) == 0 {
					t.Fatal("one loop more")
				}
				next := left[0]
				left = left[1:]
				return next, nil
			})
			r := evaluate(speed, 1e9, loops)
			if err != nil || len(left) > 0 || r.Usable != c.usable || speed != c.speed || r.Usable == strings.Contains(r.Reason, fmt.Sprintf("in the fastest of %d loops", loops)) {
				t.Errorf("%v, %d loops left, %+v", err, len(left), r)
			}
		})
	}
}

// runShell runs a child that a shell plays.
func runShell(startTimeout, timeout time.Duration, script string) Result {
	var stderr bytes.Buffer
	child := exec.Command("sh", "-c", script)
	child.Stderr = &stderr
	return run(context.Background(), startTimeout, timeout, child, &stderr)
}

func TestAProbeThatHangsEndsAtTheTimeoutAndItsStepIsNamed(t *testing.T) {
	for step, script := range map[string]string{
		"starting the probe": "exec tail -f /dev/null",
		"creating a VM":      `printf '{"step":"opening it"}\n{"step":"creating a VM"}\n'; exec tail -f /dev/null`, // in one write
	} {
		start := 50 * time.Millisecond
		if step != "starting the probe" {
			start = time.Minute
		}
		r := runShell(start, 50*time.Millisecond, script)
		if r.Usable || r.Reason != Device+" opens, but "+step+" failed: no end within 50ms" {
			t.Errorf("%s: got %+v", step, r)
		}
	}
}

// A large program can take seconds to start where nothing of it is in memory.
func TestTheStartOfTheProbeIsNotPartOfItsTime(t *testing.T) {
	r := runShell(time.Minute, time.Nanosecond, `echo '{"result":{"present":true,"usable":true,"reason":"fast"}}'`)
	if !r.Usable || r.Reason != "fast" {
		t.Errorf("got %+v", r)
	}
}

func TestAProbeThatFailsIsNotUsableAndItsStderrIsInTheReason(t *testing.T) {
	r := runShell(time.Minute, timeout, `echo '{"step":"creating a VM"}'; echo killed by the kernel >&2; exit 3`)
	if r.Usable || r.Reason != Device+" opens, but creating a VM failed: the probe exited (exit status 3): killed by the kernel" {
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
	if words := regexp.MustCompile(`^/dev/kvm opens, but (a virtual CPU runs only .+ in the fastest of \d loops \(usable from 30\), and a process .+: its guests are interpreted|.+ failed: .+)`); first.Present && !first.Usable && !words.MatchString(first.Reason) {
		t.Error("it says neither that loops were slow nor which step failed")
	}
	if first.Usable && first.InstructionsPerSecond < Fast && !strings.Contains(first.Reason, "and a process") {
		t.Errorf("usable at %g instructions per second", first.InstructionsPerSecond)
	}
	if !first.Present && first.InstructionsPerSecond != 0 {
		t.Errorf("absent, yet it ran: %+v", first)
	}
	if second := Probe(context.Background(), timeout); second != first {
		t.Errorf("a second probe: %+v", second)
	}
}

package usage

import (
	"encoding/json"
	"testing"
)

func TestTheCountersOfTheInstancesKernelAreRead(t *testing.T) {
	before := map[string]string{
		"/proc/stat":   "cpu  100 10 50 1000 0 5 6 7 0 0\ncpu0 100 10 50 1000 0 5 6 7 0 0\nintr 1000 5 6\nctxt 5000\nprocesses 100\n",
		"/proc/vmstat": "pgfault 1000\npgmajfault 10\n",
	}
	after := map[string]string{
		"/proc/stat":    "cpu  300 20 150 1500 0 15 26 17 0 0\ncpu0 300 20 150 1500 0 15 26 17 0 0\nintr 1500 5 6\nctxt 5900\nprocesses 103\n",
		"/proc/vmstat":  "pgfault 1800\npgmajfault 12\n",
		"/proc/meminfo": "MemTotal:  1000 kB\nMemFree: 100 kB\nMemAvailable:   600 kB\nBuffers: 10 kB\nCached: 300 kB\nShmem: 20 kB\n",
		"/proc/loadavg": "0.75 0.5 0.25 1/100 1234\n",
	}
	i := InsideOf(before, after)
	for what, v := range map[string][2]Figure{
		"user": {i.CPUUser, Known(2.1)}, "system": {i.CPUSystem, Known(1)}, "irq": {i.IRQ, Known(.1)}, "softirq": {i.SoftIRQ, Known(.2)},
		"steal": {i.Steal, Known(.1)}, "switches": {i.Switches, Known(900)}, "interrupts": {i.Interrupts, Known(500)}, "forks": {i.Forks, Known(3)},
		"minor faults": {i.MinorFaults, Known(798)}, "major faults": {i.MajorFaults, Known(2)}, "memory": {i.MemoryTotal, Known(1024000)},
		"used": {i.MemoryUsed, Known(400 * 1024)}, "cache": {i.Cache, Known(290 * 1024)}, "load": {i.Load, Known(.75)},
	} {
		if d := v[0].Value - v[1].Value; v[0].Missing != "" || d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: %+v, want %+v", what, v[0], v[1])
		}
	}
}

// TestASandboxThatCountsNothingHasNoFigures: gVisor shows lines of zeros.
func TestASandboxThatCountsNothingHasNoFigures(t *testing.T) {
	zeros := map[string]string{"/proc/stat": "cpu  0 0 0 0 0 0 0 0 0 0\nctxt 0\nprocesses 0\nbtime 5\n", "/proc/loadavg": "0.00 0.00 0.00 0/0 0\n"}
	i := InsideOf(zeros, zeros)
	for _, f := range i.figures() {
		if f.Missing == "" {
			t.Errorf("a figure is %g", f.Value)
		}
	}
}

func TestAMissingInsideIsWrittenAsItsReasonAlone(t *testing.T) {
	text, err := json.Marshal(NotInside("the same kernel"))
	if err != nil || string(text) != `{"missing":"the same kernel"}` {
		t.Errorf("%s, %v", text, err)
	}
	var back Inside
	if err := json.Unmarshal(text, &back); err != nil || back.CPUUser.Missing == "" {
		t.Errorf("%+v, %v", back, err)
	}
	known := InsideOf(nil, map[string]string{"/proc/vmstat": "pgfault 5\n"})
	if sum := NotInside("x").plus(known); sum != known {
		t.Errorf("%+v", sum)
	}
	if sum := known.plus(known); sum.MinorFaults != Known(10) {
		t.Errorf("%+v", sum.MinorFaults)
	}
}

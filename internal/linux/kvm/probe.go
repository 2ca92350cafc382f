// Package kvm checks whether this machine's KVM is usable, by timing code in a
// virtual CPU. That /dev/kvm opens and creates virtual CPUs is not enough: where
// virtualization is itself emulated, guests are interpreted, thousands of times
// too slowly, and kernels crash in them.
//
// It must not know VMMs or environments.
package kvm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/base/crash"
)

// Fast is the speed in instructions per second from which KVM is usable.
// Hardware virtualization is more than ten times faster, an interpreter more
// than ten times slower.
const Fast = 100e6

// Device is KVM's device file.
const Device = "/dev/kvm"

// Result is the outcome of a probe.
type Result struct {
	Present bool `json:"present"` // the device exists and opens
	Usable  bool `json:"usable"`  // and runs guest code at the speed of hardware
	// InstructionsPerSecond is 0 if no guest code completed.
	InstructionsPerSecond float64 `json:"instructions_per_second,omitempty"`
	// Reason is one sentence: why it is not usable, or how fast it is.
	Reason string `json:"reason"`
}

// childVariable makes ProbeMain measure, print the result and exit, after
// childTimeout at the latest.
const (
	childVariable = "TARE_KVM_PROBE"
	childTimeout  = 30 * time.Second
)

var mainCalled atomic.Bool

// ProbeMain measures and exits in a process that Probe started; in any other it
// returns at once. A program that calls Probe calls ProbeMain first in main, and
// a test binary in TestMain.
//
// The measurement needs a process of its own because a KVM that hangs blocks the
// calling thread, and a process can be abandoned where a thread cannot. Probe
// executes its own program for that.
func ProbeMain() {
	mainCalled.Store(true)
	if os.Getenv(childVariable) == "" {
		return
	}
	// A parent that was killed cannot end its probe.
	time.AfterFunc(childTimeout, func() { os.Exit(1) })
	_ = json.NewEncoder(os.Stdout).Encode(measure(Device))
	os.Exit(0)
}

var known struct {
	sync.Mutex
	result *Result
}

// Probe times a loop of instructions in a virtual CPU and returns within the
// timeout. The result is kept for the lifetime of the process; that of a
// cancelled probe is not.
func Probe(ctx context.Context, timeout time.Duration) Result {
	known.Lock()
	defer known.Unlock()
	if known.result != nil {
		return *known.result
	}
	r := probe(ctx, timeout, Device)
	if ctx.Err() == nil {
		known.result = &r
	}
	return r
}

func probe(ctx context.Context, timeout time.Duration, device string) Result {
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Result{Reason: device + " does not exist: the kernel offers no hardware virtualization"}
	case errors.Is(err, fs.ErrPermission):
		return Result{Reason: device + " may not be opened by this user: run as root or as a member of the group kvm"}
	case err != nil:
		return Result{Reason: fmt.Sprintf("opening %s: %v", device, err)}
	}
	file.Close()

	if !mainCalled.Load() {
		panic("kvm: Probe in a program that does not call ProbeMain: its child would be the whole program again")
	}
	self, err := os.Executable()
	if err != nil {
		return Result{Present: true, Reason: fmt.Sprintf("finding tare's executable to run the probe: %v", err)}
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childVariable+"=1")
	var stderr bytes.Buffer
	child.Stderr = &stderr
	return run(ctx, timeout, child, &stderr)
}

// run waits for the child's result, but not longer than the timeout: a child that
// cannot be killed because it hangs in the kernel is reaped in the background.
func run(ctx context.Context, timeout time.Duration, child *exec.Cmd, stderr *bytes.Buffer) Result {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stdout, err := child.StdoutPipe()
	if err != nil {
		return Result{Present: true, Reason: fmt.Sprintf("creating the probe's pipe: %v", err)}
	}
	if err := child.Start(); err != nil {
		return Result{Present: true, Reason: fmt.Sprintf("starting the probe: %v", err)}
	}
	result := make(chan Result, 1)
	crash.Go(func() {
		output, _ := io.ReadAll(stdout)
		end := child.Wait()
		var r Result
		if err := json.Unmarshal(output, &r); err != nil {
			r = Result{Present: true, Reason: fmt.Sprintf("the probe exited without a result (%v): %s", end, strings.TrimSpace(stderr.String()))}
		}
		result <- r
	})
	select {
	case r := <-result:
		return r
	case <-ctx.Done():
		_ = child.Process.Kill()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Result{Present: true, Reason: fmt.Sprintf("%s opens, but a loop of %d instructions did not end within %v", Device, firstLoop, timeout)}
		}
		return Result{Present: true, Reason: "the probe was interrupted"}
	}
}

// firstLoop is the number of instructions of the first loop, few enough for an
// interpreter to complete.
const firstLoop = 200_000

// minDuration is how long a loop must take for its speed to be accurate.
const minDuration = 10 * time.Millisecond

// measure runs longer and longer loops until one takes minDuration.
func measure(device string) Result {
	m, err := newMachine(device)
	if err != nil {
		return Result{Present: true, Reason: err.Error()}
	}
	for n := uint64(firstLoop); ; n *= 10 {
		elapsed, err := m.loop(n)
		if err != nil {
			return Result{Present: true, Reason: err.Error()}
		}
		if elapsed >= minDuration {
			return evaluate(float64(n) / elapsed.Seconds())
		}
	}
}

func evaluate(speed float64) Result {
	r := Result{Present: true, Usable: speed >= Fast, InstructionsPerSecond: speed}
	if r.Usable {
		r.Reason = fmt.Sprintf("a virtual CPU runs %.0f million instructions per second", speed/1e6)
	} else {
		r.Reason = fmt.Sprintf("%s opens, but a virtual CPU runs only %.3g million instructions per second (usable from %.0f): its guests are interpreted", Device, speed/1e6, Fast/1e6)
	}
	return r
}

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
	"tare/internal/linux/permission"
)

// Fast is the speed in instructions per second from which KVM is usable. An
// interpreter was seen at 0.5 to 8 million, a processor that QEMU translates at 11 (on a
// busy host) to 990; hardware is faster.
const Fast = 30e6

// near: a slower virtual CPU is no interpreter's if this process is not that many times as
// fast. The processor is slow then, as an emulated one on a busy host is.
const near = 4

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

// childVariable makes ProbeMain measure, print messages and exit, after
// childTimeout at the latest.
const (
	childVariable = "TARE_KVM_PROBE"
	childTimeout  = 30 * time.Second
)

// message is what the child prints, as a line of JSON: the step that it begins, or,
// at the end, the result.
type message struct {
	Step   string  `json:"step,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// The steps that messages to the user treat differently from others.
const (
	starting = "starting the probe"
	opening  = "opening it"
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
	out := json.NewEncoder(os.Stdout)
	result := measure(Device, func(step string) { _ = out.Encode(message{Step: step}) })
	_ = out.Encode(message{Result: &result})
	os.Exit(0)
}

var known struct {
	sync.Mutex
	result *Result
}

// Probe times a loop of instructions in a virtual CPU. Each of its steps, such as one
// loop, may take as long as the timeout; the start of its process has a limit of its
// own, since it reads a large program, which says nothing about KVM. The result is
// kept for the lifetime of the process; that of a cancelled probe is not.
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
		return Result{Reason: device + " may not be opened by this user: " + permission.Fix(device)}
	case err != nil:
		return Result{Reason: sentence(device, opening, err)}
	}
	file.Close()

	if !mainCalled.Load() {
		panic("kvm: Probe in a program that does not call ProbeMain: its child would be the whole program again")
	}
	self, err := os.Executable()
	if err != nil {
		return Result{Present: true, Reason: sentence(device, starting, err)}
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childVariable+"=1")
	var stderr bytes.Buffer
	child.Stderr = &stderr
	return run(ctx, startTimeout, timeout, child, &stderr)
}

// startTimeout bounds the start of the child, which the page cache decides.
const startTimeout = 20 * time.Second

// run waits for the child's result, but not longer for a step than the timeout: a child
// that cannot be killed because it hangs in the kernel is reaped in the background.
func run(ctx context.Context, startTimeout, timeout time.Duration, child *exec.Cmd, stderr *bytes.Buffer) Result {
	failed := func(step string, why any) Result { return Result{Present: true, Reason: sentence(Device, step, why)} }
	stdout, err := child.StdoutPipe()
	if err != nil {
		return failed(starting, err)
	}
	if err := child.Start(); err != nil {
		return failed(starting, err)
	}
	messages, unheard := make(chan message), make(chan struct{})
	defer close(unheard)
	var end error
	crash.Go(func() {
		defer close(messages)
		for lines := json.NewDecoder(stdout); ; {
			var m message
			if lines.Decode(&m) != nil {
				break
			}
			select {
			case messages <- m:
			case <-unheard:
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		end = child.Wait()
	})
	step, limit := starting, startTimeout
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case m, more := <-messages:
			switch {
			case m.Result != nil:
				return *m.Result
			case !more:
				return failed(step, fmt.Sprintf("the probe exited (%v): %s", end, strings.TrimSpace(stderr.String())))
			}
			step, limit = m.Step, timeout
			timer.Reset(limit)
		case <-timer.C:
			_ = child.Process.Kill()
			return failed(step, fmt.Sprintf("no end within %v", limit))
		case <-ctx.Done():
			_ = child.Process.Kill()
			return Result{Present: true, Reason: "the probe was interrupted"}
		}
	}
}

// sentence says which step of a probe failed, and why.
func sentence(device, step string, why any) string {
	if step == opening {
		return fmt.Sprintf("opening %s failed: %v", device, why)
	}
	return fmt.Sprintf("%s opens, but %s failed: %v", device, step, why)
}

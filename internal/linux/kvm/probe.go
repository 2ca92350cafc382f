// Package kvm judges whether this machine's KVM is worth using, by running
// code in a virtual CPU and counting. That /dev/kvm opens and creates virtual
// CPUs proves nothing: where virtualization is itself emulated, guests are
// interpreted thousands of times too slowly and kernels die in them.
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
	"time"
)

// Fast is the speed, in instructions a second, from which KVM counts as
// usable. Real virtualization is more than ten times above it, an interpreter
// more than ten times below.
const Fast = 100e6

// Device is what KVM is reached through.
const Device = "/dev/kvm"

// Result is what the probe found.
type Result struct {
	Present bool `json:"present"` // the device is there and opens
	Usable  bool `json:"usable"`  // and runs guest code at a processor's speed
	// InstructionsPerSecond is 0 when no guest code came to its end.
	InstructionsPerSecond float64 `json:"instructions_per_second,omitempty"`
	// Reason is one sentence for people: why it is not usable, or how fast it is.
	Reason string `json:"reason"`
}

// childWord makes a process that contains this package measure, print and end,
// at the latest after childLife.
const (
	childWord = "TARE_KVM_PROBE"
	childLife = 30 * time.Second
)

// The measurement runs in a process of its own, because a KVM that hangs takes
// the calling thread with it, and a process can be abandoned where a thread
// cannot. The process is this very program, and it turns into the probe before
// main so that no program that imports this package can forget to do it (a
// test binary would run its tests again instead).
func init() {
	if os.Getenv(childWord) == "" {
		return
	}
	// A parent that was killed cannot end its probe any more.
	time.AfterFunc(childLife, func() { os.Exit(1) })
	_ = json.NewEncoder(os.Stdout).Encode(measure(Device))
	os.Exit(0)
}

var known struct {
	sync.Mutex
	result *Result
}

// Probe runs a counted loop in a virtual CPU and returns within the limit. The
// answer is kept for the life of the process; an interrupted probe is not.
func Probe(ctx context.Context, limit time.Duration) Result {
	known.Lock()
	defer known.Unlock()
	if known.result != nil {
		return *known.result
	}
	r := probe(ctx, limit, Device)
	if ctx.Err() == nil {
		known.result = &r
	}
	return r
}

func probe(ctx context.Context, limit time.Duration, device string) Result {
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

	self, err := os.Executable()
	if err != nil {
		return Result{Present: true, Reason: fmt.Sprintf("finding the own program to run the probe: %v", err)}
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childWord+"=1")
	var stderr bytes.Buffer
	child.Stderr = &stderr
	return run(ctx, limit, child, &stderr)
}

// run waits for the child's verdict, but never longer than the limit: a child
// that cannot be ended, because it sticks in the kernel, is left to be reaped
// in the background.
func run(ctx context.Context, limit time.Duration, child *exec.Cmd, stderr *bytes.Buffer) Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stdout, err := child.StdoutPipe()
	if err != nil {
		return Result{Present: true, Reason: fmt.Sprintf("making the probe's pipe: %v", err)}
	}
	if err := child.Start(); err != nil {
		return Result{Present: true, Reason: fmt.Sprintf("starting the probe: %v", err)}
	}
	answer := make(chan Result, 1)
	go func() {
		said, _ := io.ReadAll(stdout)
		end := child.Wait()
		var r Result
		if err := json.Unmarshal(said, &r); err != nil {
			r = Result{Present: true, Reason: fmt.Sprintf("the probe died without an answer (%v): %s", end, strings.TrimSpace(stderr.String()))}
		}
		answer <- r
	}()
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
		_ = child.Process.Kill()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Result{Present: true, Reason: fmt.Sprintf("%s opens, but a loop of %d instructions did not end within %v", Device, firstLoop, limit)}
		}
		return Result{Present: true, Reason: "the probe was interrupted"}
	}
}

// firstLoop is how many instructions the first loop has: short enough for an
// interpreter to reach its end.
const firstLoop = 200_000

// long is how long a loop must take for its speed to be believed.
const long = 10 * time.Millisecond

// measure runs ever longer loops until one takes long enough to be timed.
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
		if elapsed >= long {
			return judge(float64(n) / elapsed.Seconds())
		}
	}
}

func judge(speed float64) Result {
	r := Result{Present: true, Usable: speed >= Fast, InstructionsPerSecond: speed}
	if r.Usable {
		r.Reason = fmt.Sprintf("a virtual CPU runs %.0f million instructions a second", speed/1e6)
	} else {
		r.Reason = fmt.Sprintf("%s opens, but a virtual CPU runs only %.3g million instructions a second (usable from %.0f): its guests are interpreted", Device, speed/1e6, Fast/1e6)
	}
	return r
}

// Command fakefirecracker is a test double of Firecracker: it implements its API as
// published in its OpenAPI description, with the error responses that a real one gave
// (testdata/recorded.json), and lets QEMU emulate the guest. See package fakevmm for
// what it lacks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"tare/internal/environment/support/microvm"
	"tare/internal/testing/fakevmm"
)

const version = "1.17.0-dev"

// vmm is the state of the VMM.
type vmm struct {
	id, state string // Not started, Running, Paused
	bootTimer bool
	began     time.Time

	log, metrics string
	machine      machineConfig
	boot         bootSource
	drives       []drive
	nets         []netInterface
	vsock        *vsock
	taps         []*os.File // open until the guest's emulator opens them
	configured   bool       // resources that a snapshot has itself
	broken       bool       // it exits after its answer

	guest   fakevmm.Guest
	running *fakevmm.Machine
}

func main() {
	flags := flag.NewFlagSet("firecracker", flag.ExitOnError)
	show := flags.Bool("version", false, "")
	socket := flags.String("api-sock", "/run/firecracker.socket", "")
	id := flags.String("id", "anonymous-instance", "")
	timer := flags.Bool("boot-timer", false, "")
	flags.Uint64("start-time-us", 0, "")
	flags.Uint64("start-time-cpu-us", 0, "")
	flags.Uint64("parent-cpu-time-us", 0, "")
	_ = flags.Parse(os.Args[1:])
	if *show {
		fmt.Printf("Firecracker v%s %s\n", version, microvm.FakeMarker)
		return
	}
	if strings.Trim(*id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" || len(*id) > 64 {
		fmt.Fprintf(os.Stderr, "Error: RunWithApi error: Invalid instance ID: Invalid char or length in %q\n", *id)
		os.Exit(1)
	}
	v := &vmm{id: *id, state: "Not started", bootTimer: *timer, began: time.Now(), machine: machineConfig{CPUs: 1, Memory: 128, HugePages: "None"}, nets: []netInterface{}, drives: []drive{}}
	if err := fakevmm.Serve(*socket, v.handle, v.sent); err != nil {
		fmt.Fprintln(os.Stderr, "Error: Failed to open the API socket:", err)
		os.Exit(1)
	}
}

func (v *vmm) say(level, format string, values ...any) {
	if v.log == "" {
		return
	}
	if f, err := os.OpenFile(v.log, os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintf(f, "%s [%s:fc_api:%s] %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000000000"), v.id, level, fmt.Sprintf(format, values...))
		f.Close()
	}
}

// handle logs a request and its error response.
func (v *vmm) handle(method, path string, body []byte) (int, any) {
	v.say("INFO", "The API server received a %s request on %q with body %q.", method, path, body)
	answer, err := v.do(method, path, body)
	switch {
	case err != nil:
		v.say("ERROR", "Received Error. Status code: 400 Bad Request. Message: %v", err)
		return http.StatusBadRequest, map[string]string{"fault_message": err.Error()}
	case answer == nil:
		return http.StatusNoContent, nil
	}
	return http.StatusOK, answer
}

// sent exits after a request that broke the VMM.
func (v *vmm) sent() {
	if v.broken {
		os.Exit(1)
	}
}

// do executes a request.
func (v *vmm) do(method, path string, body []byte) (any, error) {
	route, id, _ := strings.Cut(strings.Trim(path, "/"), "/")
	switch {
	case method == http.MethodGet && len(body) > 0:
		return nil, errors.New("GET request cannot have a body.")
	case (method == http.MethodPut || method == http.MethodPatch) && len(body) == 0:
		return nil, fmt.Errorf("Empty %s request.", method)
	}
	switch method + " " + route {
	case "GET ":
		return map[string]string{"app_name": "Firecracker", "id": v.id, "state": v.state, "vmm_version": version}, nil
	case "GET version":
		return map[string]string{"firecracker_version": version}, nil
	case "GET machine-config":
		return v.machine, nil
	case "GET vm":
		if id == "config" {
			return map[string]any{"machine-config": v.machine, "boot-source": v.boot, "drives": v.drives,
				"network-interfaces": v.nets, "vsock": v.vsock}, nil
		}
	case "PUT logger":
		return nil, decoded(body, v.setLogger)
	case "PUT metrics":
		return nil, decoded(body, v.setMetrics)
	case "PUT machine-config":
		return nil, configure(v, body, v.setMachine)
	case "PUT boot-source":
		return nil, configure(v, body, v.setBoot)
	case "PUT drives":
		return nil, configureID(v, id, body, &v.drives, func(drive) string { return "The id from the path does not match the id from the body!" }, v.checkDrive)
	case "PUT network-interfaces":
		return nil, configureID(v, id, body, &v.nets, func(n netInterface) string {
			return fmt.Sprintf("The id from the path [%s] does not match the id from the body [%s]!", id, n.ID)
		}, v.checkNet)
	case "PUT vsock":
		return nil, configure(v, body, v.setVSock)
	case "PUT actions":
		return nil, decoded(body, v.act)
	case "PATCH vm":
		return nil, decoded(body, v.setState)
	case "PUT snapshot":
		switch id {
		case "create":
			return nil, decoded(body, v.createSnapshot)
		case "load":
			return nil, decoded(body, v.loadSnapshot)
		}
		route = path
	}
	return nil, fmt.Errorf("Invalid request method and/or path: %s %s.", method, route)
}

type action struct {
	Type string `json:"action_type" need:"yes" one:"FlushMetrics InstanceStart SendCtrlAltDel"`
}

// act starts the guest.
func (v *vmm) act(a action) error {
	switch {
	case a.Type != "InstanceStart" && v.running == nil:
		return errBeforeStart
	case a.Type != "InstanceStart":
		return nil
	case v.running != nil:
		return errAfterStart
	case v.boot.Kernel == "":
		return errors.New("Start microvm error: Cannot start microvm without kernel configuration.")
	}
	if err := v.checkLine(); err != nil {
		return fmt.Errorf("Start microvm error: %w", err)
	}
	for _, tap := range v.taps {
		tap.Close()
	}
	v.guest = v.guestConfig()
	if err := v.run("", true); err != nil {
		return fmt.Errorf("Start microvm error: %w", err)
	}
	return nil
}

type vmState struct {
	State string `json:"state" need:"yes" one:"Paused Resumed"`
}

// setState pauses and resumes the guest.
func (v *vmm) setState(s vmState) error {
	if v.running == nil {
		return errBeforeStart
	}
	if s.State == "Paused" {
		v.state = "Paused"
		return v.running.Pause(context.Background())
	}
	v.state = "Running"
	return v.running.Resume(context.Background())
}

// run starts QEMU with the guest.
func (v *vmm) run(saved string, resume bool) (err error) {
	if v.running, err = fakevmm.Start(context.Background(), v.guest, saved); err != nil {
		return err
	}
	go v.wait()
	if v.bootTimer {
		go v.timeBoot()
	}
	v.state = "Paused"
	if resume {
		return v.setState(vmState{"Resumed"})
	}
	return nil
}

// timeBoot logs the boot timer's line when the agent has opened its port: the fake
// has no boot timer device, and does not know the processor time.
func (v *vmm) timeBoot() {
	began := time.Now()
	<-v.running.Opened
	took := time.Since(began)
	v.say("INFO", "Guest-boot-time = %6d us %d ms, %6d CPU us %d CPU ms", took.Microseconds(), took.Milliseconds(), 0, 0)
}

// wait exits with the guest.
func (v *vmm) wait() {
	_, err := v.running.Wait()
	if v.metrics != "" {
		_ = os.WriteFile(v.metrics, []byte("{}\n"), 0o600)
	}
	if err != nil {
		v.say("ERROR", "Vcpu error: %v", err)
		os.Exit(1)
	}
	v.say("INFO", "Vmm is stopping.")
	os.Exit(0)
}

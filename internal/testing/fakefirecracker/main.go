// Command double stands in for Firecracker in tests: it speaks its API as
// published in its OpenAPI description, version 1.12, with the refusals, and
// has QEMU emulate the guest. See package fakevmm for what it is not.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"tare/internal/environment/support/microvm"
	"tare/internal/testing/fakevmm"
)

const version = "1.12.0"

// vmm is the state of the program.
type vmm struct {
	id, state string // Not started, Running, Paused
	bootTimer bool
	began     time.Time

	log, metrics string
	machine      machineConfig
	boot         *bootSource
	drives       []drive
	nets         []netInterface
	vsock        *vsock
	configured   bool // something that a snapshot would bring itself

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
	v := &vmm{id: *id, state: "Not started", bootTimer: *timer, began: time.Now(), machine: machineConfig{CPUs: 1, Memory: 128}}
	if err := fakevmm.Serve(*socket, v.handle); err != nil {
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

// The refusals that many requests share.
const (
	afterStart  = "The requested operation is not supported after starting the microVM."
	beforeStart = "The requested operation is not supported before starting the microVM."
)

func (v *vmm) handle(w http.ResponseWriter, method, path string, body []byte) {
	v.say("INFO", "The API server received a %s request on %q with body %q.", method, path, body)
	answer, err := v.do(method, path, body)
	switch {
	case err != nil:
		v.say("ERROR", "Received Error. Status code: 400 Bad Request. Message: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		answer = map[string]string{"fault_message": err.Error()}
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// do carries a request out.
func (v *vmm) do(method, path string, body []byte) (any, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	route, id := parts[0], strings.Join(parts[1:], "/")
	switch {
	case method == http.MethodGet && len(body) > 0:
		return nil, fmt.Errorf("GET request cannot have a body.")
	case method == http.MethodPut && len(body) == 0:
		return nil, fmt.Errorf("Empty PUT request.")
	case method == http.MethodPatch && len(body) == 0:
		return nil, fmt.Errorf("Empty PATCH request.")
	}
	switch method + " " + route {
	case "GET ":
		return map[string]string{"app_name": "Firecracker", "id": v.id, "state": v.state, "vmm_version": version}, nil
	case "GET version":
		return map[string]string{"firecracker_version": version}, nil
	case "GET machine-config":
		return v.machine, nil
	case "GET vm":
		if id != "config" {
			return nil, fmt.Errorf("Invalid request method and/or path: GET %s.", path)
		}
		return map[string]any{"machine-config": v.machine, "boot-source": v.boot, "drives": v.drives,
			"network-interfaces": v.nets, "vsock": v.vsock}, nil
	case "PUT logger":
		return nil, v.setLogger(body)
	case "PUT metrics":
		return nil, v.setMetrics(body)
	case "PUT machine-config", "PUT boot-source", "PUT drives", "PUT network-interfaces", "PUT vsock":
		return nil, v.configure(route, id, body)
	case "PUT actions":
		return nil, v.act(body)
	case "PATCH vm":
		return nil, v.change(body)
	case "PUT snapshot":
		switch id {
		case "create":
			return nil, v.create(body)
		case "load":
			return nil, v.load(body)
		}
		return nil, fmt.Errorf("Unrecognized PUT request path `%s`.", id)
	}
	return nil, fmt.Errorf("Invalid request method and/or path: %s %s.", method, route)
}

func decode(body []byte, into any) error {
	if err := fakevmm.Decode(body, into); err != nil {
		return fmt.Errorf("An error occurred when deserializing the json body of a request: %w.", err)
	}
	return nil
}

// act starts the guest and the like.
func (v *vmm) act(body []byte) error {
	var a struct {
		Type string `json:"action_type"`
	}
	if err := decode(body, &a); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"InstanceStart", "FlushMetrics", "SendCtrlAltDel"}, a.Type):
		return fmt.Errorf("An error occurred when deserializing the json body of a request: unknown variant `%s`, expected one of `FlushMetrics`, `InstanceStart`, `SendCtrlAltDel` at line 1 column 1.", a.Type)
	case a.Type != "InstanceStart" && v.running == nil:
		return fmt.Errorf(beforeStart)
	case a.Type != "InstanceStart":
		return nil
	case v.running != nil:
		return fmt.Errorf(afterStart)
	case v.boot == nil:
		return fmt.Errorf("Start microvm error: Cannot start microvm without kernel configuration.")
	}
	v.guest = v.define()
	if err := v.run("", true); err != nil {
		return fmt.Errorf("Start microvm error: %w", err)
	}
	return nil
}

// run makes the guest, and lets it run.
func (v *vmm) run(saved string, resume bool) (err error) {
	ctx := context.Background()
	if v.running, err = fakevmm.Start(ctx, v.guest, saved); err != nil {
		return err
	}
	go v.bury()
	if v.bootTimer {
		go v.clock()
	}
	if err := v.running.Bridge(&v.guest); err != nil {
		return fmt.Errorf("Cannot create backend for vsock device: UnixBind(%w)", err)
	}
	v.state = "Paused"
	if resume {
		v.state = "Running"
		return v.running.Resume(ctx)
	}
	return nil
}

// clock writes the boot timer's line when the agent is at its port: the double
// has no device to be written to.
func (v *vmm) clock() {
	began := time.Now()
	<-v.running.Opened
	took := time.Since(began)
	v.say("INFO", "Guest-boot-time = %6d us %d ms, %6d CPU us %d CPU ms", took.Microseconds(), took.Milliseconds(), 0, 0) // it knows no processor time
}

// bury ends the program with its guest.
func (v *vmm) bury() {
	<-v.running.Wait()
	if v.metrics != "" {
		_ = os.WriteFile(v.metrics, []byte("{}\n"), 0o600)
	}
	if err := v.running.Status(); err != nil {
		v.say("ERROR", "Vcpu error: %v", err)
		os.Exit(1)
	}
	v.say("INFO", "Vmm is stopping.")
	os.Exit(0)
}

// change pauses and resumes.
func (v *vmm) change(body []byte) error {
	var s struct {
		State string `json:"state"`
	}
	if err := decode(body, &s); err != nil {
		return err
	}
	if v.running == nil {
		return fmt.Errorf(beforeStart)
	}
	switch s.State {
	case "Paused":
		v.state = "Paused"
		return v.running.Pause(context.Background())
	case "Resumed":
		v.state = "Running"
		return v.running.Resume(context.Background())
	}
	return fmt.Errorf("An error occurred when deserializing the json body of a request: unknown variant `%s`, expected `Paused` or `Resumed` at line 1 column 1.", s.State)
}

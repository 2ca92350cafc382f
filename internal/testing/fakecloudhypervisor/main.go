// Command fakecloudhypervisor is a test double of Cloud Hypervisor: it implements
// its API as published in its OpenAPI description, with the error responses that a
// real one gave (testdata/recorded.json), and lets QEMU emulate the guest. See package
// fakevmm for what it lacks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/environment/support/microvm"
	"tare/internal/testing/fakevmm"
)

const version = "53.0.0"

// hypervisor is the state of the VMM.
type hypervisor struct {
	log, events *os.File

	config  *config // of the VM, once there is one
	built   bool    // the VM was made, and booted unless its kernel was missing
	guest   fakevmm.Guest
	running *fakevmm.Machine
	state   string // Created, Running, Paused, Shutdown
	over    bool   // it exits after its answer
}

func main() {
	flags := flag.NewFlagSet("cloud-hypervisor", flag.ExitOnError)
	show := flags.Bool("version", false, "")
	socket := flags.String("api-socket", "", "")
	log := flags.String("log-file", "", "")
	events := flags.String("event-monitor", "", "")
	flags.Bool("v", false, "")
	_ = flags.Parse(os.Args[1:])
	if *show {
		fmt.Printf("cloud-hypervisor v%s %s\n", version, microvm.FakeMarker)
		return
	}
	h := &hypervisor{log: os.Stderr}
	if *log != "" {
		f, err := os.OpenFile(*log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, "Error creating log file:", err)
			os.Exit(1)
		}
		h.log = f
	}
	if number, ok := strings.CutPrefix(*events, "fd="); ok {
		fd, _ := strconv.Atoi(number)
		h.events = os.NewFile(uintptr(fd), "events")
	}
	if err := fakevmm.Serve(strings.TrimPrefix(*socket, "path="), h.handle, h.sent); err != nil {
		fmt.Fprintln(os.Stderr, "Error: Cloud Hypervisor exited with the following error:", err)
		os.Exit(1)
	}
}

func (h *hypervisor) say(level, format string, values ...any) {
	fmt.Fprintf(h.log, "cloud-hypervisor: %s <http-server> %s:vmm -- %s\n", time.Now().Format("15.000000s"), level, fmt.Sprintf(format, values...))
}

// event logs an event, and writes it to the event monitor.
func (h *hypervisor) event(source, event string) {
	h.say("INFO", "Event: source = %s event = %s", source, event)
	if h.events != nil {
		fmt.Fprintf(h.events, "{\n  \"timestamp\": {\"secs\": 0, \"nanos\": 0},\n  \"source\": %q,\n  \"event\": %q,\n  \"properties\": null\n}\n\n", source, event)
	}
}

// refusal is an error response of the API, with its chain of causes.
type refusal struct {
	status int
	causes []string
}

func (r *refusal) Error() string { return strings.Join(r.causes, ": ") }

func refuse(status int, causes ...string) error {
	return &refusal{status, append([]string{"Error from API"}, causes...)}
}

func failed(causes ...string) error { return refuse(http.StatusInternalServerError, causes...) }

// failedBy refuses because of an error, with its causes.
func failedBy(what string, err error) error {
	var chain causes
	if !errors.As(err, &chain) {
		chain = causes{err.Error()}
	}
	return failed(append([]string{what}, chain...)...)
}

// handle logs a request and its error response.
func (h *hypervisor) handle(method, path string, body []byte) (int, any) {
	h.say("INFO", "API request event: %s %s", method, path)
	answer, err := h.do(method, strings.TrimPrefix(path, "/api/v1"), body)
	switch refused := (*refusal)(nil); {
	case err == nil && answer == nil && h.over:
		return http.StatusOK, nil
	case err == nil && answer == nil:
		return http.StatusNoContent, nil
	case err == nil:
		return http.StatusOK, answer
	case !errors.As(err, &refused):
		err = failed(err.Error())
	}
	h.say("INFO", "HTTP API error response: %v", err)
	refused := err.(*refusal)
	if refused.causes == nil {
		return refused.status, nil
	}
	return refused.status, refused.causes
}

// sent exits after a shutdown.
func (h *hypervisor) sent() {
	if h.over {
		os.Exit(0)
	}
}

// do executes a request.
func (h *hypervisor) do(method, path string, body []byte) (any, error) {
	ctx := context.Background()
	switch method + " " + path {
	case "GET /vmm.ping":
		return map[string]any{"build_version": "v" + version, "version": version, "pid": os.Getpid(), "features": []string{"io_uring", "kvm"}}, nil
	case "GET /vm.info":
		if h.config == nil {
			return nil, refuse(http.StatusNotFound, "The VM info is not available", "VM is not created")
		}
		return map[string]any{"config": h.config, "state": h.state, "memory_actual_size": h.config.Memory.Size}, nil
	case "PUT /vmm.shutdown":
		h.event("vmm", "shutdown")
		h.over = true
		return nil, nil
	case "PUT /vm.create":
		return nil, h.create(body)
	case "PUT /vm.boot":
		return nil, h.boot()
	case "PUT /vm.pause":
		return nil, h.change(ctx, "The VM could not be paused", "pause", "Paused")
	case "PUT /vm.resume":
		return nil, h.change(ctx, "The VM could not resume", "resume", "Running")
	case "PUT /vm.snapshot":
		return nil, h.snapshot(ctx, body)
	case "PUT /vm.restore":
		return nil, h.restore(ctx, body)
	}
	switch known := slices.Contains([]string{"/vmm.ping", "/vm.info", "/vmm.shutdown", "/vm.create", "/vm.boot", "/vm.pause", "/vm.resume", "/vm.snapshot", "/vm.restore"}, path); {
	case !known:
		return nil, &refusal{http.StatusNotFound, []string{"Not Found"}}
	case method == http.MethodGet || method == http.MethodPut:
		return nil, &refusal{http.StatusBadRequest, []string{"Bad Request"}}
	}
	return nil, &refusal{http.StatusBadRequest, nil}
}

// change pauses or resumes the VM.
func (h *hypervisor) change(ctx context.Context, what, verb, to string) error {
	switch {
	case !h.built:
		return failed(what, "VM is not running")
	case h.state == to:
		return failed(what, "Cannot "+verb+" VM", "Failed to "+verb+" migratable component", fmt.Sprintf("Invalid transition: InvalidStateTransition(%s, %s)", to, to))
	}
	h.state = to
	h.event("vm", strings.TrimSuffix(verb, "e")+"ing")
	defer h.event("vm", strings.TrimSuffix(verb, "e")+"ed")
	switch {
	case h.running == nil:
		return nil
	case to == "Paused":
		return h.running.Pause(ctx)
	}
	return h.running.Resume(ctx)
}

func (h *hypervisor) boot() (err error) {
	const what = "The VM could not boot"
	switch {
	case h.built:
		return failed(what, "VM is already created")
	case h.config == nil:
		return refuse(http.StatusNotFound, what, "VM config is missing")
	}
	h.event("vm", "booting")
	h.guest, err = h.config.guestOf()
	h.built = err == nil || errors.Is(err, errKernel)
	if err != nil {
		return failedBy(what, err)
	}
	if err := h.run(""); err != nil {
		return failed(what, err.Error())
	}
	h.state = "Running"
	h.event("vm", "booted")
	return h.running.Resume(context.Background())
}

// run starts QEMU with the guest, paused.
func (h *hypervisor) run(saved string) (err error) {
	if h.running, err = fakevmm.Start(context.Background(), h.guest, saved); err == nil {
		go h.wait(h.running)
	}
	return err
}

// wait exits with a guest that powered off. One that reset itself boots again.
func (h *hypervisor) wait(m *fakevmm.Machine) {
	reset, err := m.Wait()
	if err != nil {
		h.say("ERROR", "VCPU thread error: %v", err)
		os.Exit(1)
	}
	if !reset {
		h.event("vm", "shutdown")
		os.Exit(0)
	}
	h.event("vm", "rebooting")
	_ = os.Remove(h.guest.VSock)
	if err := h.run(""); err != nil {
		os.Exit(1)
	}
	h.event("vm", "rebooted")
	_ = h.running.Resume(context.Background())
}

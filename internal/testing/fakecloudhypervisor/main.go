// Command fakecloudhypervisor is a test double of Cloud Hypervisor: it implements
// its API as published in its OpenAPI description, with the error responses, and
// lets QEMU emulate the guest. See package fakevmm for what it lacks.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"tare/internal/environment/support/microvm"
	"tare/internal/testing/fakevmm"
)

const version = "v45.0.0"

// hypervisor is the state of the VMM.
type hypervisor struct {
	log, events *os.File

	config  *config // of the VM, once there is one
	guest   fakevmm.Guest
	running *fakevmm.Machine
	state   string // Created, Running, Paused, Shutdown
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
		fmt.Printf("cloud-hypervisor %s %s\n", version, microvm.FakeMarker)
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
	if err := fakevmm.Serve(strings.TrimPrefix(*socket, "path="), h.handle); err != nil {
		fmt.Fprintln(os.Stderr, "Error: Cloud Hypervisor exited with the following error:", err)
		os.Exit(1)
	}
}

func (h *hypervisor) say(level, format string, values ...any) {
	fmt.Fprintf(h.log, "cloud-hypervisor: %s <http-server> %s:vmm -- %s\n", time.Now().Format("15.000000s"), level, fmt.Sprintf(format, values...))
}

// event writes an event of the event monitor.
func (h *hypervisor) event(source, event string) {
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

// handle logs a request and its error response.
func (h *hypervisor) handle(method, path string, body []byte) (int, any) {
	h.say("INFO", "API request event: %s %s", method, path)
	answer, err := h.do(method, strings.TrimPrefix(path, "/api/v1"), body)
	switch refused := (*refusal)(nil); {
	case err == nil && answer == nil:
		return http.StatusNoContent, nil
	case err == nil:
		return http.StatusOK, answer
	case !errors.As(err, &refused):
		err = failed(err.Error())
	}
	h.say("INFO", "HTTP API error response: %v", err)
	refused := err.(*refusal)
	return refused.status, refused.causes
}

// do executes a request.
func (h *hypervisor) do(method, path string, body []byte) (any, error) {
	ctx := context.Background()
	switch method + " " + path {
	case "GET /vmm.ping":
		return map[string]any{"build_version": version, "version": version, "pid": os.Getpid(), "features": []string{}}, nil
	case "GET /vm.info":
		if h.config == nil {
			return nil, refuse(http.StatusNotFound, "The VM info is not available", "VM is not created")
		}
		return map[string]any{"config": h.config, "state": h.state, "memory_actual_size": h.config.Memory.Size}, nil
	case "PUT /vmm.shutdown":
		h.event("vmm", "shutdown")
		time.AfterFunc(time.Millisecond, func() { os.Exit(0) }) // after the response
		return nil, nil
	case "PUT /vm.create":
		return nil, h.create(body)
	case "PUT /vm.boot":
		return nil, h.boot()
	case "PUT /vm.pause":
		if err := h.change("The VM could not be paused", "Running", "Paused", "paused"); err != nil {
			return nil, err
		}
		return nil, h.running.Pause(ctx)
	case "PUT /vm.resume":
		if err := h.change("The VM could not resume", "Paused", "Running", "resumed"); err != nil {
			return nil, err
		}
		return nil, h.running.Resume(ctx)
	case "PUT /vm.snapshot":
		return nil, h.snapshot(ctx, body)
	case "PUT /vm.restore":
		return nil, h.restore(ctx, body)
	}
	if strings.HasPrefix(path, "/vm.") || strings.HasPrefix(path, "/vmm.") {
		return nil, &refusal{http.StatusBadRequest, []string{"Bad Request"}}
	}
	return nil, &refusal{http.StatusNotFound, []string{"Not Found"}}
}

// change changes the state of the VM, and refuses any other transition.
func (h *hypervisor) change(what, from, to, event string) error {
	switch {
	case h.config == nil:
		return refuse(http.StatusNotFound, what, "VM is not created")
	case h.running == nil:
		return refuse(http.StatusMethodNotAllowed, what, "VM is not running")
	case h.state != from:
		return refuse(http.StatusMethodNotAllowed, what, fmt.Sprintf("VM is %s, not %s", h.state, from))
	}
	h.state = to
	h.event("vm", event)
	return nil
}

func (h *hypervisor) boot() error {
	const what = "The VM could not boot"
	switch {
	case h.config == nil:
		return refuse(http.StatusNotFound, what, "VM is not created")
	case h.running != nil:
		return failed(what, "VM is already running", "Invalid VM state transition")
	}
	for _, path := range []string{h.guest.Kernel, h.guest.Initramfs} {
		if _, err := os.Stat(path); path != "" && err != nil {
			return failed(what, "Cannot load payload", err.Error())
		}
	}
	h.event("vm", "booting")
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

// snapshotDir returns the directory of a snapshot's URL. It is opened, since QEMU
// passes the path to a shell.
func snapshotDir(url string) (dir *os.File, path string, err error) {
	path, ok := strings.CutPrefix(url, "file://")
	if info, err := os.Stat(path); !ok || err != nil || !info.IsDir() {
		return nil, "", failed("The snapshot's URL is invalid", "Destination is not a directory: "+url)
	}
	dir, err = os.Open(path)
	if err != nil {
		return nil, "", failed(err.Error())
	}
	return dir, fmt.Sprintf("/proc/%d/fd/%d/", os.Getpid(), dir.Fd()), nil
}

// files are those of a snapshot, beside the guest's memory.
func (h *hypervisor) files() map[string]any {
	return map[string]any{"config.json": &h.config, "state.json": &h.guest}
}

const memoryFile = "memory-ranges"

func (h *hypervisor) snapshot(ctx context.Context, body []byte) error {
	const what = "The VM could not be snapshotted"
	var s struct {
		To string `json:"destination_url"`
	}
	if err := decode(body, &s); err != nil {
		return err
	}
	if err := h.change(what, "Paused", "Paused", "snapshotting"); err != nil {
		return err
	}
	dir, path, err := snapshotDir(s.To)
	if err != nil {
		return err
	}
	defer dir.Close()
	for name, value := range h.files() {
		data, err := json.Marshal(value)
		if err == nil {
			err = os.WriteFile(path+name, data, 0o600)
		}
		if err != nil {
			return failed(what, err.Error())
		}
	}
	return h.running.Save(ctx, path+memoryFile)
}

func (h *hypervisor) restore(ctx context.Context, body []byte) error {
	const what = "The VM could not be restored"
	var r struct {
		From     string `json:"source_url" need:"yes"`
		Prefault bool   `json:"prefault"`
		Mode     string `json:"memory_restore_mode"`
		Resume   bool   `json:"resume"`
	}
	if err := decode(body, &r); err != nil {
		return err
	}
	if h.config != nil {
		return refuse(http.StatusNotFound, what, "VM is already created")
	}
	dir, path, err := snapshotDir(r.From)
	if err != nil {
		return err
	}
	defer dir.Close()
	for name, into := range h.files() {
		data, err := os.ReadFile(path + name)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			return failed(what, err.Error())
		}
	}
	if err := h.run(path + memoryFile); err != nil {
		return failed(what, err.Error())
	}
	h.state = "Paused"
	h.event("vm", "restored")
	if r.Resume {
		h.state = "Running"
		return h.running.Resume(ctx)
	}
	return nil
}

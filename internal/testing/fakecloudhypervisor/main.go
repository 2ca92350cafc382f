// Command double stands in for Cloud Hypervisor in tests: it speaks its API as
// published in its OpenAPI description, with the refusals, and has QEMU emulate
// the guest. See package fakevmm for what it is not.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/environment/support/microvm"
	"tare/internal/testing/fakevmm"
)

const version = "v45.0.0"

// hypervisor is the state of the program.
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

// tell writes an event.
func (h *hypervisor) tell(source, event string) {
	if h.events != nil {
		fmt.Fprintf(h.events, "{\n  \"timestamp\": {\"secs\": 0, \"nanos\": 0},\n  \"source\": %q,\n  \"event\": %q,\n  \"properties\": null\n}\n\n", source, event)
	}
}

// refusal is an answer of the API, with the chain of causes that it names.
type refusal struct {
	status int
	causes []string
}

func (r *refusal) Error() string { return strings.Join(r.causes, ": ") }

func refuse(status int, causes ...string) error {
	return &refusal{status, append([]string{"Error from API"}, causes...)}
}

func (h *hypervisor) handle(w http.ResponseWriter, method, path string, body []byte) {
	h.say("INFO", "API request event: %s %s", method, path)
	answer, err := h.do(method, strings.TrimPrefix(path, "/api/v1"), body)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
	case err != nil:
		refused = &refusal{http.StatusInternalServerError, []string{"Error from API", err.Error()}}
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	h.say("INFO", "HTTP API error response: %v", refused)
	w.WriteHeader(refused.status)
	_ = json.NewEncoder(w).Encode(refused.causes)
}

// do carries a request out.
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
		h.tell("vmm", "shutdown")
		go func() {
			time.Sleep(time.Millisecond) // for the answer to go out; what is lost harms nobody
			os.Exit(0)
		}()
		return nil, nil
	case "PUT /vm.create":
		return nil, h.create(body)
	case "PUT /vm.boot":
		return nil, h.boot()
	case "PUT /vm.pause":
		if err := h.needs("The VM could not be paused", "Running"); err != nil {
			return nil, err
		}
		h.state = "Paused"
		h.tell("vm", "paused")
		return nil, h.running.Pause(ctx)
	case "PUT /vm.resume":
		if err := h.needs("The VM could not resume", "Paused"); err != nil {
			return nil, err
		}
		h.state = "Running"
		h.tell("vm", "resumed")
		return nil, h.running.Resume(ctx)
	case "PUT /vm.snapshot":
		return nil, h.snapshot(ctx, body)
	case "PUT /vm.restore":
		return nil, h.restore(body)
	}
	if strings.HasPrefix(path, "/vm.") || strings.HasPrefix(path, "/vmm.") {
		return nil, &refusal{http.StatusBadRequest, []string{"Bad Request"}}
	}
	return nil, &refusal{http.StatusNotFound, []string{"Not Found"}}
}

// needs refuses what the state of the VM does not allow.
func (h *hypervisor) needs(what, state string) error {
	switch {
	case h.config == nil:
		return refuse(http.StatusNotFound, what, "VM is not created")
	case h.running == nil:
		return refuse(http.StatusMethodNotAllowed, what, "VM is not running")
	case h.state != state:
		return refuse(http.StatusMethodNotAllowed, what, fmt.Sprintf("VM is %s, not %s", h.state, state))
	}
	return nil
}

func (h *hypervisor) boot() error {
	const what = "The VM could not boot"
	switch {
	case h.config == nil:
		return refuse(http.StatusNotFound, what, "VM is not created")
	case h.running != nil:
		return refuse(http.StatusInternalServerError, what, "VM is already running", "Invalid VM state transition")
	}
	for _, path := range []string{h.guest.Kernel, h.guest.Initramfs} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return refuse(http.StatusInternalServerError, what, "Cannot load payload", err.Error())
		}
	}
	h.tell("vm", "booting")
	if err := h.run(""); err != nil {
		return refuse(http.StatusInternalServerError, what, err.Error())
	}
	h.state = "Running"
	h.tell("vm", "booted")
	return h.running.Resume(context.Background())
}

// run makes the guest, which stands still.
func (h *hypervisor) run(saved string) (err error) {
	if h.running, err = fakevmm.Start(context.Background(), h.guest, saved); err != nil {
		return err
	}
	go h.bury(h.running)
	return h.running.Bridge(&h.guest)
}

// bury ends the program with a guest that switched itself off. One that reset
// itself boots again.
func (h *hypervisor) bury(m *fakevmm.Machine) {
	<-m.Wait()
	if err := m.Status(); err != nil {
		h.say("ERROR", "VCPU thread error: %v", err)
		os.Exit(1)
	}
	if !m.Reset() {
		h.tell("vm", "shutdown")
		os.Exit(0)
	}
	h.tell("vm", "rebooting")
	_ = os.Remove(h.guest.VSock)
	if err := h.run(""); err != nil {
		os.Exit(1)
	}
	h.tell("vm", "rebooted")
	_ = h.running.Resume(context.Background())
}

// folder is that of a snapshot's URL.
func folder(url string) (string, error) {
	path, ok := strings.CutPrefix(url, "file://")
	if info, err := os.Stat(path); !ok || err != nil || !info.IsDir() {
		return "", refuse(http.StatusInternalServerError, "The snapshot's URL is invalid", "Destination is not a directory: "+url)
	}
	return path, nil
}

func (h *hypervisor) snapshot(ctx context.Context, body []byte) error {
	const what = "The VM could not be snapshotted"
	var s struct {
		To string `json:"destination_url"`
	}
	if err := decode(body, &s); err != nil {
		return err
	}
	if err := h.needs(what, "Paused"); err != nil {
		return err
	}
	to, err := folder(s.To)
	if err != nil {
		return err
	}
	for name, value := range map[string]any{"config.json": h.config, "state.json": h.guest} {
		data, err := json.Marshal(value)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			return refuse(http.StatusInternalServerError, what, err.Error())
		}
	}
	// QEMU runs a shell line, which no odd path shall reach.
	here, err := os.Open(to)
	if err != nil {
		return err
	}
	defer here.Close()
	return h.running.Save(ctx, fmt.Sprintf("/proc/%d/fd/%d/memory-ranges", os.Getpid(), here.Fd()))
}

func (h *hypervisor) restore(body []byte) error {
	const what = "The VM could not be restored"
	var r struct {
		From     *string `json:"source_url"`
		Prefault bool    `json:"prefault"`
		Mode     string  `json:"memory_restore_mode"`
		Resume   bool    `json:"resume"`
	}
	if err := decode(body, &r); err != nil {
		return err
	}
	switch {
	case r.From == nil:
		return malformed("missing field `source_url`")
	case h.config != nil:
		return refuse(http.StatusNotFound, what, "VM is already created")
	}
	from, err := folder(*r.From)
	if err != nil {
		return err
	}
	for name, into := range map[string]any{"config.json": &h.config, "state.json": &h.guest} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			return refuse(http.StatusInternalServerError, what, err.Error())
		}
	}
	memory, err := os.Open(filepath.Join(from, "memory-ranges"))
	if err != nil {
		return refuse(http.StatusInternalServerError, what, err.Error())
	}
	defer memory.Close()
	if err := h.run(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), memory.Fd())); err != nil {
		return refuse(http.StatusInternalServerError, what, err.Error())
	}
	h.state = "Paused"
	h.tell("vm", "restored")
	if r.Resume {
		h.state = "Running"
		return h.running.Resume(context.Background())
	}
	return nil
}

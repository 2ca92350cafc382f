package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The double refuses what Firecracker refuses; these are its published words.
func TestTheDoubleRefusesWhatFirecrackerRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := func() *vmm { return &vmm{state: "Not started", machine: machineConfig{CPUs: 1, Memory: 128}} }
	for _, c := range []struct{ name, method, path, body, want string }{
		{"no kernel", "PUT", "/actions", `{"action_type": "InstanceStart"}`, "Cannot start microvm without kernel configuration."},
		{"no such action", "PUT", "/actions", `{"action_type": "Fly"}`, "unknown variant `Fly`"},
		{"too early", "PATCH", "/vm", `{"state": "Paused"}`, "not supported before starting the microVM"},
		{"flushed too early", "PUT", "/actions", `{"action_type": "FlushMetrics"}`, "not supported before starting the microVM"},
		{"saved too early", "PUT", "/snapshot/create", `{"snapshot_path": "a", "mem_file_path": "b"}`, "not supported before starting the microVM"},
		{"an unknown field", "PUT", "/vsock", `{"guest_cid": 3, "uds_path": "v", "colour": 1}`, "unknown field `colour`"},
		{"a field that is missing", "PUT", "/machine-config", `{"vcpu_count": 1}`, "missing field `mem_size_mib`"},
		{"an odd number with SMT", "PUT", "/machine-config", `{"vcpu_count": 3, "mem_size_mib": 128, "smt": true}`, "The vCPU number is invalid!"},
		{"too many", "PUT", "/machine-config", `{"vcpu_count": 33, "mem_size_mib": 128}`, "The vCPU number is invalid!"},
		{"no kernel file", "PUT", "/boot-source", `{"kernel_image_path": "/absent"}`, "The kernel file cannot be opened"},
		{"another id", "PUT", "/drives/a", `{"drive_id": "b", "is_root_device": true, "path_on_host": "` + file + `"}`, "The id from the path does not match the id from the body!"},
		{"an odd id", "PUT", "/drives/a-b", `{"drive_id": "a-b", "is_root_device": true}`, "alphanumeric characters and underscores"},
		{"no file", "PUT", "/drives/a", `{"drive_id": "a", "is_root_device": true, "path_on_host": "/absent"}`, "Error manipulating the backing file"},
		{"an odd cache", "PUT", "/drives/a", `{"drive_id": "a", "is_root_device": true, "cache_type": "None"}`, "unknown variant `None`"},
		{"half a bucket", "PUT", "/drives/a", `{"drive_id": "a", "is_root_device": true, "rate_limiter": {"ops": {"size": 1}}}`, "missing field `refill_time`"},
		{"the host's address", "PUT", "/vsock", `{"guest_cid": 2, "uds_path": "v"}`, "guest CID is invalid"},
		{"no body", "PUT", "/actions", "", "Empty PUT request."},
		{"a body too many", "GET", "/", "{}", "GET request cannot have a body."},
		{"no such path", "PUT", "/weather", "{}", "Invalid request method and/or path: PUT weather."},
		{"two memories", "PUT", "/snapshot/load", `{"snapshot_path": "a", "mem_file_path": "b", "mem_backend": {"backend_type": "File", "backend_path": "b"}}`, "either `mem_backend` or `mem_file_path`"},
	} {
		if _, err := fresh().do(c.method, c.path, []byte(c.body)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}

	v := fresh()
	if _, err := v.do("PUT", "/machine-config", []byte(`{"vcpu_count": 1, "mem_size_mib": 128}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.do("PUT", "/snapshot/load", []byte(`{"snapshot_path": "a", "mem_file_path": "b"}`)); err == nil || !strings.Contains(err.Error(), "not allowed after configuring boot-specific resources") {
		t.Error(err)
	}
	for range 2 {
		_, err := v.do("PUT", "/metrics", []byte(`{"metrics_path": "m"}`))
		if v.metrics = "m"; err != nil && !strings.Contains(err.Error(), "Reinitialization of metrics not allowed") {
			t.Error(err)
		}
	}
	for _, id := range []string{"a", "b"} {
		_, err := v.do("PUT", "/drives/"+id, []byte(`{"drive_id": "`+id+`", "is_root_device": true, "path_on_host": "`+file+`"}`))
		if (err != nil) != (id == "b") || err != nil && !strings.Contains(err.Error(), "A root block device already exists!") {
			t.Errorf("root device %s: %v", id, err)
		}
	}
}

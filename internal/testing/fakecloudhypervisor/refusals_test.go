package main

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// The double refuses what Cloud Hypervisor refuses, with the published statuses.
func TestTheDoubleRefusesWhatCloudHypervisorRefuses(t *testing.T) {
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"nothing to boot", "PUT", "/vm.boot", "", 404, "VM is not created"},
		{"nothing to tell of", "GET", "/vm.info", "", 404, "VM is not created"},
		{"nothing to pause", "PUT", "/vm.pause", "", 404, "VM is not created"},
		{"nothing to resume", "PUT", "/vm.resume", "", 404, "VM is not created"},
		{"nothing to save", "PUT", "/vm.snapshot", `{"destination_url": "file:///"}`, 404, "VM is not created"},
		{"no payload", "PUT", "/vm.create", `{}`, 400, "missing field `payload`"},
		{"no kernel", "PUT", "/vm.create", `{"payload": {}}`, 500, "The VM config is not valid"},
		{"an unknown field", "PUT", "/vm.create", `{"payload": {"kernel": "k", "colour": 1}}`, 400, "unknown field `colour`"},
		{"too few CPUs", "PUT", "/vm.create", `{"payload": {"kernel": "k"}, "cpus": {"boot_vcpus": 2, "max_vcpus": 1}}`, 500, "Max CPUs"},
		{"no disk", "PUT", "/vm.create", `{"payload": {"kernel": "k"}, "disks": [{"path": "/absent"}]}`, 500, "Error manipulating disk file"},
		{"the host's address", "PUT", "/vm.create", `{"payload": {"kernel": "k"}, "vsock": {"cid": 2, "socket": "s"}}`, 500, "Reserved CID"},
		{"no body", "PUT", "/vm.create", "", 400, "Bad Request"},
		{"no snapshot", "PUT", "/vm.restore", `{"source_url": "file:///absent"}`, 500, "not a directory"},
		{"no such path", "PUT", "/weather", "", 404, "Not Found"},
		{"another method", "GET", "/vm.boot", "", 400, "Bad Request"},
	} {
		h := &hypervisor{log: os.Stderr}
		_, err := h.do(c.method, c.path, []byte(c.body))
		var refused *refusal
		if !errors.As(err, &refused) || refused.status != c.status || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	h := &hypervisor{log: os.Stderr}
	body := []byte(`{"payload": {"kernel": "/absent"}}`)
	if _, err := h.do("PUT", "/vm.create", body); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/vm.create": "already created", "/vm.pause": "VM is not running", "/vm.boot": "Cannot load payload", "/vm.restore": "already created"} {
		text := body
		if path == "/vm.restore" {
			text = []byte(`{"source_url": "file:///"}`)
		}
		if _, err := h.do("PUT", path, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s of a VM that was created: %v", path, err)
		}
	}
}

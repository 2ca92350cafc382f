package firecracker

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/microvm"
	"tare/internal/linux/virtnet"
)

func TestOptionsAreReadAsPeopleWriteThem(t *testing.T) {
	got := defaults()
	if err := yaml.UnmarshalWithOptions([]byte("start: snapshot\nmemory: 1GiB\ncache: unsafe\naio: async\ndisk_bandwidth: 100MiB\nstart_timeout: 90s\n"), got, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Start, want.Memory, want.Cache, want.AIO = "snapshot", quantity.GiB, "unsafe", "async"
	want.DiskBandwidth, want.StartTimeout = 100*quantity.MiB, 90*time.Second
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	back := defaults()
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Errorf("through JSON: %s", diff)
	}
}

func TestAWrongOptionIsNamedWithWhatIsRight(t *testing.T) {
	if err := defaults().Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Cache = "none" }, `cache: "none" is not known: choose one of unsafe, writeback`},
		{func(o *Options) { o.AIO = "threads" }, `aio: "threads" is not known: choose one of sync, async`},
		{func(o *Options) { o.CPUs = 33 }, "cpus: 33: Firecracker supports at most 32"},
		{func(o *Options) { o.CPUs, o.SMT = 3, true }, "cpus: 3 is odd"},
		{func(o *Options) { o.Start, o.BootTimer = "snapshot", true }, "boot_timer: a restored guest does not boot"},
		{func(o *Options) { o.Start, o.Jailer = "snapshot", "jailer" }, "jailer: a snapshot's memory"},
		{func(o *Options) { o.Jailer, o.JailUser = "jailer", 0 }, "jail_user: 0"},
		{func(o *Options) { o.Data = 0 }, "data: 0B"},
	} {
		o := defaults()
		c.change(o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to say %q", err, c.want)
		}
	}
}

func TestTheRequestsMatchTheOptions(t *testing.T) {
	o := defaults()
	o.NetOps, o.Cache, o.AIO = 50, "unsafe", "async"
	m := &microvm.Machine{CPUs: 2, Memory: 256 * quantity.MiB, CommandLine: "quiet",
		Disk: &microvm.Limiter{Bandwidth: &microvm.Bucket{Size: 1000, Refill: 1000}},
		Port: &virtnet.Port{Device: "port2", Address: netip.MustParsePrefix("10.213.0.2/24"), MAC: net.HardwareAddr{0x52, 0x54, 10, 213, 0, 2}}}
	var lines []string
	for _, s := range (&firecracker{*o}).definition(m) {
		body, err := json.Marshal(s.Body)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, s.Path+" "+string(body))
	}
	const limited = `,"rate_limiter":{"bandwidth":{"size":1000,"refill_time":1000}}}`
	want := []string{
		`/machine-config {"vcpu_count":2,"mem_size_mib":256,"smt":false}`,
		`/boot-source {"kernel_image_path":"kernel","initrd_path":"initramfs","boot_args":"quiet"}`,
		`/drives/root {"drive_id":"root","path_on_host":"root","is_root_device":false,"is_read_only":true,"cache_type":"Unsafe","io_engine":"Async"` + limited,
		`/drives/data {"drive_id":"data","path_on_host":"data","is_root_device":false,"is_read_only":false,"cache_type":"Unsafe","io_engine":"Async"` + limited,
		`/vsock {"guest_cid":3,"uds_path":"v.sock"}`,
		`/network-interfaces/eth0 {"iface_id":"eth0","host_dev_name":"port2","guest_mac":"52:54:0a:d5:00:02",` +
			`"rx_rate_limiter":{"ops":{"size":50,"refill_time":1000}},"tx_rate_limiter":{"ops":{"size":50,"refill_time":1000}}}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestTheBootTimersLineIsReadAsFirecrackerWritesIt(t *testing.T) {
	got, ok := bootTime("2019-05-30T12:15:18.698648314 [anonymous-instance] Guest-boot-time = 279446 us 279 ms, 272485 CPU us 272 CPU ms\n")
	if !ok || got != "279.4 ms, 272.5 ms of processor time" {
		t.Errorf("%q", got)
	}
	if got, ok := bootTime("Guest-boot-time =   7123 us 7 ms,   1456 CPU us 1 CPU ms"); !ok || got != "7.1 ms, 1.5 ms of processor time" {
		t.Errorf("%q", got)
	}
	if got, ok := bootTime("nothing of it"); ok {
		t.Errorf("%q", got)
	}
}

// The jailer names the jail after the program's file, not after a link to it.
func TestTheJailIsNamedAfterTheProgramsFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "firecracker-v1.17.0"), filepath.Join(dir, "firecracker")
	if err := errors.Join(os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	o := defaults()
	o.Program, o.Jailer = link, "jailer"
	if at, user := (&firecracker{*o}).runDirectory("/guest", "one"); at != "/guest/jail/firecracker-v1.17.0/one/root" || user != o.JailUser {
		t.Errorf("%s of user %d", at, user)
	}
	long, free := strings.Repeat("long-", 20), defaults()
	if c := (&firecracker{*free}).Command(&microvm.Machine{Name: long}); c.Arguments[1] != long[:64] {
		t.Errorf("a long name without a jail: %q", c.Arguments)
	}
	at, _ := (&firecracker{*o}).runDirectory("/guest", long)
	if c := (&firecracker{*o}).Command(&microvm.Machine{Name: long}); c.Arguments[1] != long[:64] || !strings.Contains(at, "/"+long[:64]+"/") {
		t.Errorf("a long name: %q in %s", c.Arguments, at)
	}
}

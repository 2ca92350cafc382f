package qemu

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/vmm"
	"tare/internal/testing/testenv"
)

func TestADiskThatCannotWorkIsRefusedByItsKey(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string // "" means that it is fine
	}{
		{func(o *Options) { o.RootDisk, o.DataDisk = "raw", "qcow2" }, ""},
		{func(o *Options) { o.DataCache, o.DataAIO = "none", "native" }, ""},
		{func(o *Options) { o.RootDisk, o.DataDisk = "/dev/sdb", "/dev/sdc" }, ""},
		{func(o *Options) { o.RootDisk = "vmdk" }, `root_disk: "vmdk" is not known: choose one of qcow2, raw, /dev/...`},
		{func(o *Options) { o.DataDisk = "/srv/disk" }, `data_disk: "/srv/disk" is not a block device`},
		{func(o *Options) { o.DataDisk = "/dev/sdb,readonly=on" }, "data_disk:"},
		{func(o *Options) { o.RootDisk, o.DataDisk = "/dev/sdb", "/dev/sdb" }, "data_disk: /dev/sdb is already the root disk"},
		{func(o *Options) { o.RootAIO = "native" }, "root_aio: native needs O_DIRECT: set cache: none or directsync instead of writeback for the root disk"},
		{func(o *Options) { o.Cache, o.AIO, o.DataCache = "none", "native", "unsafe" }, "instead of unsafe for the data disk"},
		{func(o *Options) { o.DataCache = "writethrough" }, "data_cache:"},
		{func(o *Options) { o.RootAIO = "posix" }, "root_aio:"},
	} {
		o := defaults()
		c.change(o)
		err := o.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// block is what QEMU says of a disk.
type block struct {
	Device   string
	Inserted struct {
		Drv, File string
		Cache     struct {
			Writeback, Direct bool
			NoFlush           bool `json:"no-flush"`
		}
	}
}

func blocks(t *testing.T, g *vmm.Guest) map[string]block {
	t.Helper()
	var list []block
	if err := g.Driver().(*driver).monitor.Execute(t.Context(), "query-block", nil, &list); err != nil {
		t.Fatal(err)
	}
	byID := map[string]block{}
	for _, b := range list {
		byID[b.Device] = b
	}
	return byID
}

// engines looks which ways of I/O a process has open.
func engines(t *testing.T, pid int) string {
	t.Helper()
	var found []string
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && strings.Contains(to, "io_uring") {
			found = append(found, "io_uring")
			break
		}
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(maps, []byte("/[aio]")) {
		found = append(found, "native")
	}
	return strings.Join(found, " ")
}

func TestQEMUHasTheConfiguredDisks(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name       string
		change     func(o *Options, device string)
		root, data string // driver, writeback, direct, no-flush
		engines    string
	}{
		{"as it is", func(*Options, string) {}, "qcow2 true false false", "raw true false false", ""},
		{"each its own", func(o *Options, _ string) {
			o.RootDisk, o.RootCache, o.RootAIO = "raw", "none", "native"
			o.DataDisk, o.DataCache, o.DataAIO = "qcow2", "directsync", "io_uring"
		}, "raw true true false", "qcow2 false true false", "io_uring native"},
		{"data on a device", func(o *Options, device string) {
			o.DataDisk, o.DataCache, o.Cache = device, "none", "unsafe"
		}, "qcow2 true false true", "raw true true false", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			device := ""
			if strings.Contains(c.name, "device") {
				device = testenv.LoopDevice(t, 256<<20)
			}
			options := defaults()
			options.Accel = "tcg"
			c.change(options, device)
			testenv.NeedsKind(t, "qemu", options)
			e := b.environment(t, func(o *Options) { o.Data = 64 * quantity.MiB; c.change(o, device) })
			i, err := e.Start(t.Context(), b.request("disks", &bytes.Buffer{}))
			if err != nil {
				t.Fatal(err)
			}
			defer i.Stop(context.WithoutCancel(t.Context()))
			testenv.Run(t, i, "dd if=/dev/zero of=/data/file bs=64k count=16 conv=fsync 2>/dev/null && echo x > /var/file && sync")
			g := i.(*vmm.Guest)
			got := blocks(t, g)
			for id, want := range map[string]string{"root": c.root, "data": c.data} {
				in := got[id].Inserted
				if output := fmt.Sprintf("%s %v %v %v", in.Drv, in.Cache.Writeback, in.Cache.Direct, in.Cache.NoFlush); output != want {
					t.Errorf("%s is %s, want %s (%s)", id, output, want, in.File)
				}
			}
			if device != "" && got["data"].Inserted.File != device {
				t.Errorf("data is on %s, want %s", got["data"].Inserted.File, device)
			}
			if output := engines(t, g.Process().PID); output != c.engines {
				t.Errorf("its I/O is done by %q, want %q", output, c.engines)
			}
			t.Logf("%+v, phases %v", i.Paths(), i.Phases())
		})
	}
	b.nothingLeft(t)
}

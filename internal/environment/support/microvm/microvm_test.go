package microvm

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
)

func TestTheDefaultsAreValid(t *testing.T) {
	o := Defaults("x")
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}

func TestAWrongOptionIsNamedWithWhatIsRight(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Program = "" }, `program: "" is not a program`},
		{func(o *Options) { o.Start = "resume" }, `start: "resume" is not known: choose one of boot, snapshot`},
		{func(o *Options) { o.Root = "disk" }, `root: "disk" is not known: choose one of overlay, copy`},
		{func(o *Options) { o.Network = "user" }, `network: "user" is not known: choose one of none, tap, nat`},
		{func(o *Options) { o.Memory = quantity.MiB }, "memory: 1MiB is too small"},
		{func(o *Options) { o.Memory = 100*quantity.MiB + 1 }, "whole MiB"},
		{func(o *Options) { o.Data = 0 }, "data: 0B is too small"},
		{func(o *Options) { o.CPUs = -1 }, "cpus: -1"},
		{func(o *Options) { o.DiskOps = -1 }, "disk_ops: -1"},
		{func(o *Options) { o.NetBandwidth = -1 }, "net_bandwidth: -1"},
		{func(o *Options) { o.StartTimeout = 0 }, "start_timeout: 0s"},
		{func(o *Options) { o.Start, o.Network = Snapshot, "tap" }, "set network: none instead of tap"},
		{func(o *Options) { o.Start, o.Root = Snapshot, "copy" }, "set root: overlay instead of copy"},
	} {
		o := Defaults("x")
		c.change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to say %q", err, c.want)
		}
	}
}

func TestALimitIsABucketThatIsFullEachSecond(t *testing.T) {
	o := Options{DiskBandwidth: 1000, NetOps: 7}
	if l := o.diskLimiter(environment.IO{}); l == nil || l.Ops != nil || *l.Bandwidth != (Bucket{1000, 1000}) {
		t.Errorf("%+v", l)
	}
	if l := o.NetLimiter(); l == nil || l.Bandwidth != nil || *l.Ops != (Bucket{7, 1000}) {
		t.Errorf("%+v", l)
	}
	if l := (&Options{}).diskLimiter(environment.IO{}); l != nil {
		t.Errorf("%+v", l)
	}
}

// A limiter does not tell reads from writes: limits that do are refused with
// what to write, and the others are seen where each disk has them.
func TestLimitsOfIOHoldWhereReadsAndWritesAreAlike(t *testing.T) {
	for _, c := range []struct {
		limits  environment.IO
		options Options
		refusal string
	}{
		{limits: environment.IO{}, options: Options{DiskOps: 5}},
		{limits: environment.IO{Read: 1000, Write: 1000}},
		{limits: environment.IO{ReadOps: 50, WriteOps: 50}},
		{limits: environment.IO{Read: 1000, Write: 1000, ReadOps: 50, WriteOps: 50}},
		{environment.IO{Read: 2048, Write: 1024}, Options{}, "limits: io: Some VMM limits reads and writes of a disk together, so read: 2KiB and write: 1KiB cannot both be enforced: set both to the same value"},
		{environment.IO{Write: 1000}, Options{}, "read: 0B and write: 1000B"},
		{environment.IO{Read: 1000, Write: 1000, ReadOps: 5}, Options{}, "read_ops: 5 and write_ops: 0"},
		{environment.IO{Read: 1000, Write: 1000}, Options{DiskBandwidth: 5}, "limits: io: this environment's options disk_bandwidth and disk_ops"},
	} {
		e := &Environment{vmm: &VMM{Name: "Some VMM"}, options: c.options}
		err := e.checkIO(c.limits)
		if c.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("%+v: %v, not %q", c.limits, err, c.refusal)
			}
			continue
		}
		has := c.options.diskLimiter(c.limits)
		limits := effectiveLimits("Some VMM", c.limits, []*Limiter{has, has})
		if err != nil || !c.limits.None() && len(limits) == 0 {
			t.Errorf("%+v: %v, %v", c.limits, limits, err)
		}
		for _, s := range limits {
			if !s.Holds {
				t.Errorf("%+v: %v", c.limits, s)
			}
		}
		for _, disks := range [][]*Limiter{nil, {has, nil}, {limiter(999, 49)}} {
			for _, s := range effectiveLimits("Some VMM", c.limits, disks) {
				if s.Holds {
					t.Errorf("%+v on %v: %v", c.limits, disks, s)
				}
			}
		}
	}
}

func TestTheReasonIsTakenOutOfEveryKindOfRefusal(t *testing.T) {
	for body, want := range map[string]string{
		`{"fault_message": "No."}`:    "No.",
		`["Error from API", "No VM"]`: "Error from API: No VM",
		"plain words\n":               "plain words",
		"":                            "no reason given",
		"{}":                          "{}",
	} {
		if got := faultMessage([]byte(body)); got != want {
			t.Errorf("%q: %q", body, got)
		}
	}
}

// here is a place whose path is too long for a socket's.
func here(t *testing.T) *socketDir {
	directory := filepath.Join(t.TempDir(), strings.Repeat("long ", 30))
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := openSocketDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.dir.Close() })
	return p
}

func TestARefusalNamesTheRequest(t *testing.T) {
	p := here(t)
	l, err := net.Listen("unix", p.path(Socket))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		http.Error(w, `{"fault_message": "Not now."}`, http.StatusBadRequest)
	}))
	api := dialAPI(p)
	defer api.close()
	if err := api.Send(t.Context(), Put("/good", map[string]int{"a": 1})); err != nil {
		t.Error(err)
	}
	err = api.Send(t.Context(), Request{http.MethodPatch, "/bad", nil})
	var refused *APIError
	if !errors.As(err, &refused) || err.Error() != "PATCH /bad was refused (400 Bad Request): Not now." {
		t.Error(err)
	}
}

func TestDiallingAGuestReportsWhetherItListens(t *testing.T) {
	for answer, want := range map[string]string{"OK 1073741824\n": "", "": "the guest does not listen", "WHAT\n": `the VMM answered "WHAT\n"`} {
		p := here(t)
		l, err := net.Listen("unix", p.path(VSock))
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan string, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line := make([]byte, 64)
			n, _ := conn.Read(line)
			asked <- string(line[:n])
			conn.Write([]byte(answer))
			conn.Close()
		}()
		conn, err := dialAgent(t.Context(), p)
		if got := <-asked; got != "CONNECT 1024\n" {
			t.Errorf("asked %q", got)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", answer, err)
		}
		if conn != nil {
			conn.Close()
		}
		l.Close()
	}
}

// A guest on a busy host answers a connection, and ends it when its agent listens anew.
func TestAConnectionThatEndsBeforeTheAgentsFirstWordIsMadeAgain(t *testing.T) {
	p := here(t)
	l, err := net.Listen("unix", p.path(VSock))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for asked := 1; ; asked++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			in.ReadString('\n')
			conn.Write([]byte("OK 1\n"))
			if asked == 1 { // reset: the time is not read
				conn.Close()
				continue
			}
			now, _ := in.ReadString('\n')
			if asked == 3 {
				conn.Write([]byte("hello at " + now))
				return
			}
			conn.Close()
		}
	}()
	stream, err := greetAgent(t.Context(), p, &vmm.Process{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if word, err := bufio.NewReader(stream).ReadString('\n'); err != nil || !strings.HasPrefix(word, "hello at 1") {
		t.Errorf("the agent's first word is %q: %v", word, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := greetAgent(ctx, p, &vmm.Process{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody answers: %v", err)
	}
}

func TestAVersionIsTheFirstLineThatTheProgramPrints(t *testing.T) {
	program := filepath.Join(t.TempDir(), "vmm")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 'VMM v1.2'; echo more\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	version, err := Version(t.Context(), program)
	if err != nil || version != "VMM v1.2" {
		t.Errorf("%q, %v", version, err)
	}
	if _, err := Version(t.Context(), "/absent"); err == nil || !strings.Contains(err.Error(), "not on the PATH") {
		t.Error(err)
	}
}

func TestTheRequirementsSayWhatIsMissing(t *testing.T) {
	o := Defaults("no-such-vmm")
	o.Network = "nat"
	list := Requirements("A VMM", &o, environment.Advice("get it"))
	if f := list[3].Check(context.Background()); f.Fix.String() != "get it" || f.Reason != "no-such-vmm is not on the PATH" {
		t.Errorf("%+v", f)
	}
	if len(list) != 7 {
		t.Errorf("%d requirements of a network with address translation", len(list))
	}
}

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/host/cleanup"
	"tare/internal/linux/kvm"
	"tare/internal/linux/virtnet"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// at starts an instance with these options, as a study would write them.
func at(t *testing.T, text string) environment.Instance {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	o := Default()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	testenv.NeedsKind(t, "oci", &o)
	env, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	img, own := testenv.Image(t), testenv.Owner(t, t.TempDir())
	if err := env.Prepare(t.Context(), img, nil); err != nil {
		t.Fatal(err)
	}
	var console bytes.Buffer
	i, err := env.Start(t.Context(), environment.Request{Name: "a-1", Owner: own, Image: img, Console: &console})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// notes are what an instance says of what its runtime ignored.
func ignoredBy(i environment.Instance) (keys []string) {
	for _, n := range i.Notes() {
		if key, _, found := strings.Cut(n, ": the runtime "); found {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

const off = `"namespaces": {"pid": false, "mount": false, "ipc": false, "uts": false, "cgroup": false}, "cgroup_limits": false, "devices": false,
	"masked": false, "seccomp": "unconfined", "capabilities": "all", "root": "folder", "network": "host"`

// What each runtime makes of the switches, seen from inside.
func TestSwitchesTakeEffectOrGiveANote(t *testing.T) {
	for _, c := range []struct{ options, ignored string }{
		{`{}`, ""},
		{`{"runtime": "crun"}`, ""},
		{`{` + off + `}`, ""},
		{`{"runtime": "crun", ` + off + `}`, ""},
		{`{"namespaces": {"user": true}}`, ""},
		{`{"runtime": "crun", "namespaces": {"user": true}}`, ""},
		{`{"namespaces": {"user": true, "pid": false}, "network": "host"}`, ""},
		{`{"network": "user", "log": "json-file", "data": "tmpfs"}`, ""},
		{`{"network": "pasta"}`, ""},
		{`{"runtime": "crun", "network": "nat", "log": "file", "data": "overlay"}`, ""},
		{`{"root": "bind", "network": "none", "log": "pipe", "no_new_privs": true, "capabilities": "none"}`, ""},
		{`{"runtime": "crun", "root": "bind", "network": "none", "no_new_privs": true, "capabilities": "chown,setuid"}`, ""},
		{`{"runtime": "runsc"}`, "capabilities masked namespaces.cgroup seccomp"},
		{`{"runtime": "runsc", "platform": "ptrace", "runtime_args": ["--oci-seccomp", "--net-raw"], "masked": false, "network": "user"}`, "namespaces.cgroup"},
		{`{"runtime": "runsc", ` + off + `}`, "capabilities namespaces.cgroup namespaces.ipc namespaces.mount namespaces.pid namespaces.uts"},
	} {
		t.Run("", func(t *testing.T) {
			i := at(t, c.options)
			if got := strings.Join(ignoredBy(i), " "); got != c.ignored {
				t.Errorf("%s: ignored is %q, want %q:\n%s", c.options, got, c.ignored, strings.Join(i.Notes(), "\n"))
			}
			if got := testenv.Run(t, i, "echo x >/data/y; cat /data/y"); got != "x" {
				t.Errorf("%s: /data holds %q", c.options, got)
			}
			if p := i.Paths(); p.Network == "" || p.Root == "" || p.Data == "" || p.RootOn == "" || p.DataOn == "" {
				t.Errorf("%s: a path is not known: %+v", c.options, p)
			}
		})
	}
}

func TestWhatTheSwitchesMeanInside(t *testing.T) {
	wide, narrow := at(t, `{`+off+`}`), at(t, `{"no_new_privs": true, "root": "bind"}`)
	for _, c := range []struct {
		what, script string
		wide, narrow func(string) bool
	}{
		{"the host's processes", "ls -d /proc/[0-9]* 2>/dev/null | wc -l", func(s string) bool { return atoi(s) >= 8 }, func(s string) bool { n := atoi(s); return n > 0 && n < 8 }},
		{"the first process", "tr '\\0' ' ' </proc/1/cmdline", func(s string) bool { return !strings.Contains(s, agentInside) }, func(s string) bool { return strings.Contains(s, agentInside) }},
		{"the name", "cat /proc/sys/kernel/hostname", func(s string) bool { return s != "a-1" }, func(s string) bool { return s == "a-1" }},
		{"a device that is not allowed", "mknod /dev/kmsg2 c 1 11 && head -c 0 /dev/kmsg2 && echo opened || echo refused",
			func(s string) bool { return s == "opened" }, func(s string) bool { return strings.HasSuffix(s, "refused") }},
		{"writing to the root", "echo x >/etc/x && echo written || echo refused",
			func(s string) bool { return s == "written" }, func(s string) bool { return strings.HasSuffix(s, "refused") }},
		{"writing to /tmp", "echo x >/tmp/x && cat /tmp/x", func(s string) bool { return s == "x" }, func(s string) bool { return s == "x" }},
		{"a mount", "mount -t tmpfs none /mnt && echo mounted || echo refused",
			func(s string) bool { return s == "mounted" }, func(s string) bool { return strings.HasSuffix(s, "refused") }},
	} {
		if got := testenv.Run(t, wide, c.script); !c.wide(got) {
			t.Errorf("%s: with all off it is %q", c.what, got)
		}
		if got := testenv.Run(t, narrow, c.script); !c.narrow(got) {
			t.Errorf("%s: with all on it is %q", c.what, got)
		}
	}
}

func atoi(text string) int { n, _ := strconv.Atoi(text); return n }

func TestTheLogHasTheStreamInDockersFormat(t *testing.T) {
	i := at(t, `{"log": "json-file"}`)
	testenv.Run(t, i, "echo some words")
	roles := []string{}
	for _, p := range i.Footprint().Processes {
		roles = append(roles, p.Role)
	}
	if !slices.Equal(roles, []string{"logger", "shim"}) {
		t.Errorf("beside the instance are %q", roles)
	}
	i.Agent().Close()
	<-i.(*instance).helpers[0].ended // the log is written after the words are handed on
	log, err := os.ReadFile(i.(*instance).directory + "/log")
	if err != nil || !strings.Contains(string(log), "some words") || !strings.HasPrefix(string(log), `{"log":"`) {
		t.Errorf("%v: %q", err, log)
	}
}

// With log: null both ends of the agent's stream are in tare and in the instance,
// and in no process beside them: one that had an end could copy what passes.
func TestWithoutALogNoProcessIsBetweenTheInstanceAndTare(t *testing.T) {
	for _, options := range []string{`{}`, `{"namespaces": {"user": true}}`, `{"runtime": "crun"}`} {
		i := at(t, options).(*instance)
		ours, inside := pipesOf(os.Getpid()), testenv.PIDs(t, testenv.Cgroups(i)...)
		shared := 0
		for _, pid := range inside {
			for pipe := range pipesOf(pid) {
				if ours[pipe] {
					shared++
				}
			}
		}
		if shared < 2 {
			t.Errorf("%s: of the agent's stream %d ends are in the instance and the others in tare", options, shared)
		}
		for _, p := range i.Footprint().Processes {
			read, write, err := passed(p.PID)
			testenv.Run(t, i, "head -c 1000000 /dev/zero")
			laterRead, laterWrite, later := passed(p.PID)
			if err != nil || later != nil || laterRead-read > 100000 || laterWrite-write > 100000 {
				t.Errorf("%s: a megabyte that the instance prints passes %s: it read %d and wrote %d bytes (%v, %v)",
					options, p.Role, laterRead-read, laterWrite-write, err, later)
			}
		}
	}
}

// pipesOf are the pipes that a process has an end of.
func pipesOf(pid int) map[string]bool {
	found := map[string]bool{}
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "pipe:") {
			found[to] = true
		}
	}
	return found
}

// passed is what a process read and wrote so far, in bytes.
func passed(pid int) (read, written int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	return atoi(field(string(text), "rchar")), atoi(field(string(text), "wchar")), err
}

// proxied starts an instance with a user-mode network, and says the PID of its proxy.
func proxied(network, home string) (string, error) {
	ctx := context.Background()
	o := Default()
	o.Network = network
	env, err := New(o)
	if err != nil {
		return "", err
	}
	img, err := testenv.Get(ctx, func(string) {})
	if err == nil {
		err = env.Prepare(ctx, img, nil)
	}
	if err != nil {
		return "", err
	}
	own, err := cleanup.Open(home)
	if err != nil {
		return "", err
	}
	i, err := env.Start(ctx, environment.Request{Name: "a-1", Owner: own, Image: img, Console: io.Discard})
	if err != nil {
		return "", err
	}
	return strconv.Itoa(i.Footprint().Processes[0].PID), nil
}

func TestAUserModeNetworkEndsWithTare(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for network := range proxies {
		t.Run(network, func(t *testing.T) {
			o := Default()
			o.Network = network
			testenv.NeedsKind(t, "oci", &o)
			home := t.TempDir()
			words, kill := testenv.Again(t, "proxied", network, home)
			proxy := testenv.Hold(t, atoi(words[0]))
			kill()
			for _, line := range proxy.Running(time.Minute) {
				t.Error(line)
			}
			if _, err := cleanup.Sweep(t.Context(), home, environment.Sweepers()...); err != nil {
				t.Error(err)
			}
		})
	}
}

// A user-mode network has no address for others, and leads to the host's.
func TestAUserModeNetworkReachesTheHost(t *testing.T) {
	needs.Root(t)
	// pasta gives the instance the address of the host's network card: another one is called.
	bridge, err := virtnet.NewBridge("usernetwork1", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bridge.Close(context.Background()) })
	for option, program := range proxies {
		t.Run(option, func(t *testing.T) {
			i := at(t, `{"network": "`+option+`"}`)
			l, err := net.Listen("tcp4", bridge.Host()+":0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				if c, err := l.Accept(); err == nil {
					c.Write([]byte("heard"))
					c.Close()
				}
			}()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			script := "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => qq(" + bridge.Host() + "), PeerPort => " + port + ", Timeout => 10) or die $@; print <$s>'"
			if got := testenv.Run(t, i, script); got != "heard" || i.Address() != "" {
				t.Errorf("%q, address %q", got, i.Address())
			}
			if path := i.Paths().Network; path != "tap, "+program+", the host's sockets" {
				t.Errorf("the path is %q", path)
			}
			if n := len(i.Footprint().Processes); n == 0 || i.Footprint().Processes[0].Role != "proxy" {
				t.Errorf("what it uses outside of its cgroup: %v", i.Footprint().Processes)
			}
		})
	}
}

func TestAFailedStartQuotesTheRuntimeAndLeavesNothing(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	o := Default()
	testenv.NeedsKind(t, "oci", &o)
	o.RuntimeArgs = []string{"--no-such-flag"}
	env, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	own := testenv.Owner(t, home)
	_, err = env.Start(t.Context(), environment.Request{Name: "lost", Owner: own, Image: testenv.Image(t), Console: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("an unknown flag gives %v", err)
	}
	for _, line := range testenv.Left(t.Context(), home, own.ID()) {
		t.Errorf("left behind: %s", line)
	}
}

func TestLimitsThatAStartCannotHaveAreRejectedBriefly(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, c := range []struct {
		data string
		l    environment.Limits
		most int
	}{
		{"tmpfs", environment.Limits{IO: environment.IO{Write: 1 << 20}}, 300},
		{"bind", environment.Limits{PIDs: 10}, 3000},
	} {
		o := Default()
		testenv.NeedsKind(t, "oci", &o)
		o.Data = c.data
		env, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		own, img := testenv.Owner(t, t.TempDir()), testenv.Image(t)
		if err := env.Prepare(t.Context(), img, nil); err != nil {
			t.Fatal(err)
		}
		i, err := env.Start(t.Context(), environment.Request{Name: "a-1", Owner: own, Image: img, Limits: c.l, Console: io.Discard})
		if err == nil { // the runtime got by with them
			if err := i.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if c.data == "tmpfs" {
				t.Error("a limit of io was taken without a disk")
			}
			continue
		}
		t.Log(err)
		if text := err.Error(); len(text) > c.most || strings.Contains(text, "{Code:") {
			t.Errorf("%d bytes: %s", len(text), text)
		}
		for _, line := range testenv.Left(t.Context(), own.Home(), own.ID()) {
			t.Errorf("left behind: %s", line)
		}
	}
}

func TestAMissingProgramIsReportedWithTheInstallCommand(t *testing.T) {
	for runtime, fix := range map[string]string{"/absent/runc": "apt-get install -y runc", "/absent/crun": "crun", "/absent/runsc": "install-runsc.sh", "/absent/kata-runtime": "katacontainers.io", "/absent/youki": "youki"} {
		o := Default()
		o.Runtime = runtime
		f := Requirements(&o)[1].Check(t.Context())
		if f.State != environment.Missing || !strings.Contains(f.Fix.String(), fix) {
			t.Errorf("%s: %+v", runtime, f)
		}
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), fix) {
			t.Errorf("%s: %v", runtime, err)
		}
	}
	f := CheckRunsc("/bin/sh")
	if f.State == environment.Missing && (!strings.Contains(f.Reason, "linked dynamically") || !strings.Contains(f.Fix.String(), "CGO_ENABLED=0")) {
		t.Errorf("%+v", f)
	}
}

// Where virtual CPUs are interpreted, its sandbox would never answer.
func TestThePlatformKVMTakesKVMAtHardwareSpeed(t *testing.T) {
	needs.Program(t, "runsc")
	o := Default()
	o.Runtime, o.Platform = "runsc", "kvm"
	_, findings := environment.Check(t.Context(), "oci", &o)
	last, r := findings[len(findings)-1], kvm.Probe(t.Context(), vmm.ProbeTimeout)
	if (last.State == environment.Usable) != r.Usable || !r.Usable && last.Fix.String() != "platform: systrap" {
		t.Errorf("%+v, where KVM is %+v", last, r)
	}
}

func TestATimeNamespaceTakesARuntimeThatListsIt(t *testing.T) {
	o := Default()
	o.Namespaces.Time = true
	needs.Program(t, "runc")
	state, findings := environment.Check(t.Context(), "oci", &o)
	last := findings[len(findings)-1]
	if state == environment.Missing {
		if !strings.Contains(last.Reason, "does not list time") {
			t.Errorf("%+v", last)
		}
		return
	}
	if got := ignoredBy(at(t, `{"namespaces": {"time": true}}`)); len(got) > 0 {
		t.Errorf("ignored are %q", got)
	}
}

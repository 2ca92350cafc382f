package fingerprint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/parity"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"

	_ "tare/internal/environment/bubblewrap"
	_ "tare/internal/environment/containerd"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
)

// server is a program in place of one: it has a log, a configuration and a
// variable, and it is started through a shell. What says that it is ready it makes
// itself: before that the shell's child may still be the shell.
const server = `echo 'user root; http { listen '"$ADDRESS"':80; }' > /data/server.conf
exec > /data/server.log
perl -e 'open(F, ">", "/data/ready"); sleep 600'; exit`

// Two fingerprints of one environment are equal, or a difference between two
// environments would mean nothing.
func TestTwoStartsOfAnEnvironmentDifferInNoFact(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, p := range []struct{ name, kind, options string }{
		{"native", "native", `{}`},
		{"docker", "docker", `{}`},
		{"docker host network", "docker", `{"network": "host", "data": "overlay", "log": "json-file"}`},
		{"podman", "podman", `{}`},
		{"containerd", "containerd", `{}`},
		{"gvisor", "gvisor", `{"engine": "docker"}`},
		{"gvisor direct", "gvisor", `{"engine": "direct"}`},
		{"oci runc", "oci", `{"root": "folder", "data": "tmpfs"}`},
		{"oci crun", "oci", `{"runtime": "crun"}`},
		{"bubblewrap", "bubblewrap", `{}`},
		{"qemu q35", "qemu", `{"machine": "q35", "data": "64MiB"}`},
		{"qemu microvm", "qemu", `{"machine": "microvm", "data": "64MiB", "cache": "none"}`},
	} {
		t.Run(p.name, func(t *testing.T) {
			registration, _ := environment.Lookup(p.kind)
			options := registration.Options()
			if err := json.Unmarshal([]byte(p.options), options); err != nil {
				t.Fatal(err)
			}
			testenv.NeedsKind(t, p.kind, options)
			env, err := registration.New(options)
			if err != nil {
				t.Fatal(err)
			}
			img, o := testenv.Image(t), testenv.Owner(t, t.TempDir())
			if err := env.Prepare(t.Context(), img, func(line string) { t.Log(line) }); err != nil {
				t.Fatal(err)
			}
			var before map[string]parity.Fact
			for n := range 2 {
				i, err := env.Start(t.Context(), environment.Request{Name: fmt.Sprintf("b%d-server-%d", n, n+7), Owner: o, Image: img, Console: io.Discard,
					Limits: environment.Limits{CPUs: 0.75, Memory: 256 * quantity.MiB, Cores: []int{0}}})
				if err != nil {
					t.Fatal(err)
				}
				facts := fingerprint(t, i)
				if err := i.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				known(t, facts)
				if before == nil {
					before = facts
					show(t, p.name, facts)
					continue
				}
				for key := range maps.Keys(facts) {
					if facts[key] != before[key] {
						t.Errorf("%s: %+v, and %+v at the second start", key, before[key], facts[key])
					}
				}
				if len(facts) != len(before) {
					t.Errorf("%d facts, and %d at the second start", len(before), len(facts))
				}
			}
		})
	}
}

// fingerprint of an instance with a server in it.
func fingerprint(t *testing.T, i environment.Instance) map[string]parity.Fact {
	address := cmp.Or(i.Address(), loopback)
	p, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", server}, Stdout: io.Discard, Stderr: io.Discard,
		Env: []string{"ADDRESS=" + address, "PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Agent().Await(t.Context(), agent.Probe{Exec: []string{"test", "-e", "/data/ready"}}); err != nil {
		t.Fatal(err)
	}
	facts, err := Facts(t.Context(), Subject{
		Instance: i, Address: address, Env: []string{"PATH=/usr/bin:/bin"},
		Servers: []Server{{"server", "server", p.PID()}}, Drivers: []Driver{{"driver", []string{"/bin/sh", "-c", "exec dd if=/dev/zero"}}},
		Paths: []string{"/data/server.log", "/usr/share"}, Files: []File{{"server", "/data/server.conf"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// known holds facts to the table of keys, and looks at what no environment can
// do without.
func known(t *testing.T, facts map[string]parity.Fact) {
	t.Helper()
	for key, f := range facts {
		if !tabled(key) {
			t.Errorf("%s is in no table of keys", key)
		}
		if (f.Value == "") == (f.Missing == "") && !strings.HasPrefix(key, "environment[") && !strings.HasPrefix(key, "configuration[") {
			t.Errorf("%s: %+v has neither a value nor a reason, or both", key, f)
		}
	}
	for key, want := range map[string]string{
		"log[server].stdout": "file /data/server.log on ", "log[server].stderr": parity.ToTheAgent,
		"configuration[server/server.conf][http.listen]": parity.Address + ":80",
		"command[server]": "perl -e open", "page.size": "4096", "libc": "glibc ",
		"program[driver/dd].version": "coreutils ", "program[server/perl].path": "/usr/bin/perl",
		"kernel.release": "", "path[/data].filesystem": "", "network.mtu": "", "cpu.count": "", "memory.total": "",
		"log.channel": "", "kernel.own": "", "locale": "", "process.user": "0:0", "ulimit[nofile].soft": "",
	} {
		if got := facts[key]; !strings.HasPrefix(got.Value, want) || got.Value == "" {
			t.Errorf("%s is %+v, want %q", key, got, want)
		}
	}
}

// show writes a fingerprint to $TARE_FINGERPRINTS, for those who want to read it.
func show(t *testing.T, name string, facts map[string]parity.Fact) {
	directory := os.Getenv("TARE_FINGERPRINTS")
	if directory == "" {
		return
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		f := facts[key]
		if f.Missing != "" {
			f.Value = "MISSING: " + f.Missing
		}
		fmt.Fprintf(&text, "%-45s %-8s %s\n", key, f.Seen, f.Value)
	}
	if err := os.WriteFile(directory+"/"+name+".txt", []byte(text.String()), 0o644); err != nil {
		t.Error(err)
	}
}

package fingerprint

import (
	"context"
	"io"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/native"
	"tare/internal/environment/oci"
	"tare/internal/parity"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// nativeInstance starts an instance of the kind native.
func nativeInstance(t *testing.T, options native.Options) environment.Instance {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	registration, _ := environment.Lookup("native")
	testenv.NeedsKind(t, "native", &options)
	env, err := registration.New(&options)
	if err != nil {
		t.Fatal(err)
	}
	img, o := testenv.Image(t), testenv.Owner(t, t.TempDir())
	if err := env.Prepare(t.Context(), img, func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	i, err := env.Start(t.Context(), environment.Request{Name: "a-1", Owner: o, Image: img, Console: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

func TestAFingerprintShowsWhatANativeInstanceDoesNotHave(t *testing.T) {
	open := native.Defaults()
	open.Dev, open.Proc, open.Capabilities = "host", "host", "all"
	closed, all := fingerprint(t, nativeInstance(t, native.Defaults())), fingerprint(t, nativeInstance(t, open))
	for key, want := range map[string]string{
		"devices": "full,null,random,tty,urandom,zero", "mount.propagation": "private",
		"capabilities.bounding": oci.PodmanCapabilities, "capabilities.effective": oci.PodmanCapabilities,
	} {
		if got := closed[key]; got.Value != want {
			t.Errorf("%s is %+v, want %s", key, got, want)
		}
	}
	if got := closed["proc.masked"].Value; !strings.Contains(got, "/proc/sys (read-only)") || !strings.Contains(got, "/proc/timer_list") {
		t.Errorf("masked are %s", got)
	}
	for _, key := range []string{"devices", "capabilities.bounding", "proc.masked"} {
		if all[key].Missing != "" || all[key] == closed[key] {
			t.Errorf("%s of an instance with everything is %+v", key, all[key])
		}
	}
	if got := all["proc.masked"].Value; got != parity.None {
		t.Errorf("masked are %s", got)
	}
}

// Without CAP_SYS_PTRACE root reads these of another user's process no more than others.
func TestAServerOfAnotherUserIsSeenWithoutTheRightToTraceIt(t *testing.T) {
	i := nativeInstance(t, native.Defaults())
	p, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", `perl -e 'open(F, ">", "/data/ready"); sleep 600'; exit`},
		User: "nobody", Stdout: io.Discard, Stderr: io.Discard, Env: []string{"MARK=yes"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Agent().Await(t.Context(), agent.Probe{Exec: []string{"test", "-e", "/data/ready"}}); err != nil {
		t.Fatal(err)
	}
	facts, err := Facts(t.Context(), Subject{Instance: i, Servers: []Server{{"server", "server", p.PID()}}})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"program[server/perl].path": "/usr/bin/perl", "environment[MARK]": "yes", "log[server].stdout": parity.ToTheAgent,
		"namespace[pid]": parity.Hosts, "allocator[server/perl]": "the libc's", "capabilities.effective": parity.None,
	} {
		if got := facts[key]; got.Value != want {
			t.Errorf("%s is %+v, want %s", key, got, want)
		}
	}
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/system"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/shims"
	"tare/internal/linux/cgroup"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

// An engine of an ordinary user's, which scripts/with-rootless.sh starts.
func TestARootlessEngineRunsContainersAndMissingLimitsAreDetected(t *testing.T) {
	for _, engine := range []struct {
		brand    brand
		variable string
	}{{thePodman, "TARE_TEST_ROOTLESS_PODMAN"}, {theDocker, "TARE_TEST_ROOTLESS_DOCKER"}} {
		t.Run(strings.Fields(engine.brand.name)[0], func(t *testing.T) {
			needs.Real(t)
			socket := os.Getenv(engine.variable)
			if socket == "" {
				t.Skipf("needs a rootless engine: $%s names no socket; scripts/with-rootless.sh starts one", engine.variable)
			}
			testenv.NeedsAgent(t)
			rootless(t, engine.brand, socket)
		})
	}
}

func rootless(t *testing.T, b brand, socket string) {
	f := b.answers(t.Context(), socket)
	t.Logf("%+v", f)
	if f.State != environment.Caveat || !strings.Contains(f.Reason, "rootless") {
		t.Errorf("the user is not told that it is rootless: %+v", f)
	}
	img := testenv.Image(t)
	env, err := newContainers(b, Options{Socket: socket, Network: "none", Log: "none", Seccomp: "default", Data: "bind"})
	if err != nil {
		t.Fatal(err)
	}
	if err := env.Prepare(t.Context(), img, func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	// tare lets its user come to the agent and the data, and nobody else.
	home, err := os.MkdirTemp("/var/tmp", "tare-rootless-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	o := testenv.Owner(t, home)
	limits := environment.Limits{CPUs: 0.5, Memory: 192 * quantity.MiB, PIDs: 100}
	for name, l := range map[string]environment.Limits{"free": {}, "limited": limits} {
		i, err := env.Start(t.Context(), environment.Request{Name: name, Owner: o, Image: img, Limits: l, Console: os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { i.Stop(context.Background()) })
		if notes := strings.Join(i.Notes(), "\n"); strings.Contains(notes, shims.ViaEngine) {
			t.Error(notes)
		}
		limits, err := environment.CheckLimits(t.Context(), i, l)
		t.Log(limits, err)
		if notHeld := (*environment.LimitsError)(nil); name == "limited" && cgroup.Mode() != "v2" && !errors.As(err, &notHeld) {
			t.Errorf("a rootless engine enforces no limits on v1, and the check says %v", err)
		}
		sampler := usage.Start(i.Footprint(), usage.Options{})
		exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", "echo x >/data/x; while :; do :; done"}, Timeout: time.Second / 2})
		if err != nil || !exit.TimedOut {
			t.Errorf("%+v, %v", exit, err)
		}
		if used := sampler.Stop().CPU(); used.Missing != "" || used.Value < 0.01 || used.Value > 5 {
			t.Errorf("it used %+v", used)
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Docker's host network is, without root, that of RootlessKit, unless it was told to use the
// host's.
func TestProgramsOnTheHostDoNotReachTheNetworksOfARootlessEngine(t *testing.T) {
	ownUser := map[bool]string{true: "name=rootless", false: "name=seccomp"}
	for _, c := range []struct {
		rootless       bool
		driver, option string
		apart          bool
	}{
		{false, "", "bridge", false},
		{false, "", "host", false},
		{true, "slirp4netns", "bridge", true},
		{true, "slirp4netns", "none", true},
		{true, "slirp4netns", "host", true},
		{true, "slirp4netns", "publish", false},
		{true, "host", "host", false},
		{true, "host", "nat", true},
	} {
		socket := filepath.Join(t.TempDir(), "socket")
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"Components": [{"Name": "Engine"}, {"Name": "rootlesskit", "Details": {"NetworkDriver": %q}}]}`, c.driver)
		})}
		go server.Serve(listener)
		e, err := theDocker.at("unix://" + socket)
		if err != nil {
			t.Fatal(err)
		}
		e.replies.info = func(context.Context, *engine) (system.Info, error) {
			return system.Info{SecurityOptions: []string{ownUser[c.rootless]}}, nil
		}
		if got := (&containers{engine: e, options: Options{Network: c.option}}).apart(t.Context()); got != c.apart {
			t.Errorf("%+v: %v", c, got)
		}
		e.api.Close()
		server.Close()
	}
}

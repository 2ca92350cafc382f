package attribution

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/study"
	"tare/internal/testing/knowncost"
	testneeds "tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// Every rung is an environment that really starts, and in which a command runs.
// The ends stand last: what they need is not missing in what lies between.
func TestEveryRungStartsAndRunsACommand(t *testing.T) {
	testneeds.Root(t)
	testenv.NeedsAgent(t)
	image, own := testenv.Image(t), testenv.Owner(t, t.TempDir())
	for _, c := range []struct{ from, to string }{
		{"native", `docker {"log": "json-file", "network": "publish", "ports": ["18099"]}`},
		{"native", "gvisor"},
		{"native", `gvisor {"engine": "direct"}`},
		{"docker", "podman"},
		{"native", `qemu {"network": "bridge", "cache": "none"}`},
		{"handicap", `handicap {"costly": true, "idle": true}`},
	} {
		t.Run(strings.Fields(c.from)[0]+" to "+strings.Fields(c.to)[0], func(t *testing.T) {
			to := of(t, "to", c.to)
			needsRung(t, to)
			l, err := Build(of(t, "from", c.from), to, BuildOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + printed(l))
			for _, rung := range l.Rungs {
				rung.Limits.Memory = 512 * quantity.MiB
				started(t, rung, environment.Request{Name: rung.Name, Owner: own, Image: image, Limits: rung.Limits})
			}
		})
	}
}

// needsRung skips where a rung cannot be had on this machine.
func needsRung(t *testing.T, e study.Environment) any {
	t.Helper()
	options, err := e.Decode()
	if err != nil {
		t.Fatal(err)
	}
	testenv.NeedsKind(t, e.Kind, options)
	return options
}

func started(t *testing.T, e study.Environment, r environment.Request) {
	t.Helper()
	options := needsRung(t, e)
	registration, _ := environment.Lookup(e.Kind)
	made, err := registration.New(options)
	if err != nil {
		t.Fatalf("rung %s: %v", e.Name, err)
	}
	if err := made.Prepare(t.Context(), r.Image, func(string) {}); err != nil {
		t.Fatalf("rung %s: %v", e.Name, err)
	}
	var console bytes.Buffer
	r.Console = &console
	i, err := made.Start(t.Context(), r)
	if err != nil {
		t.Errorf("rung %s does not start: %v", e.Name, err)
		return
	}
	if got := testenv.Run(t, i, "echo some words >/data/x && cat /data/x; echo $"+knowncost.Variable); !strings.HasPrefix(got, "some words") {
		t.Errorf("rung %s: /data holds %q", e.Name, got)
	} else if at := strings.TrimSpace(strings.TrimPrefix(got, "some words")); e.Kind == knowncost.Kind && at != "1000000" && at != "1050000" {
		t.Errorf("rung %s: the workload finds %q", e.Name, at)
	}
	p := i.Paths()
	t.Logf("%-14s %-7s network: %s; root: %s; data: %s; %s", e.Name, e.Kind, p.Network, p.Root, p.Data, strings.Join(i.Notes(), "; "))
	if err := i.Stop(t.Context()); err != nil {
		t.Errorf("rung %s does not stop: %v", e.Name, err)
	}
}

package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/testing/clustertest"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

func TestAPodIsMeteredAndFrozenThroughAHelperOnItsNode(t *testing.T) {
	needs.Cluster(t)
	account, err := clustertest.Account(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	img := testenv.Image(t)
	if err := clustertest.Load(t.Context(), img); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"runc", "gvisor"} {
		t.Run(class, func(t *testing.T) {
			options := defaults()
			text := `{"kubeconfig": "` + account + `", "runtime_class": "` + class + `", "usage": "node"}`
			if err := json.Unmarshal([]byte(text), options); err != nil {
				t.Fatal(err)
			}
			e, err := environmentOf(options)
			if err != nil {
				t.Fatal(err)
			}
			owner := testenv.Owner(t, t.TempDir())
			limits := environment.Limits{CPUs: 1, Memory: 256 << 20}
			began := time.Now()
			i, err := e.Start(t.Context(), environment.Request{Name: "measured", Owner: owner, Image: img, Limits: limits, Console: io.Discard, Node: "node-1"})
			if err != nil {
				t.Fatal(err)
			}
			defer i.Stop(context.Background())
			t.Logf("the pod and the helper started within %v", time.Since(began).Round(time.Millisecond))

			meter := environment.Meter(i, usage.Options{})
			work(t, i)
			used := meter.Stop()
			if cpu := used.CPU(); cpu.Missing != "" || cpu.Value <= 0.05 {
				t.Errorf("its CPU time is %+v", cpu)
			}
			if used.MemoryPeak.Missing != "" || used.NetReceived.Missing != "" {
				t.Errorf("memory %+v, network %+v", used.MemoryPeak, used.NetReceived)
			}
			t.Logf("CPU %v s, memory %v, parts %+v", used.CPU().Value, used.MemoryPeak.Value, used.Parts)
			if cpu := environment.UsageOfStart(i).CPU(); cpu.Missing != "" || cpu.Value <= 0 {
				t.Errorf("its start's CPU time is %+v", cpu)
			}
			if _, err := environment.CheckLimits(t.Context(), i, limits); err != nil {
				t.Error(err)
			}

			f := i.Details().Freezer
			err = f.Freeze(t.Context())
			if class == "gvisor" { // whose platform would not survive it
				if !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("a freeze of gVisor gives %v", err)
				}
				stopLeavesNothing(t, i, owner)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			frozen := environment.Meter(i, usage.Options{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				work(t, i)
			}()
			select {
			case <-done:
				t.Error("a frozen pod works")
			case <-time.After(time.Second):
			}
			if cpu := frozen.Stop().CPU(); cpu.Missing != "" || cpu.Value > 0.1 {
				t.Errorf("frozen it used %+v s", cpu)
			}
			if err := f.Thaw(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-done
			if err := f.Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
			stopLeavesNothing(t, i, owner)
		})
	}
}

func stopLeavesNothing(t *testing.T, i environment.Instance, owner *cleanup.Owner) {
	t.Helper()
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	left, err := clustertest.Kubectl(t.Context(), "", "get", "pods,services,leases", "-n", clustertest.Namespace, "-o", "name", "-l", "tare.owner="+owner.ID())
	if err != nil || strings.TrimSpace(left) != "" {
		t.Errorf("left behind: %s %v", left, err)
	}
	if files, _ := filepath.Glob(filepath.Join(owner.Home(), kind, "*")); len(files) > 0 {
		t.Errorf("left behind: %q", files)
	}
}

func work(t *testing.T, i environment.Instance) {
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"}})
	if err != nil || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
}

func environmentOf(o *Options) (environment.Environment, error) {
	registration, _ := environment.Lookup(kind)
	return registration.New(o)
}

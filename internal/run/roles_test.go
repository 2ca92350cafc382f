package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/rundir"
	"tare/internal/study"
)

// wired is bare with a network: each instance has a loopback address of its own.
type wired struct{ bare }

var wiredAddresses, wiredNetworks atomic.Int64

func (w *wired) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	wiredNetworks.Add(1)
	return wire{}, nil
}

func (w *wired) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	i, err := w.bare.Start(ctx, r)
	if err != nil || r.Network == nil {
		return i, err
	}
	return &wiredChild{i.(*child), fmt.Sprintf("127.4.0.%d", wiredAddresses.Add(1))}, nil
}

type wire struct{}

func (wire) Path() string                { return "the loopback" }
func (wire) Host() string                { return "127.0.0.1" }
func (wire) Close(context.Context) error { wiredNetworks.Add(-1); return nil }

type wiredChild struct {
	*child
	address string
}

func (c *wiredChild) Address() string { return c.address }

// lone is wired with a single address, as another machine has it.
type lone struct{ wired }

type loneWire struct {
	wire
	taken atomic.Bool
}

func (l *lone) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	wiredNetworks.Add(1)
	return &loneWire{}, nil
}

func (l *lone) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	if r.Network.(*loneWire).taken.Swap(true) {
		return nil, fmt.Errorf("starting %s: %w", r.Name, environment.ErrOneAddress)
	}
	return l.wired.Start(ctx, r)
}

func init() {
	environment.Register(environment.Registration{
		Kind: "lone", Options: func() any { return &lone{} },
		Requires: func(any) []environment.Requirement { return nil },
		New:      func(o any) (environment.Environment, error) { return o.(*lone), nil },
	})
	environment.Register(environment.Registration{
		Kind: "wired", Options: func() any { return &wired{} },
		Requires: func(any) []environment.Requirement { return nil },
		New:      func(o any) (environment.Environment, error) { return o.(*wired), nil },
	})
	environment.Register(environment.Registration{
		Kind: "native", Options: func() any { return &bare{} },
		Requires: func(any) []environment.Requirement { return nil },
		New:      func(o any) (environment.Environment, error) { return o.(*bare), nil },
	})
}

// clusterPack prints where each of its commands ran.
const clusterPack = `
workload: cluster
stresses: network
parameters: {nodes: {default: 3, min: 1, max: 9}}
roles:
  node: {place: apart, count: "${nodes}"}
  driver: {place: apart}
begin: [{run: "echo begin ${index} ${address}", role: node}]
setup: [{run: "echo setup ${index} ${address} of ${addresses.node}", role: node}]
servers:
  - {run: "echo node ${index} on ${address}; exec sleep 600", role: node, ready: {exec: ["true"]}}
driver: {run: "echo rate 10; echo ${address} drives ${addresses.node}", role: driver}
parser: {regex: ['rate (?P<rate>\d+)']}
metrics:
  - {name: rate, unit: op/s, better: higher, primary: true}
  - {name: worst, unit: s, better: lower, field: wall_seconds, across: max}
`

func clusterPlan(t *testing.T, entry, environments string) *study.Plan {
	t.Helper()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "cluster.yaml"), []byte(clusterPack), 0o644); err != nil {
		t.Fatal(err)
	}
	return plan(t, "[{use: "+filepath.Join(directory, "cluster.yaml")+entry+"}]", "{order: interleaved, blocks: 1, fresh: block}", environments)
}

func output(t *testing.T, r *Result, trial rundir.Trial, name string) string {
	t.Helper()
	for _, raw := range trial.Raw {
		if raw.Name == name {
			text, err := os.ReadFile(filepath.Join(r.Directory, raw.Path))
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(text))
		}
	}
	t.Fatalf("%s is not among %v", name, trial.Raw)
	return ""
}

func TestEachRoleRunsInItsInstancesAndKnowsTheOthersAddresses(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: clusterPlan(t, "", "{a: {kind: wired}}")})
	trial := r.Run.Trials[0]
	if trial.Status != rundir.OK || len(trial.Instances) != 4 {
		t.Fatalf("%s %s in %v", trial.Status, trial.Reason, trial.Instances)
	}
	var nodes []string
	for i := 1; i <= 3; i++ {
		prefix := ""
		if i > 1 {
			prefix = fmt.Sprint(i, ".")
		}
		begin := strings.Fields(output(t, r, trial, prefix+"begin.output"))
		if begin[1] != fmt.Sprint(i) {
			t.Errorf("node %d was told that it is %s", i, begin[1])
		}
		nodes = append(nodes, begin[2])
		if got, want := output(t, r, trial, prefix+"node.stdout"), fmt.Sprintf("node %d on %s", i, begin[2]); got != want {
			t.Errorf("a server printed %q, want %q", got, want)
		}
	}
	driver := strings.Fields(output(t, r, trial, "driver.stdout"))
	if all := strings.Join(nodes, ","); driver[4] != all || slices.Contains(nodes, driver[2]) {
		t.Errorf("the driver %v, the nodes %v", driver, all)
	}
	if wiredNetworks.Load() != 0 {
		t.Error("a network was left")
	}
}

func TestCopiesRunAtOnceAndAddUp(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: clusterPlan(t, ", nodes: 2, instances: [1, 3]", "{a: {kind: wired}}")})
	for _, trial := range r.Run.Trials {
		if trial.Status != rundir.OK {
			t.Fatal(trial.Reason)
		}
		switch trial.Level {
		case "instances=1":
			if trial.Metrics["rate"] != 10 || trial.Copies != nil {
				t.Errorf("one copy: %v %v", trial.Metrics, trial.Copies)
			}
		case "instances=3":
			if trial.Metrics["rate"] != 30 || len(trial.Copies) != 3 || len(trial.Instances) != 9 {
				t.Errorf("three copies: %v %v in %v", trial.Metrics, trial.Copies, trial.Instances)
			}
			worst := 0.0
			for _, c := range trial.Copies {
				worst = max(worst, c.Metrics["worst"])
			}
			if trial.Metrics["worst"] != worst {
				t.Errorf("the worst of %v is not %v", trial.Copies, trial.Metrics["worst"])
			}
			output(t, r, trial, "copy3.2.node.stdout")
		}
	}
}

func TestADriverOnTheHostReachesTheServersOfTheEnvironment(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: clusterPlan(t, ", nodes: 1, place: {driver: host}", "{a: {kind: wired}}")})
	trial := r.Run.Trials[0]
	if trial.Status != rundir.OK || !strings.Contains(strings.Join(trial.Instances, " "), "host") {
		t.Errorf("%s %s in %v", trial.Status, trial.Reason, trial.Instances)
	}
	if driver := strings.Fields(output(t, r, trial, "driver.stdout")); driver[2] != "127.0.0.1" || driver[4] == "127.0.0.1" {
		t.Errorf("the driver and its server: %v", driver)
	}
}

func TestAnEnvironmentWithoutANetworkSkipsWhatNeedsOneAndFailsNothing(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: clusterPlan(t, "", "{a: {kind: wired}, b: {kind: bare}}")})
	for _, trial := range r.Run.Trials {
		if trial.Environment == "b" && (trial.Status != rundir.Skipped || !strings.Contains(trial.Reason, "known limit: its instances have no network")) {
			t.Errorf("%s: %s", trial.Status, trial.Reason)
		}
	}
}

func TestAnEnvironmentOfOneAddressSkipsWhatNeedsTwoAndRunsTheRest(t *testing.T) {
	both := clusterPlan(t, ", nodes: 2", "{a: {kind: wired}, b: {kind: lone}}")
	for _, trial := range execute(t, t.Context(), Options{Plan: both}).Run.Trials {
		if trial.Environment == "b" && (trial.Status != rundir.Skipped || !strings.HasPrefix(trial.Reason, "known limit: its instances would share one address")) {
			t.Errorf("%s: %s", trial.Status, trial.Reason)
		}
	}
	outside := clusterPlan(t, ", nodes: 1, place: {driver: host}", "{a: {kind: lone}}")
	if trial := execute(t, t.Context(), Options{Plan: outside}).Run.Trials[0]; trial.Status != rundir.OK {
		t.Errorf("a server, driven from the host: %s: %s", trial.Status, trial.Reason)
	}
	if wiredNetworks.Load() != 0 {
		t.Error("a network was left")
	}
}

func TestSeveralStartsAtOnceAreEachMeasuredAndTogether(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: startup, instances: [1, 4]}]", "{blocks: 1}", "{a: {kind: bare}}")})
	for _, trial := range r.Run.Trials {
		if trial.Status != rundir.OK {
			t.Fatal(trial.Reason)
		}
		all, several := trial.Metrics["start_all"]
		if trial.Level == "instances=1" && several || trial.Level == "instances=4" && (all < trial.Metrics["start"] || len(trial.Copies) != 4) {
			t.Errorf("%s: %v, copies %v", trial.Level, trial.Metrics, trial.Copies)
		}
	}
}

func TestACopyThatFailsIsNamed(t *testing.T) {
	p := clusterPlan(t, ", instances: 2", "{a: {kind: wired}}")
	p.Workloads[0].Pack.Driver.Run = `echo rate 1; exit 7`
	r := execute(t, t.Context(), Options{Plan: p})
	if reason := r.Run.Trials[0].Reason; !strings.Contains(reason, "copy 1: driver") || !strings.Contains(reason, "status 7") {
		t.Errorf("got %q", reason)
	}
	if _, err := agent.WriteBinary(t.TempDir()); err == nil && wiredNetworks.Load() != 0 {
		t.Error("a network was left")
	}
}

func TestAServerThatEndsDuringTheTrialFailsIt(t *testing.T) {
	p := clusterPlan(t, ", nodes: 1", "{a: {kind: wired}}")
	pack := &p.Workloads[0].Pack
	// The server ends once the driver has begun, and the driver once the server
	// is gone: nobody holds the pipe's other end any more.
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	pack.Servers[0].Run = "echo address in use >&2; exec 3> " + fifo + "; exit 3"
	pack.Servers[0].Ready.Exec = []string{"true"}
	pack.Driver.Run = "cat " + fifo + "; echo rate 1"
	r := execute(t, t.Context(), Options{Plan: p})
	if trial := r.Run.Trials[0]; trial.Status != rundir.Failed || !strings.Contains(trial.Reason, "status 3") || !strings.Contains(trial.Reason, "address in use") {
		t.Errorf("%s: %s", trial.Status, trial.Reason)
	}
}

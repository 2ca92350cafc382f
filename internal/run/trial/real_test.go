package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/environment"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	"tare/internal/image"
	"tare/internal/run/schedule"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/workload"
)

const realRounds = 4

// realRunner makes trials of a pack in environments of these kinds, and the batch of
// all of them.
func realRunner(t *testing.T, packName string, parameters map[string]string, waiting string, kinds ...string) (*Runner, schedule.Batch) {
	t.Helper()
	pack, err := workload.Find(packName)
	if err != nil {
		t.Fatal(err)
	}
	plan := &study.Plan{
		Design:    study.Design{Order: study.Alternating, Rounds: realRounds, Waiting: waiting},
		Workloads: []study.Workload{{Name: pack.Name, Pack: *pack, Fresh: "block", Levels: []study.Level{{Parameters: parameters}}}},
	}
	var batch schedule.Batch
	c := instances.Config{
		Plan: plan, Images: map[string]*image.Image{"": testenv.Image(t)}, Owner: testenv.Owner(t, t.TempDir()), Environments: map[string]environment.Environment{},
	}
	for n, kind := range kinds {
		registration, _ := environment.Lookup(kind)
		options := registration.Options()
		testenv.NeedsKind(t, kind, options)
		e, err := registration.New(options)
		if err == nil {
			err = e.Prepare(t.Context(), c.ImageOf(""), func(line string) { t.Log(line) })
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(options)
		name := fmt.Sprintf("%s%d", kind, n+1)
		plan.Environments = append(plan.Environments, study.Environment{Name: name, Kind: kind, Options: text})
		c.Environments[name] = e
		batch.Slots = append(batch.Slots, schedule.Slot{Block: 1, Position: n + 1, Environment: name, Workload: pack.Name, Fresh: "block", Rounds: realRounds})
	}
	if err := plan.ExpandShapes(); err != nil {
		t.Fatal(err)
	}
	return NewRunner(Config{Instances: c}), batch
}

func TestRealEnvironmentsAlternate(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, kinds := range [][]string{{"native", "native"}, {"native", "docker"}} {
		for _, waiting := range []string{"idle", study.Frozen} {
			t.Run(strings.Join(kinds, " and ")+" "+waiting, func(t *testing.T) {
				r, batch := realRunner(t, "syscalls", map[string]string{"operations": "20000"}, waiting, kinds...)
				readings := map[string]int{}
				r.KeepReadings = func(t rundir.Trial, all []rundir.InstanceSeries) (*rundir.ReadingsFile, error) {
					readings[t.Environment] = all[0].Len()
					return nil, nil
				}
				trials, err := r.Run(t.Context(), batch)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range trials {
					checkAlternated(t, one)
					if n := readings[one.Environment]; n != 1+2*realRounds+1 {
						t.Errorf("%s: %d readings", one.Environment, n)
					}
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func checkAlternated(t *testing.T, one rundir.Trial) {
	t.Helper()
	if one.Status != rundir.OK || len(one.Rounds) != realRounds || one.Metrics["pairs"] != realRounds*20000 || !(one.Metrics["pairs_per_second"] > 0) {
		t.Errorf("%s: %s %s: %v in %d rounds", one.Environment, one.Status, one.Reason, one.Metrics, len(one.Rounds))
		return
	}
	if slices.ContainsFunc(one.Warnings, func(line string) bool { return strings.Contains(line, "waits idle") }) {
		t.Errorf("%s: %q", one.Environment, one.Warnings)
	}
	driver := 0.
	for _, round := range one.Rounds {
		driver += round.GuestSeconds
	}
	cpu := one.Usage.CPU()
	if cpu.Missing != "" || !(cpu.Value > 0) || math.Abs(driver-one.GuestSeconds) > 1e-6 {
		t.Errorf("%s: %v s of CPU time in drivers of %g s, in all %g s", one.Environment, cpu, driver, one.GuestSeconds)
	}
	t.Logf("%s: %.2f s of CPU time in %.2f s, own %.3f s", one.Environment, cpu.Value, driver, one.OwnSeconds)
}

// A sample leaves work behind, which goes on in the background. Where the instance waits
// frozen, it is not done while others are measured. What is done between the thaw and the
// first command of the driver cannot be told from that, so it is compared with idle waiting,
// and the waits are long: on a busy machine the driver starts late.
func TestWorkThatIsLeftBehindWaitsFrozen(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, kind := range []string{"native", "docker", "oci"} {
		for _, piece := range []string{"cpu", "disk"} {
			t.Run(kind+" "+piece, func(t *testing.T) {
				late := map[string]float64{}
				for _, waiting := range []string{"idle", study.Frozen} {
					r, batch := realRunner(t, "testdata/debts.yaml", map[string]string{"operations": "300000", "owed": "300", "piece": piece}, waiting, kind, kind)
					trials, err := r.Run(t.Context(), batch)
					if err != nil {
						t.Fatal(err)
					}
					for _, one := range trials {
						if one.Status != rundir.OK {
							t.Fatalf("%s: %s", one.Environment, one.Reason)
						}
						for _, round := range one.Rounds[1:] {
							late[waiting] += round.Metrics["late"]
						}
					}
					if err := r.Close(); err != nil {
						t.Error(err)
					}
				}
				t.Logf("pieces of work that were done during the waits: %v", late)
				if late["idle"] == 0 || late[study.Frozen] > late["idle"]/2 {
					t.Error("frozen instances did more than half of it")
				}
			})
		}
	}
}

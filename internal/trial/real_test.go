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
	"tare/internal/rundir"
	"tare/internal/schedule"
	"tare/internal/study"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/trial/instances"
	"tare/internal/workload"
)

// realRunner makes trials of system calls in environments of these kinds.
func realRunner(t *testing.T, waiting string, kinds ...string) *Runner {
	t.Helper()
	pack, err := workload.Builtin("syscalls")
	if err != nil {
		t.Fatal(err)
	}
	plan := &study.Plan{
		Design: study.Design{Order: study.Alternating, Rounds: 4, Waiting: waiting},
		Workloads: []study.Workload{{Name: "syscalls", Pack: *pack, Fresh: "block", Levels: []study.Level{{
			Parameters: map[string]string{"operations": "20000"},
		}}}},
	}
	c := instances.Config{
		Plan: plan, Image: testenv.Image(t), Owner: testenv.Owner(t, t.TempDir()), Environments: map[string]environment.Environment{},
	}
	for n, kind := range kinds {
		registration, _ := environment.Lookup(kind)
		options := registration.Options()
		testenv.NeedsKind(t, kind, options)
		e, err := registration.New(options)
		if err == nil {
			err = e.Prepare(t.Context(), c.Image, func(line string) { t.Log(line) })
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(options)
		name := fmt.Sprintf("%s%d", kind, n+1)
		plan.Environments = append(plan.Environments, study.Environment{Name: name, Kind: kind, Options: text})
		c.Environments[name] = e
	}
	if err := plan.ExpandShapes(); err != nil {
		t.Fatal(err)
	}
	return NewRunner(Config{Instances: c})
}

func TestRealEnvironmentsAlternate(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	for _, kinds := range [][]string{{"native", "native"}, {"native", "docker"}} {
		for _, waiting := range []string{"idle", study.Frozen} {
			t.Run(strings.Join(kinds, " and ")+" "+waiting, func(t *testing.T) {
				r := realRunner(t, waiting, kinds...)
				readings := map[string]int{}
				r.KeepReadings = func(t rundir.Trial, all []rundir.InstanceSeries) (*rundir.ReadingsFile, error) {
					readings[t.Environment] = all[0].Len()
					return nil, nil
				}
				var batch schedule.Batch
				for n, e := range r.plan.Environments {
					batch.Slots = append(batch.Slots, schedule.Slot{Block: 1, Position: n + 1, Environment: e.Name, Workload: "syscalls", Fresh: "block", Rounds: 4})
				}
				trials, err := r.Run(t.Context(), batch)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range trials {
					checkAlternated(t, one)
					if n := readings[one.Environment]; n != 1+2*4+1 {
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
	if one.Status != rundir.OK || len(one.Rounds) != 4 || one.Metrics["pairs"] != 4*20000 || !(one.Metrics["pairs_per_second"] > 0) {
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

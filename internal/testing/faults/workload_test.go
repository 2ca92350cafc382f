package faults

import (
	"fmt"
	"slices"
	"testing"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/testing/testenv"
)

// Servers and drivers that fail in each way, in one environment each, all in one block:
// what fails fails for its own reason, and the others are measured.
func TestServersAndDriversThatFail(t *testing.T) {
	for _, kind := range []string{"native", "oci", "docker", "podman", "gvisor"} {
		t.Run(kind, func(t *testing.T) {
			if kind != "oci" {
				needsLong(t)
			}
			failing(t, kind)
		})
	}
}

// failing injects all faults of a workload into environments of a kind.
func failing(t *testing.T, kind string) {
	needsKind(t, kind)
	all := []struct {
		trouble, name, options, says string
		fine, long                   bool
	}{
		{trouble: "unready", name: "a server that never gets ready", says: `did not get ready: tcp .* did not answer within 5s`},
		{trouble: "late", name: "a server that answers late", fine: true},
		{trouble: "silent", name: "a server that stops answering", says: `round \d: driver .* was killed at its timeout of 6s`},
		{trouble: "dies", name: "a server that dies half way", says: `round \d: (driver .*|a server exited\s+)server .* exited during the trial: .*gone to the woods`},
		{trouble: "hangs", name: "a driver that hangs", says: `round \d: driver .* was killed at its timeout of 6s`},
		{trouble: "nonsense", name: "a driver that prints nonsense", says: `round \d: parsing the output .*nothing matches`},
		{trouble: "memory", name: "out of memory inside", options: "limits: {memory: 256MiB}", says: `out of memory, and the kernel killed 1 of its processes`},
		{trouble: "disk", name: "no disk inside", options: "data: %s", says: `No space left on device`},
		{trouble: "floods", name: "a driver that floods its output", says: `too long: the limit is 1GiB|killed at its timeout`, long: true},
		{trouble: "shouts", name: "a driver that floods its errors", says: `too long: the limit is 1GiB|killed at its timeout`, long: true},
	}
	var environments []string
	fails := 0
	for n, one := range slices.Clone(all) {
		if one.long && !Long() {
			t.Run(one.name, needsLong)
			continue
		}
		if kind == "gvisor" && (one.trouble == "disk" || one.trouble == "memory") { // it takes no disk as /data, and out of memory its sandbox dies
			continue
		}
		options := ""
		switch {
		case one.trouble == "disk":
			options = ", " + fmt.Sprintf(one.options, testenv.LoopDevice(t, 16<<20))
		case one.options != "":
			options = ", " + one.options
		}
		environments = append(environments, fmt.Sprintf("e%d: {kind: %s, with: {served: {trouble: %s}}%s}", n, kind, one.trouble, options))
		if !one.fine {
			fails++
		}
	}
	r := Begin(t, studyOf(t, environments, served, "{order: alternating, rounds: 6, blocks: 1, fresh: block}"))
	r.Strike(Fault{Name: "workloads that fail, in " + kind, Status: 3, Fails: fails, When: now, Inject: nothing})
	for n, one := range all {
		list := r.trialsIn(fmt.Sprint("e", n))
		switch {
		case len(list) == 0:
			continue
		case !one.fine:
			r.failedWith(fmt.Sprint("e", n), one.says)
		case list[0].Status != rundir.OK || list[0].Metrics["ready_seconds"] < 1:
			t.Errorf("%s: %s %s, ready after %g s", one.name, list[0].Status, list[0].Reason, list[0].Metrics["ready_seconds"])
		}
		rowOf(one.name).times++
	}
	if fine := r.trialsIn("native"); len(fine) != 1 || fine[0].Status != rundir.OK || len(fine[0].Rounds) != 6 {
		t.Errorf("the baseline, without a fault: %+v", fine)
	}
	r.Finish()
}

// needsKind skips a test if a kind does not work here.
func needsKind(t *testing.T, kind string) {
	t.Helper()
	registration, known := environment.Lookup(kind)
	if !known {
		t.Fatalf("the kind %s is not registered", kind)
	}
	testenv.NeedsKind(t, kind, registration.Options())
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/testing/sshhost"
)

const nodesStudy = `study: blocks on machines of their own
baseline: plain
environments:
  plain: {kind: native}
  other: {kind: native}
hosts:
%snodes: [%s]
workloads:
  - {use: %q, nodes: 1, place: {driver: host}}
design: {blocks: %d, order: %s}
`

// nodesRun writes a study over nodes, and returns its path and where its run goes.
func nodesRun(t *testing.T, entries, nodes string, blocks int, order string) (study, directory string) {
	t.Helper()
	pack, err := filepath.Abs("testdata/nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	study, directory = filepath.Join(t.TempDir(), "nodes.yaml"), filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(study, fmt.Appendf(nil, nodesStudy, entries, nodes, pack, blocks, order), 0o644); err != nil {
		t.Fatal(err)
	}
	return study, directory
}

// trialsOn counts the trials of each node, and checks that those of a block are on one.
func trialsOn(t *testing.T, directory string) (run *rundir.Run, on map[string]int) {
	t.Helper()
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	on = map[string]int{}
	home := map[int]string{}
	for _, trial := range run.Trials {
		if known := home[trial.Block]; known != "" && known != trial.Node {
			t.Errorf("block %d is on %s and on %s", trial.Block, known, trial.Node)
		}
		home[trial.Block] = trial.Node
		if trial.Pressure != nil {
			t.Errorf("a trial on %s has the pressure of another machine", trial.Node)
		}
		if trial.Status == rundir.OK {
			on[trial.Node]++
		}
	}
	return run, on
}

// The driver of a pair is on its second machine, and reaches the first by its address.
func TestBlocksRunOnSeveralHostsSideBySide(t *testing.T) {
	h := aHome(t)
	machines, entries := machinesOf(t, "h1", "h2", "d2")
	study, directory := nodesRun(t, entries, "h1, h2+d2", 6, "interleaved")
	p := h.tare(t, "run", study, "--quiet", "--out", directory)
	if status, output := p.end(); status != 0 {
		t.Fatalf("status %d: %s%s", status, output, p.errs.String())
	}
	run, on := trialsOn(t, directory)
	if on["h1"]+on["h2+d2"] != 12 || on["h1"] == 0 || on["h2+d2"] == 0 || !slices.Equal(run.Manifest.Nodes, []string{"h1", "h2+d2"}) {
		t.Errorf("trials on the nodes: %v of %v", on, run.Manifest.Nodes)
	}
	together := false
	for _, a := range run.Trials {
		for _, b := range run.Trials {
			together = together || a.Node != b.Node && a.Started.Before(b.Ended) && b.Started.Before(a.Ended)
		}
		want := fmt.Sprintf("on %s to %s\n", machines["h1"].Address, machines["h1"].Address)
		if a.Node != "h1" {
			want = fmt.Sprintf("on %s to %s\n", machines["h2"].Address, machines["d2"].Address)
		}
		if heard := printed(t, directory, a, "driver.stdout"); !strings.Contains(heard, want) && a.Node != "h1" {
			t.Errorf("the driver of %s heard %q, without %q", a.Node, heard, want)
		}
	}
	if !together {
		t.Error("no two nodes worked at the same time")
	}
	for _, m := range machines {
		emptyThere(t, m.Home)
	}
	h.clean(t)
}

// A host that is gone in the middle gets no more blocks, and the others make the rest. A
// run that is killed goes on where it was, on the nodes that are there.
func TestARunGoesOnWithoutAHostThatIsGone(t *testing.T) {
	h := aHome(t)
	machines, entries := machinesOf(t, "h1", "h2")
	study, directory := nodesRun(t, entries, "h1, h2", 10, "alternating")
	p := h.tare(t, "run", study, "--quiet", "--out", directory)
	journal := filepath.Join(directory, "journal.jsonl")
	waitFor(t, "a trial on each node", func() bool {
		text, _ := os.ReadFile(journal)
		return strings.Contains(string(text), `"node":"h1"`) && strings.Contains(string(text), `"node":"h2"`)
	})
	refuse(t, machines["h2"])
	waitFor(t, "a block that failed as a whole", func() bool {
		text, _ := os.ReadFile(journal)
		return strings.Count(string(text), "connecting again failed") >= 2
	})
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	before, _ := os.ReadFile(journal)

	p = h.tare(t, "run", "--resume", directory, "--quiet")
	if status, output := p.end(); status != 3 { // with the failed trial
		t.Errorf("status %d: %s%s", status, output, p.errs.String())
	}
	after, _ := os.ReadFile(journal)
	if !strings.HasPrefix(string(after), string(before)) {
		t.Error("the journal of the first session was changed")
	}
	run, on := trialsOn(t, directory)
	session := run.Manifest.Sessions[len(run.Manifest.Sessions)-1]
	if !strings.Contains(session.Gone["h2"], "host h2") || len(session.Gone) != 1 {
		t.Errorf("gone are %q", session.Gone)
	}
	failed := map[int]bool{}
	for _, trial := range run.Trials {
		if trial.Status == rundir.Failed {
			failed[trial.Block] = true
		}
	}
	if len(failed) > 3 { // with the one that was under way when the link was lost
		t.Errorf("the node failed in %d blocks before it got no more", len(failed))
	}
	if !strings.Contains(session.Stopped, "blocks are done") || on["h1"] < 10 {
		t.Errorf("it stopped since %s, with trials on %v", session.Stopped, on)
	}
	emptyThere(t, machines["h1"].Home)
	// What was killed together with the link stays until the next session there.
	p = h.tare(t, "clean", "--home", machines["h2"].Home)
	if status, output := p.end(); status != 0 {
		t.Errorf("clean: status %d: %s%s", status, output, p.errs.String())
	}
	emptyThere(t, machines["h2"].Home)
	h.clean(t)
}

// A run that is killed while two nodes work goes on with one at a time: each block is
// finished on its own node, and none is lost or made twice.
func TestARunOverNodesIsResumedWithFewerAtATime(t *testing.T) {
	h := aHome(t)
	_, entries := machinesOf(t, "h1", "h2")
	study, directory := nodesRun(t, entries, "h1, h2", 8, "interleaved")
	p := h.tare(t, "run", study, "--quiet", "--out", directory)
	journal := filepath.Join(directory, "journal.jsonl")
	waitFor(t, "trials on both nodes", func() bool {
		text, _ := os.ReadFile(journal)
		return strings.Count(string(text), `"node":"h1"`) >= 3 && strings.Contains(string(text), `"node":"h2"`)
	})
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	before, _ := os.ReadFile(journal)
	p = h.tare(t, "run", "--resume", directory, "--quiet", "--parallel", "1")
	if status, output := p.end(); status != 0 {
		t.Fatalf("status %d: %s%s", status, output, p.errs.String())
	}
	after, _ := os.ReadFile(journal)
	whole := before[:strings.LastIndexByte(string(before), '\n')+1]
	if !strings.HasPrefix(string(after), string(whole)) {
		t.Error("the journal of the first session was changed")
	}
	run, on := trialsOn(t, directory)
	made := map[string]int{}
	for _, trial := range run.Trials {
		made[fmt.Sprintf("block %d, %s", trial.Block, trial.Environment)]++
	}
	for which, times := range made {
		if times != 1 {
			t.Errorf("%s was made %d times", which, times)
		}
	}
	if len(made) != 16 || on["h1"]+on["h2"] != 16 || on["h2"] == 0 {
		t.Errorf("%d trials of 16, on %v", len(made), on)
	}
	resumed := run.Trials[strings.Count(string(whole), "\n"):]
	for i, trial := range resumed[min(1, len(resumed)):] {
		if earlier := resumed[i]; trial.Started.Before(earlier.Ended) {
			t.Errorf("block %d on %s began while block %d on %s was under way", trial.Block, trial.Node, earlier.Block, earlier.Node)
		}
	}
	if last := run.Manifest.Sessions[1]; last.Parallel != 1 || run.Plan.Nodes.Parallel != 0 {
		t.Errorf("the session had %d nodes at a time, the plan %d", last.Parallel, run.Plan.Nodes.Parallel)
	}
	h.clean(t)
}

// refuse ends the connections to a machine, and lets no other be made.
func refuse(t *testing.T, m *sshhost.Machine) {
	t.Helper()
	if err := os.WriteFile(m.KnownHosts, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.HangUp()
}

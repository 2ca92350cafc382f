package model_test

import (
	"strings"
	"testing"

	"tare/internal/parity"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

// A confound of disks marks the comparisons of disks, and not those of
// processors; what has none is not marked.
func TestOnlyAffectedContrastsAreMarked(t *testing.T) {
	marked := map[[2]string]bool{}
	for _, c := range reporttest.Unfair().Contrasts {
		for _, w := range c.Warnings {
			if w.Code == verdict.Confound {
				marked[[2]string{c.Environment, c.Workload}] = true
				if c.Environment == "docker" && c.Workload == "nginx" && !strings.HasSuffix(w.String(), "from native: log path, overlay") {
					t.Errorf("it says %q", w.String())
				}
			}
		}
	}
	for pair, want := range map[[2]string]bool{
		{"docker", "nginx"}: true, {"docker", "fio-randread"}: true, {"docker", "sysbench-cpu"}: false, {"gvisor", "nginx"}: false,
		{"vm", "fio-randread"}: true, {"vm", "syscalls"}: false, {"docker", "startup"}: false,
	} {
		if marked[pair] != want {
			t.Errorf("%v: marked %v", pair, marked[pair])
		}
	}
}

func TestOnlyOfSeveralNodesItIsSaidWhatDiffers(t *testing.T) {
	if lines := model.NodesDiffer(parity.Nodes{Names: []string{"a", "b"}}, 1); len(lines) != 1 || !strings.Contains(lines[0], "do not differ") {
		t.Errorf("of two nodes alike: %q", lines)
	}
	if lines := model.NodesDiffer(parity.Nodes{Names: []string{"a"}}, 1); lines != nil {
		t.Errorf("of one node: %q", lines)
	}
}

package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/linux/cgroup"
	"tare/internal/testing/needs"
)

// Subtree is a group of the v2 hierarchy that belongs to an ordinary user, as systemd
// makes one with Delegate=yes. The end of the test kills what is in it.
func Subtree(t testing.TB, user int) *cgroup.Group {
	t.Helper()
	needs.Root(t)
	if mode := cgroup.Mode(); mode != "v2" && mode != "hybrid" {
		t.Skipf("needs a cgroup v2 hierarchy: the mode of this machine is %q", mode)
	}
	g, err := cgroup.Create(fmt.Sprintf("/tare-test-user-%d", os.Getpid()), cgroup.Limits{})
	needs.Working(t, "cgroups that can be written to", err)
	t.Cleanup(func() {
		if err := g.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	directory, _ := g.Dir("")
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(directory, name), user, user); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

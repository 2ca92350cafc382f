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
// makes one with Delegate=yes, with some controllers of a machine of v2 alone. The end of
// the test kills what is in it.
func Subtree(t testing.TB, user int, controllers ...string) *cgroup.Group {
	t.Helper()
	needs.Root(t)
	if mode := cgroup.Mode(); mode != "v2" && mode != "hybrid" {
		t.Skipf("needs a cgroup v2 hierarchy: the mode of this machine is %q", mode)
	}
	above, err := cgroup.Create(fmt.Sprintf("/tare-test-user-%d", os.Getpid()), cgroup.Limits{})
	needs.Working(t, "cgroups that can be written to", err)
	t.Cleanup(func() {
		if err := above.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		if err := above.Remove(); err != nil {
			t.Error(err)
		}
	})
	directory, _ := above.Dir("")
	if cgroup.Mode() == "v2" {
		for _, c := range controllers {
			if err := os.WriteFile(filepath.Join(directory, "cgroup.subtree_control"), []byte("+"+c), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	directory = filepath.Join(directory, "scope")
	if err := os.Mkdir(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := cgroup.At(above.Path() + "/scope")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(directory, name), user, user); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

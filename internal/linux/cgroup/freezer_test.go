package cgroup

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"

	"tare/internal/testing/needs"
)

// frozenGroup makes a group in which a shell with a child that never ends prints lines
// without end, and starts a process for each.
func frozenGroup(t *testing.T, tree *Tree) (*Group, *exec.Cmd, *os.File) {
	t.Helper()
	g, err := tree.Create("/tare-test-freezer/"+strings.ToLower(filepath.Base(t.Name())), Limits{})
	needs.Working(t, "cgroups that can be written to", err)
	const script = `for f in "$@"; do echo 0 > "$f" || exit 1; done; sleep 1000 & while :; do /bin/echo line; done`
	c := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, g.ProcsFiles()...)...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	c.Stdout, c.Stderr = w, os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		err := g.Kill(context.Background())
		c.Process.Kill() // it may have died before it joined
		c.Wait()
		if err := errors.Join(err, g.Remove()); err != nil {
			t.Error(err)
		}
		tree.At("/tare-test-freezer").RemoveEmpty()
	})
	printsLine(t, r)
	return g, c, r
}

func printsLine(t *testing.T, r *os.File) {
	t.Helper()
	r.SetReadDeadline(time.Now().Add(30 * time.Second))
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatalf("the shell prints %q, %v", line, err)
	}
}

// silent reads what was printed before, and reports whether nothing follows.
func silent(r *os.File) bool {
	r.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := io.CopyN(io.Discard, r, 1<<20) // a pipe holds less
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// trees are those of this machine: as it is, and with v1's hierarchies alone.
func trees(t *testing.T) map[string]*Tree {
	t.Helper()
	needs.Root(t)
	here, err := Host()
	needs.Working(t, "a cgroup hierarchy", err)
	list := map[string]*Tree{here.Mode(): here}
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	if v1, err := treeOf(mounts); err == nil && v1.rest["freezer"] != "" {
		list["v1"] = v1
	}
	return list
}

func TestAFrozenGroupStandsStillUntilItIsThawed(t *testing.T) {
	for name, tree := range trees(t) {
		t.Run(name, func(t *testing.T) {
			g, _, output := frozenGroup(t, tree)
			f := g.Freezer(true)
			for range 20 {
				for range 2 { // twice is harmless
					if err := f.Freeze(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if outside, err := g.outside(f.at.dir); err != nil || len(outside) > 0 {
					t.Fatalf("processes %v of the group are outside of the freezer, %v", outside, err)
				}
				for range 2 {
					if err := f.Thaw(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				printsLine(t, output)
			}
			if err := f.Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !silent(output) {
				t.Error("a frozen shell prints")
			}
			if err := f.Thaw(t.Context()); err != nil {
				t.Fatal(err)
			}
			printsLine(t, output)
		})
	}
}

// v1 delays SIGKILL until the thaw.
func TestAFrozenGroupCanBeKilled(t *testing.T) {
	for name, tree := range trees(t) {
		t.Run(name, func(t *testing.T) {
			g, shell, _ := frozenGroup(t, tree)
			if err := g.Freezer(true).Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			// From the group above, as a sweep does.
			if err := tree.At("/tare-test-freezer").Kill(ctx); err != nil {
				t.Fatal(err)
			}
			shell.Wait()
		})
	}
}

func TestAFreezeThatIsCancelledLeavesTheGroupRunning(t *testing.T) {
	for name, tree := range trees(t) {
		t.Run(name, func(t *testing.T) {
			g, _, output := frozenGroup(t, tree)
			f := g.Freezer(true)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := f.Freeze(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			} else if err == nil { // it stopped at once
				if err := f.Thaw(t.Context()); err != nil {
					t.Error(err)
				}
			}
			printsLine(t, output)
		})
	}
}

func TestAGroupThatCannotBeFrozenSaysWhy(t *testing.T) {
	tree := recorded(t, map[string]string{"cgroup/x/cgroup.procs": ""})
	err := tree.At("/x").Freezer(false).Freeze(t.Context())
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "x/cgroup.freeze: no such file") {
		t.Errorf("a kernel without the v2 freezer: %v", err)
	}
	tree = V1(map[string]string{"cpu": t.TempDir()}, t.TempDir())
	err = tree.At("/x").Freezer(true).Freeze(t.Context())
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "neither in a cgroup v2 nor in one of v1's freezer") {
		t.Errorf("a machine without a freezer: %v", err)
	}
}

package native

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/environment/environmenttest"
	"tare/internal/owner"
)

// A test that needs a tare of its own to kill starts this binary again.
func TestMain(m *testing.M) {
	if home := os.Getenv("TARE_TEST_HOME"); home != "" {
		fmt.Println("error:", hold(home))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// hold starts an instance with a command in it and waits to be killed.
func hold(home string) error {
	ctx := context.Background()
	img, err := environmenttest.Get(ctx, nil)
	if err != nil {
		return err
	}
	o, err := owner.Open(home)
	if err != nil {
		return err
	}
	e := &native{Options{"image"}}
	i, err := e.Start(ctx, environment.Request{Name: "a-1", Owner: o, Image: img, Console: io.Discard})
	if err != nil {
		return err
	}
	if _, err := i.Agent().Start(ctx, agent.Command{Argv: []string{"sh", "-c", "trap '' TERM HUP; setsid sleep 1000 & while :; do sleep 1; done"}}); err != nil {
		return err
	}
	fmt.Println(o.ID())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func TestWhatAKilledTareLeavesOfAnInstanceIsSwept(t *testing.T) {
	b := newBench(t)
	home := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TARE_TEST_HOME="+home)
	in, _ := cmd.StdinPipe()
	defer in.Close()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	id := strings.TrimSpace(line)
	cmd.Process.Kill()
	cmd.Wait()
	t.Cleanup(func() { owner.Sweep(context.Background(), home) })
	if err != nil || id == b.owner.ID() || strings.HasPrefix(id, "error") {
		t.Fatalf("the process said %q, %v", line, err)
	}
	removed, err := owner.Sweep(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("removed:\n%s", strings.Join(removed, "\n"))
	if group, _ := cgroup.At(owner.CgroupRoot + "/" + id); group.Exists() {
		t.Error("the cgroup is still there")
	}
	if left, _ := filepath.Glob(filepath.Join(home, "work", "*")); len(left) > 1 || len(left) == 1 && filepath.Base(left[0]) != ".lock" {
		t.Errorf("left are %v", left)
	}
}

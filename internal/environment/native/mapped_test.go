package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/linux/cgroup"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// ordinary is a user without any right on this machine.
const ordinary = 64125

// TestMain plays the ordinary user.
func TestMain(m *testing.M) {
	home := os.Getenv("TARE_TEST_ORDINARY")
	if home == "" {
		goleak.VerifyTestMain(m) // does not return
	}
	if err := asOrdinary(context.Background(), home); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A user's programs are limited by the controllers that are delegated, and a limit by
// another one is reported. The three are systemd's default.
func TestAnOrdinaryUsersInstanceHasTheLimitsThatAreDelegated(t *testing.T) {
	needs.Root(t) // to become another user
	testenv.NeedsAgent(t)
	home, err := os.MkdirTemp("/var/tmp", "tare-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "native.test"), program, 0o755)
	}
	if err == nil {
		err = os.Chown(home, ordinary, ordinary)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, controllers := range []string{"cpu cpuset io memory pids", "cpu memory pids", "cpu pids"} {
		t.Run(controllers, func(t *testing.T) {
			directory, _ := testenv.Subtree(t, ordinary, strings.Fields(controllers)...).Dir("")
			at, err := os.Open(directory)
			if err != nil {
				t.Fatal(err)
			}
			defer at.Close()
			cmd := exec.CommandContext(t.Context(), filepath.Join(home, "native.test"))
			cmd.Env = append(os.Environ(), "TARE_TEST_ORDINARY="+filepath.Join(home, "home"))
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Credential:  &syscall.Credential{Uid: ordinary, Gid: ordinary},
				UseCgroupFD: true, CgroupFD: int(at.Fd()),
			}
			output, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			t.Log(string(output))
		})
	}
}

func asOrdinary(ctx context.Context, home string) (err error) {
	options := with("host") // a guest of the suite has no other
	if state, findings := environment.Check(ctx, "native", &options); state == environment.Missing {
		return fmt.Errorf("it does not work here: %+v", findings)
	}
	for _, o := range []Options{{RootFS: "image", Root: "overlay"}, {RootFS: "image", Network: "bridge"}, {RootFS: "image", Data: "/dev/vdz"}} {
		if state, _ := environment.Check(ctx, "native", &o); state != environment.Missing {
			return fmt.Errorf("%+v needs no root: %s", o, state)
		}
	}
	owner, err := cleanup.Open(home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owner.Close()) }()
	limits := environment.Limits{CPUs: 0.5, Memory: 128 * quantity.MiB, PIDs: 64, Cores: []int{0}}
	i, err := (&native{options}).Start(ctx, environment.Request{Name: "a-1", Owner: owner, Limits: limits, Console: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Stop(ctx)) }()
	fmt.Println(i.Phases())
	if err := inForce(ctx, i, limits); err != nil {
		return err
	}
	// Here the only user is this one: itself, and no other.
	run := func(user, script string, out io.Writer) (agent.Exit, error) {
		return i.Agent().Run(ctx, agent.Command{Argv: []string{"/bin/sh", "-c", script}, User: user, Stdout: out, Stderr: out})
	}
	if exit, err := run("0", "true", os.Stdout); err != nil || !exit.OK() {
		return fmt.Errorf("as user 0: %w %+v", err, exit)
	}
	if _, err := run("33", "true", os.Stdout); err == nil || !strings.Contains(err.Error(), "ID 33 is not mapped in this user namespace") {
		return fmt.Errorf("as user 33: %w", err)
	}
	var out strings.Builder
	script := `id -u; ! touch /etc/tare-test 2>/dev/null && touch /data/file && echo refused; sleep 600 >/dev/null 2>&1 &`
	exit, err := run("", script, &out)
	if err != nil || !exit.OK() || out.String() != "0\nrefused\n" {
		return fmt.Errorf("inside: %v %+v: %q", err, exit, out.String())
	}
	f := i.Details().Freezer
	return errors.Join(f.Freeze(ctx), f.Thaw(ctx))
}

// inForce compares what the limits are with the controllers that this user has.
func inForce(ctx context.Context, i environment.Instance, limits environment.Limits) error {
	tree, err := cgroup.Host()
	if err != nil {
		return err
	}
	_, there := tree.Delegated()
	_, err = environment.CheckLimits(ctx, i, limits)
	for limit, controller := range map[string]string{"cpus": "cpu", "memory": "memory", "pids": "pids", "cores": "cpuset"} {
		reported := err != nil && strings.Contains(err.Error(), limit+": ")
		if reported == slices.Contains(there, controller) {
			return fmt.Errorf("with the controllers %q, of the limit %s: %w", there, limit, err)
		}
	}
	return nil
}

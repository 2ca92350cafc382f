package shim

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The shim is a process of its own, since it waits for whatever child it has.
func TestMain(m *testing.M) {
	if file := os.Getenv("SHIM_OF"); file != "" {
		err := Run(file, []string{"/bin/sh", "-c", os.Getenv("SHIM_START")}, []string{"/bin/sh", "-c", "echo cleared >" + file + ".after"})
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		if err != nil {
			os.Exit(99)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// held is a shim with a command in the place of the runtime.
func held(t *testing.T, start string) (c *exec.Cmd, file string, in io.WriteCloser, out io.ReadCloser, errs *bytes.Buffer) {
	t.Helper()
	file, errs = filepath.Join(t.TempDir(), "pid"), new(bytes.Buffer)
	c = exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "SHIM_OF="+file, "SHIM_START="+start)
	c.Stderr, c.WaitDelay = errs, 10*time.Second
	var err error
	if in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if out, err = c.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c, file, in, out, errs
}

// In a shell, what runs in the background gets no standard input but by a
// descriptor of its own.
const detached = `exec 3<&0; cat <&3 3<&- & echo $! >"$SHIM_OF"`

func TestTheContainerOwnsTheStreamAndIsWaitedFor(t *testing.T) {
	c, file, in, out, errs := held(t, detached)
	if _, err := io.WriteString(in, "there and back"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	// It ends with the container, since nobody else holds it.
	output, err := io.ReadAll(out)
	if err != nil || string(output) != "there and back" {
		t.Errorf("%q, %v", output, err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, errs)
	}
	if _, err := os.Stat(file + ".after"); err != nil {
		t.Errorf("nobody cleared up: %v", err)
	}
}

func TestAnOrphanOfTheContainerIsNotWaitedFor(t *testing.T) {
	c, _, in, out, errs := held(t, `exec 3<&0; (sleep 1000 </dev/null >/dev/null 2>&1 & echo $!; cat <&3 >/dev/null) 3<&3 & echo $! >"$SHIM_OF"`)
	line := make([]byte, 20)
	n, _ := out.Read(line)
	orphan := strings.TrimSpace(string(line[:n]))
	defer exec.Command("kill", "-9", orphan).Run()
	in.Close()
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, errs)
	}
	if _, err := os.Stat("/proc/" + orphan); err != nil {
		t.Errorf("the orphan %s: %v", orphan, err)
	}
}

// A shell that waits for its job has reaped it before the shim can.
func TestAnInitThatTheRuntimeReapedIsNotWaitedFor(t *testing.T) {
	c, _, in, out, errs := held(t, `(sleep 1000 </dev/null >/dev/null 2>&1 & echo $!) & first=$!; wait $first; echo $first >"$SHIM_OF"`)
	line := make([]byte, 20)
	n, _ := out.Read(line)
	orphan := strings.TrimSpace(string(line[:n]))
	defer func() { _ = exec.Command("kill", "-9", orphan).Run() }()
	in.Close()
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, errs)
	}
}

func TestAFailedStartReturnsTheRuntimesOutputAndCleansUp(t *testing.T) {
	c, file, _, out, errs := held(t, "echo no such thing >&2; exit 7")
	_, _ = io.ReadAll(out)
	err := c.Wait()
	if c.ProcessState.ExitCode() != 7 || !strings.Contains(errs.String(), "no such thing") {
		t.Errorf("%v: %q", err, errs)
	}
	if _, err := os.Stat(file + ".after"); err != nil {
		t.Errorf("nobody cleared up: %v", err)
	}
}

package agent_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/testing/needs"
)

// smallRoot is a root file system of one static program: the agent itself.
func smallRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	os.Mkdir(filepath.Join(root, "bin"), 0o755)
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "agent"), data, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

func mounts(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestANativeAgentLivesInTheImagesRoot(t *testing.T) {
	needs.Root(t)
	before := mounts(t)
	root, data, file := smallRoot(t), t.TempDir(), filepath.Join(t.TempDir(), "resolv.conf")
	os.WriteFile(file, []byte("nameserver 192.0.2.1\n"), 0o644)
	// A link in the image must not lead a mount out of it.
	os.Mkdir(filepath.Join(root, "srv"), 0o755)
	os.Symlink("/srv", filepath.Join(root, "lib"))
	a := start(t, "native", "--root", root, "--bind", data+":/data", "--bind", file+":/etc/resolv.conf:ro",
		"--bind", data+":/lib/state", "--tmpfs", "/tmp")

	if err := a.WriteFile(soon(t), "/data/file", 0, []byte("from inside")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(data, "file")); err != nil || string(b) != "from inside" {
		t.Errorf("the bound directory contains %q, %v", b, err)
	}
	if b, err := a.ReadFile(soon(t), "/lib/state/file", 0); err != nil || string(b) != "from inside" {
		t.Errorf("through the link it reads %q, %v", b, err)
	}
	if _, err := os.Stat("/srv/state"); err == nil {
		t.Error("a link led a mount out of the root")
	}
	if err := a.WriteFile(soon(t), "/etc/resolv.conf", 0, []byte("x")); err == nil {
		t.Error("a read-only bind was written to")
	}
	if err := a.WriteFile(soon(t), "/tmp/file", 0, []byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "tmp", "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file in the tmpfs is in the image's directory: %v", err)
	}
	var out bytes.Buffer
	exit, err := a.Run(soon(t), agent.Command{Argv: []string{"agent", "look"}, Stdout: &out})
	if err != nil || !exit.OK() || out.String() != "{}\n" {
		t.Errorf("a program of the image: %+v, %v, %q", exit, err, out.String())
	}
	seen, err := a.ReadFile(soon(t), "/proc/self/mountinfo", 0)
	if err != nil || strings.Count(string(seen), " / / ") > 1 || !strings.Contains(string(seen), " /proc ") || !strings.Contains(string(seen), " /dev/shm ") {
		t.Errorf("its mounts are %s, %v", seen, err)
	}
	if !regexp.MustCompile(` /data rw,nosuid,nodev[ ,]`).Match(seen) {
		t.Errorf("programs and devices in /data have privileges: %s", seen)
	}
	if now := mounts(t); now != before {
		t.Errorf("the host's mounts changed while it ran:\n%s\n%s", before, now)
	}
}

func TestANativeAgentInTheHostsRoot(t *testing.T) {
	needs.Root(t)
	directory := t.TempDir()
	os.WriteFile(filepath.Join(directory, "hidden"), nil, 0o644)
	a := start(t, "native", "--root", "/", "--tmpfs", directory)
	var out bytes.Buffer
	cmd := shell("cat /etc/hostname; ls " + directory)
	cmd.Stdout = &out
	name, _ := os.ReadFile("/etc/hostname")
	if exit, err := a.Run(soon(t), cmd); err != nil || !exit.OK() || out.String() != string(name) {
		t.Errorf("%+v, %v, %q", exit, err, out.String())
	}
	if _, err := os.Stat(filepath.Join(directory, "hidden")); err != nil {
		t.Errorf("the host sees the agent's tmpfs: %v", err)
	}
}

func TestANativeAgentEntersItsCgroupBeforeAnythingElse(t *testing.T) {
	needs.Root(t)
	base := "/sys/fs/cgroup"
	if _, err := os.Stat(base + "/pids"); err == nil {
		base += "/pids" // version 1
	}
	group, err := os.MkdirTemp(base, "agent-test-")
	needs.Working(t, "a writable cgroup hierarchy", err)
	t.Cleanup(func() {
		until(t, "the cgroup is empty", func() bool { return os.Remove(group) == nil })
	})
	a := start(t, "native", "--cgroup", filepath.Join(group, "cgroup.procs"))
	var out bytes.Buffer
	cmd := shell("cat /proc/self/cgroup")
	cmd.Stdout = &out
	if _, err := a.Run(soon(t), cmd); err != nil || !strings.Contains(out.String(), "/"+filepath.Base(group)) {
		t.Errorf("%v: it is in %s", err, out.String())
	}
}

func TestANativeRootThatCannotBePreparedIsNamed(t *testing.T) {
	needs.Root(t)
	for _, c := range []struct{ args, words []string }{
		{[]string{"--root", "/no/such/folder"}, []string{"--root", "/no/such/folder"}},
		{[]string{"--bind", "/no/such/source:/x"}, []string{"/no/such/source"}},
		{[]string{"--bind", "relative:/x"}, []string{"relative:/x", "must be"}},
		{[]string{"--cgroup", "/no/such/group/cgroup.procs"}, []string{"cgroup", "/no/such/group"}},
		{[]string{"extra"}, []string{"extra"}},
	} {
		out, err := exec.Command(program, append([]string{"native"}, c.args...)...).CombinedOutput()
		if err == nil {
			t.Errorf("%v: it started", c.args)
		}
		for _, w := range c.words {
			if !strings.Contains(string(out), w) {
				t.Errorf("%v: %s does not say %q", c.args, out, w)
			}
		}
	}
}

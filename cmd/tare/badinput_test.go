package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/host/cleanup"
	"tare/internal/host/machinelock"
	"tare/internal/linux/cgroup"
)

// TestBadInput runs the tables of wrong input in testdata/bad. They have the format of
// cram: indented lines are a session of a shell, each command with what it prints and,
// in brackets, its exit status unless that is 0; all other lines are comments. Only root runs tables of root-*. A command
// of tare that fails may leave nothing: no file, no process, no cgroup. UPDATE_GOLDEN=1
// writes what the commands print.
func TestBadInput(t *testing.T) {
	tables, err := filepath.Glob("testdata/bad/*.t")
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, program := range map[string]string{asTare: self, "true": "/bin/true"} {
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	cases := 0
	t.Run("tables", func(t *testing.T) {
		for _, table := range tables {
			text, err := os.ReadFile(table)
			if err != nil {
				t.Fatal(err)
			}
			cases += bytes.Count(text, []byte("\n  ["))
			t.Run(strings.TrimSuffix(filepath.Base(table), ".t"), func(t *testing.T) {
				if strings.HasPrefix(filepath.Base(table), "root-") && os.Geteuid() != 0 {
					t.Skipf("needs root: the user is %d", os.Geteuid())
				}
				t.Parallel()
				s := session{directory: t.TempDir(), bin: bin, locks: t.TempDir()}
				got := s.run(t, string(text))
				if processes, groups := s.processes(), s.groups(); processes != "" || len(groups) > 0 {
					t.Errorf("left behind: processes %s, cgroups %s", processes, groups)
				}
				if os.Getenv("UPDATE_GOLDEN") != "" {
					if err := os.WriteFile(table, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if got != string(text) {
					t.Errorf("%s (-want +got; UPDATE_GOLDEN=1 writes it):\n%s", table, cmp.Diff(string(text), got))
				}
			})
		}
	})
	if cases < 200 {
		t.Errorf("%d cases: a table was lost", cases)
	}
}

// asTare is the name under which the test program is tare.
const asTare = "tare"

// session is a shell in a directory of its own.
type session struct{ directory, bin, locks string }

// run executes a table and returns it with what the commands print.
func (s session) run(t *testing.T, table string) string {
	var out strings.Builder
	lines := strings.SplitAfter(table, "\n")
	for len(lines) > 0 {
		line := lines[0]
		lines = lines[1:]
		command, isCommand := strings.CutPrefix(line, "  $ ")
		if !isCommand {
			out.WriteString(line)
			continue
		}
		out.WriteString(line)
		for len(lines) > 0 && strings.HasPrefix(lines[0], "  > ") {
			command += lines[0][len("  > "):]
			out.WriteString(lines[0])
			lines = lines[1:]
		}
		for len(lines) > 0 && strings.HasPrefix(lines[0], "  ") && !strings.HasPrefix(lines[0], "  $ ") {
			lines = lines[1:] // what it printed before
		}
		printed, status := s.execute(t, command)
		for l := range strings.Lines(printed) {
			out.WriteString("  " + strings.TrimSuffix(l, "\n") + "\n")
		}
		if status != 0 {
			fmt.Fprintf(&out, "  [%d]\n", status)
		}
	}
	return out.String()
}

// execute runs a command. Those of tare find no other program, and those that fail leave
// the directory as it was.
func (s session) execute(t *testing.T, command string) (printed string, status int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where it hangs
	defer cancel()
	shell := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	shell.Dir = s.directory
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	path, ofTare := os.Getenv("PATH"), strings.HasPrefix(command, asTare) || strings.Contains(command, "| "+asTare)
	if ofTare {
		path = s.bin
	}
	shell.Env = []string{"PATH=" + path, "TARE_HOME=home", "HOME=" + s.directory, "TMPDIR=" + s.directory,
		"TARE_BIN=" + s.bin, machinelock.Variable + "=" + s.locks, "DOCKER_HOST=unix:///nowhere/docker.sock", "TARE_PODMAN_HOST=unix:///nowhere/podman.sock"}
	before := s.files(t)
	out, err := shell.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Errorf("%s: %v", command, err)
	}
	status = shell.ProcessState.ExitCode()
	if !ofTare && status != 0 {
		t.Errorf("%s: %v: %s", command, err, out)
	}
	if after := s.files(t); ofTare && status != 0 && after != before {
		t.Errorf("%s leaves files:\n%s", command, cmp.Diff(before, after))
	}
	return strings.ReplaceAll(string(out), s.directory, "$PWD"), status
}

// homely matches what every home has, and may be made.
var homely = regexp.MustCompile(`/home(/(runs|images(/[a-z]+(/recipe-[0-9a-f]+)?)?|work(/\.lock)?))?$`)

// files lists the directory: names, kinds, sizes and checksums of all files.
func (s session) files(t *testing.T) string {
	var list strings.Builder
	err := filepath.WalkDir(s.directory, func(path string, e fs.DirEntry, err error) error {
		if homely.MatchString(path) {
			return err
		}
		if err != nil || e.IsDir() {
			fmt.Fprintln(&list, path)
			return err
		}
		info, err := e.Info()
		if err == nil {
			text, _ := bounded.ReadFile(path, quantity.MiB)
			fmt.Fprintf(&list, "%s %s %d %x\n", path, info.Mode(), info.Size(), crc32.ChecksumIEEE(text))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return list.String()
}

// processes are those that were started with the session's variables and still run.
func (s session) processes() string {
	var list strings.Builder
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if variables, err := os.ReadFile(file); err == nil && bytes.Contains(variables, []byte("TMPDIR="+s.directory+"\x00")) {
			line, _ := os.ReadFile(filepath.Dir(file) + "/cmdline")
			fmt.Fprintf(&list, "%s: %q\n", file, line)
		}
	}
	return list.String()
}

// groups are the cgroups of the session's owners.
func (s session) groups() (list []string) {
	if root, err := cgroup.At(cleanup.CgroupRoot()); err == nil {
		list, _ = root.Children()
	}
	return slices.DeleteFunc(list, func(name string) bool { return !cleanup.BelongsTo(filepath.Join(s.directory, "home"), name) })
}

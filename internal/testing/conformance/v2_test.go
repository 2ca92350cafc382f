package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/base/lists"
	"tare/internal/testing/needs"
)

// A guest is a machine of cgroup v2 alone, whatever the host is: so the tests
// of the packages that read and write cgroups run there as well; in the short form those
// that were asked for by name.
func TestWhatReadsAndWritesCgroupsWorksOnAMachineOfV2Alone(t *testing.T) {
	needs.Program(t, "go")
	s := provider{name: "a guest", kind: "qemu", options: `{"machine": "q35", "accel": "auto", "memory": "1GiB", "cpus": 2, "data": "256MiB"}`}.prepare(t)
	for _, packet := range []struct {
		directory string   // below internal
		real      []string // tests that must not have been skipped there
	}{
		{"linux/cgroup", []string{"TestEveryControllerWorksOnV2", "TestV2ThrottlesADisk", "TestLimitsTakeHoldOnThisMachine", "TestKillEndsAllThatRunsBelowAGroup",
			"TestAFrozenGroupStandsStillUntilItIsThawed", "TestAFrozenGroupCanBeKilled",
			"TestCgroupsCanBeCreatedInAContainerWithProcesses", "TestAnOrdinaryUserMakesGroupsInTheSubtreeThatWasDelegated"}},
		{"environment/native", []string{"TestAnOrdinaryUsersInstanceHasTheLimitsThatAreDelegated"}},
		{"usage", []string{"TestCPUTimeInACgroupIsCounted", "TestMemoryIsCounted", "TestBytesWrittenToDiskAreCounted", "TestThrottlingAndStallsAreCounted"}},
	} {
		t.Run(filepath.Base(packet.directory), func(t *testing.T) {
			tests := "."
			if needs.ShortForm() {
				tests = "^(" + strings.Join(packet.real, "|") + ")$"
			}
			output := s.testInside(t, packet.directory, tests)
			for _, name := range packet.real {
				if !strings.Contains(output, "--- PASS: "+name+" ") {
					t.Errorf("%s did not pass there", name)
				}
			}
		})
	}
}

// testInside builds a package's tests and runs some of them in the shared instance.
func (s *scene) testInside(t *testing.T, directory, tests string) string {
	t.Helper()
	name := filepath.Base(directory)
	program := filepath.Join(t.TempDir(), name+".test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags=-s -w", "-o", program, "tare/internal/"+directory)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the tests of %s: %v\n%s", name, err, output)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	inside := s.shared.Agent()
	if err := inside.WriteFile(t.Context(), "/data/"+name+".test", 0o755, data); err != nil {
		t.Fatal(err)
	}
	// Recorded hierarchies go along: a test runs in its package's directory.
	recorded := filepath.Join("..", "..", directory, "testdata")
	_ = filepath.WalkDir(recorded, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(recorded, path)
		if err != nil {
			return err
		}
		return inside.WriteFile(t.Context(), filepath.Join("/data/"+name+"/testdata", below), 0o644, text)
	})
	output, err := runInside(t, inside, name, tests)
	if err != nil {
		// An emulated machine stands still while the host has other work, which a test
		// of times can take for a fault. What fails twice is one.
		failed := failedTests.FindAllStringSubmatch(output, -1)
		if len(failed) == 0 {
			t.Errorf("the tests of %s in a guest: %v\n%s", name, err, unremarkable.ReplaceAllString(output, ""))
			return output
		}
		names := lists.Map(failed, func(match []string) string { return match[1] })
		t.Logf("the tests of %s in a guest: %v; they run once more: %s\n%s", name, err, strings.Join(names, ", "), unremarkable.ReplaceAllString(output, ""))
		again, err := runInside(t, inside, name, "^("+strings.Join(names, "|")+")$")
		if err != nil {
			t.Errorf("the tests of %s in a guest, once more: %v\n%s", name, err, unremarkable.ReplaceAllString(again, ""))
		}
		output += again
	}
	return output
}

var (
	failedTests  = regexp.MustCompile(`(?m)^--- FAIL: (\w+) `)
	unremarkable = regexp.MustCompile(`(?m)^(=== RUN .*|\s*--- PASS: .*|.*\[rapid\] OK, .*)\n`)
)

// runInside runs some tests of a program that is in the instance.
func runInside(t *testing.T, inside *agent.Client, name, tests string) (string, error) {
	t.Helper()
	var output strings.Builder
	exit, err := inside.Run(t.Context(), agent.Command{
		Argv:   []string{"/bin/sh", "-c", "chmod +t /data && mkdir -p /data/" + name + " /data/tmp && cd /data/" + name + " && TMPDIR=/data/tmp exec /data/" + name + ".test -test.v -test.count=1 -test.run \"$1\"", "sh", tests},
		Stdout: &output, Stderr: &output, Timeout: 4 * time.Minute,
	})
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%+v", exit)
	}
	return output.String(), err
}

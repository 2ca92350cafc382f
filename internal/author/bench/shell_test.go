package bench

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/parity"
	"tare/internal/study"
	"tare/internal/workload"

	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/qemu"
)

func TestWhatTheCommandNeedsIsInThePlan(t *testing.T) {
	directory, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(directory, "text")
	if err := os.WriteFile(file, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OF_TARE", "its ${own}")
	o := Options{Argv: []string{"wc", "-c"}, Environments: []string{"native", "docker"}, Image: "x", Margin: "2%",
		Variables: []string{"A=b=c", "OF_TARE"}, Workdir: "/work", Mounts: []string{directory + ":/work:ro"}, Input: file,
		Setup: []string{"true"}, Warmup: 1}
	plan, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Mounts) != 1 || plan.Mounts[0].String() != directory+":/work:ro" || len(plan.Inputs) != 1 || plan.Inputs[0].To != study.DefaultInput {
		t.Errorf("%+v, %+v", plan.Mounts, plan.Inputs)
	}
	pack, err := plan.Workloads[0].Pack.With(nil, workload.InstanceVars{})
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range append(pack.Begin, *pack.Driver) {
		stdin := study.DefaultInput
		if n == 0 {
			stdin = "" // of the setup
		}
		if s.Dir != "/work" || !slices.Equal(s.Env, []string{"A=b=c", "OF_TARE=its ${own}"}) || s.Stdin != stdin {
			t.Errorf("step %d: %+v", n, s)
		}
	}
}

func TestOnThisMachineTheCommandIsTheShells(t *testing.T) {
	shims := t.TempDir()
	if err := os.WriteFile(filepath.Join(shims, "true"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", shims+":"+os.Getenv("PATH"))
	o := Options{Argv: []string{"true", "x"}, Environments: []string{"native"}, Warmup: 1, Margin: "2%"}
	plan, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}
	pack := plan.Workloads[0].Pack
	if want := filepath.Join(shims, "true"); pack.Driver.Argv[0] != want || pack.Begin[0].Argv[0] != want || pack.Title != "true x" {
		t.Errorf("%+v", pack)
	}
}

func TestVariablesOfACommandAreTheShells(t *testing.T) {
	line := `echo ${HOME} $${HOME} ${x:-1} $1`
	o := Options{Argv: []string{"sh", "-c", line}, Environments: []string{"native", "docker"}, Image: "x", Prepare: []string{line}, Margin: "2%"}
	plan, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}
	pack, err := plan.Workloads[0].Pack.With(nil, workload.InstanceVars{})
	if err != nil {
		t.Fatal(err)
	}
	if pack.Driver.Argv[2] != line || pack.Setup[0].Run != line {
		t.Errorf("%q, %+v", pack.Driver.Argv, pack.Setup)
	}
}

func TestAnotherProgramInsideIsSaidOnce(t *testing.T) {
	shims := t.TempDir()
	shims, _ = filepath.EvalSymlinks(shims)
	text := []byte("#!/bin/sh\n")
	if err := os.WriteFile(filepath.Join(shims, "gzip"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", shims)
	fingerprint := func(path, sum string) parity.Fingerprint {
		return parity.Fingerprint{Facts: map[string]parity.Fact{
			"program[driver/gzip].path": {Value: path}, "program[driver/gzip].sha256": {Value: sum}, "program[driver/gzip].version": {Value: "gzip 1.12-1"},
		}}
	}
	same := fmt.Sprintf("%x", sha256.Sum256(text))
	for _, argv := range [][]string{{"gzip", "-9"}, {"sh", "-c", "gzip -9 < /bin/bash"}} {
		plan := &study.Plan{Workloads: []study.Workload{{Pack: workload.Pack{Driver: &workload.Step{Argv: argv}}}}}
		p := NewPrograms(plan)
		for _, c := range []struct{ path, sum, want string }{
			{"/usr/bin/gzip", same, ""},
			{"/usr/bin/gzip", "other", "gzip is /usr/bin/gzip inside (gzip 1.12-1), and this shell would run " + shims + "/gzip, which is another program; "},
			{"/usr/bin/gzip", "other", ""},
			{shims + "/gzip", "other", "with other bytes than the file of this path here"},
			{"", "", ""}, // it is not inside
		} {
			got := strings.Join(p.Compare(fingerprint(c.path, c.sum)), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%s: %q, want %q", c.path, got, c.want)
			}
		}
	}
}

func TestAFileOfThisDirectoryIsNotInsideAndThatIsSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("data.csv", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{Argv: []string{"wc", "-l", "data.csv", "missing", "/etc/passwd"}, Environments: []string{"native", "docker"}}
	if got := o.Remarks(); len(got) != 1 || !strings.HasPrefix(got[0], "data.csv is a file of this directory, and the command runs in / of an instance: --mount .:/work:ro") {
		t.Errorf("%q", got)
	}
	o.Environments = []string{"native"}
	if got := o.Remarks(); len(got) != 1 || !strings.HasSuffix(got[0], `--workdir "$PWD" runs it here`) {
		t.Errorf("%q", got)
	}
	o.Workdir = "/work"
	if got := o.Remarks(); got != nil {
		t.Errorf("%q", got)
	}
}

func TestEnvironmentsWithoutMountsAreLeftOutOfTheDefault(t *testing.T) {
	o := Options{}
	if able, remarks := o.Mountable([]string{"native", "vm"}); len(able) != 2 || remarks != nil {
		t.Errorf("%q, %q", able, remarks)
	}
	o.Mounts = []string{"/etc:/work"}
	if able, remarks := o.Mountable([]string{"native", "vm"}); len(able) != 1 || len(remarks) != 1 || !strings.HasPrefix(remarks[0], "vm is left out, since --mount does not work there: its instances have disks") {
		t.Errorf("%q, %q", able, remarks)
	}
}

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/parity"
	"tare/internal/rundir"
)

// toldOf is what a command that is refused says on the standard error.
func toldOf(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := told(t, args...)
	if status != ExitBadInput || out != "" || strings.Count(errs, "\n") != 1 {
		t.Errorf("%q: status %d: %s%s", args, status, out, errs)
	}
	return strings.TrimSuffix(errs, "\n")
}

func TestCommandLineErrorsHaveTheirOwnMessages(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"rn quick", "unknown command \"rn\"; did you mean \"run\"? (`tare --help` lists the commands)"},
		{"--home /nowhere parit quick", `unknown command "parit"; did you mean "parity"? (`},
		{"perpetuate", "unknown command \"perpetuate\" (`tare --help` lists the commands)"},
		{"workload chek x.yaml", "unknown command \"chek\"; did you mean \"check\"? (`tare workload --help` lists the commands)"},
		{"completion fsh", "unknown command \"fsh\"; did you mean \"fish\"? (`tare completion --help` lists the commands)"},
		{"help rn", "unknown command \"rn\"; did you mean \"run\"? (`tare --help` lists the commands)"},
		{"run ./missing.yaml", "tare: study file ./missing.yaml: no such file or directory"},
		{"report", "an argument is missing; usage: tare report RUN"},
		{"report a b", "too many arguments; usage: tare report RUN"},
		{"rm", "an argument is missing; usage: tare rm NAME..."},
		{"run quick --budget 5", "--budget 5: must be a duration with a unit, such as 90s"},
		{"doctor docker", "`tare doctor` takes no argument, but got \"docker\""},
		{"run --resume R --dry-run", "--resume and --dry-run cannot be combined: "},
		{"explain --resume R --dry-run", "--resume and --dry-run cannot be combined: "},
		{"run quick --strict --dry-run", "--strict and --dry-run cannot be combined: --strict starts every environment"},
		{"doctor --json --noise", "--json and --noise cannot be combined: "},
		{"import x.txt --into a --out b", "--into and --out cannot be combined: "},
		{"run --resume R --budget 1m --strict", "--resume uses the plan and the directory of the run: leave out --budget, or"},
		{"explain --resume R --to docker", "leave out --to, or"},
		{"explain --resume R --parts network --set a=1 --from native --quiet", "leave out --from, --parts, --set, or"},
		{"explain nginx --to docker --limits cpu=1", `--limits: unknown key "cpu"; did you mean "cpus"?`},
		{"explain nginx --to docker --margin much", `--margin: "much" is not a share`},
		{"bench --env native --margin much -- true", `--margin: "much" is not a share`},
		{"bench --env native -- no-such-command", "no-such-command: executable file not found in $PATH; native alone runs programs of this machine: --package NAME"},
		{"selftest native", "`tare selftest` takes no argument, but got \"native\""},
		{"selftest --environment layerd", `--environment layerd: environment baseline: unknown kind of environment "layerd"; did you mean "layered"?`},
		{"selftest --environment layered --effects 5,-1", "--effects -1: must be a percentage of more work"},
		{"selftest --environment layered --margin much", "--margin: "},
		{"selftest --environment layered --sample 1ms", "--sample 1ms: must be from 20ms"},
		{"selftest --time 0s", "--time 0s: must be more than 0"},
		{"rm nosuch", "there is no run nosuch: "},
		{"rm nosuch", "/runs/nosuch does not exist; `tare ls runs` lists them"},
	} {
		if output := toldOf(t, strings.Fields(c.words)...); !strings.Contains(output, c.want) {
			t.Errorf("tare %s says %q, want %q", c.words, output, c.want)
		}
	}
}

func TestAnUnknownEnvironmentOnTheCommandLineGivesNoHintAboutStudyFiles(t *testing.T) {
	for _, args := range [][]string{
		{"bench", "--env", "layerd", "--", "true"},
		{"explain", "nginx", "--from", "layered", "--to", "layerd+thick=true"},
	} {
		if output := toldOf(t, args...); !strings.Contains(output, `unknown kind of environment "layerd"; did you mean "layered"?`) || strings.Contains(output, "add kind:") {
			t.Errorf("%q: %s", args, output)
		}
	}
}

func TestRemovingAnImageNeedsItsNameAndNoLess(t *testing.T) {
	home := t.TempDir()
	digest := strings.Repeat("ab", 32)
	directory := filepath.Join(home, "images", "images", digest)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sha256:", "sha256:abab", "sha256:cdcdcdcdcdcd"} {
		if output := toldOf(t, "--home", home, "rm", name); !strings.Contains(output, name) {
			t.Errorf("%s: %s", name, output)
		}
	}
	if _, err := os.Stat(directory); err != nil {
		t.Error("an image that nobody named was removed:", err)
	}
	if out, errs, status := told(t, "--home", home, "rm", "sha256:"+digest[:12]); status != 0 {
		t.Error(status, out, errs)
	}
	if _, err := os.Stat(directory); err == nil {
		t.Error("the image that was named is still there")
	}
}

func TestExplainResumesOnlyALadder(t *testing.T) {
	directory := reportedRun(t, t.TempDir())
	want := fmt.Sprintf("%s is a run without a ladder: continue it with `tare run --resume %[1]s`", directory)
	if output := toldOf(t, "explain", "--resume", directory); !strings.Contains(output, want) {
		t.Errorf("%s", output)
	}
}

func TestParityOfARunRejectsUnsupportedOptions(t *testing.T) {
	home := t.TempDir()
	directory := reportedRun(t, home)
	w, err := rundir.Resume(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"native", "docker"} {
		if err := w.KeepFingerprint(parity.Fingerprint{Environment: name, Workload: "loop", Facts: map[string]parity.Fact{}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"--only dockr":         `only: unknown environment or workload "dockr"; did you mean "docker"? (known: native, docker, loop)`,
		"--workload lop":       `only: unknown environment or workload "lop"; did you mean "loop"?`,
		"--scale small":        "is a run, whose scale is fixed",
		"--only native":        "has no comparison of native alone",
		"--only native --json": "has no comparison of native alone",
	} {
		if output := toldOf(t, append([]string{"parity", directory}, strings.Fields(flags)...)...); !strings.Contains(output, want) {
			t.Errorf("%s: %s", flags, output)
		}
	}
	for _, flags := range []string{"", "--only docker", "--only docker,loop", "--workload loop"} {
		if out, errs, status := told(t, append([]string{"parity", filepath.Clean(directory)}, strings.Fields(flags)...)...); status != 0 || !strings.Contains(out, "docker vs native") {
			t.Errorf("%q: %d: %s%s", flags, status, out, errs)
		}
	}
}

func TestBadInputIsRefusedBeforeAnythingIsDone(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fifo := filepath.Join(directory, "pipe.yaml")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	huge := write("huge.csv", "block,environment,value\n1,a,1e308\n1,b,1e-308\n2,a,1e308\n2,b,1e-308\n")
	long := write("long.csv", "block,environment,value\n1,a,1\n1,"+strings.Repeat("n", 5_000_000)+",2\n")
	text := write("text.csv", "block,environment,value\n1,a,"+strings.Repeat("n", 100)+"\n")
	nul := write("nul.yaml", "study: \"a\\0b\"\nbaseline: layered\nenvironments: {layered: {}}\nworkloads: [{use: startup}]\n")
	word := write("word.yaml", "study: x\n"+strings.Repeat("k", 500_000)+": 1\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"stats", huge, "--baseline", "b", "--json"}, `huge.csv:2:5: "1e308" is out of range: values are 0, or between 1e-150 and 1e+150`},
		{[]string{"stats", long, "--baseline", "a"}, "long.csv:3:3: the field has 5000000 bytes: at most 200 are allowed"},
		{[]string{"stats", text, "--baseline", "a"}, `text.csv:2:5: "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" is not a number`},
		{[]string{"run", fifo}, "pipe.yaml is a pipe that nobody writes to"},
		{[]string{"run", nul}, "nul.yaml:1:8: a value has a NUL character"},
		{[]string{"import", fifo}, "pipe.yaml is a pipe that nobody writes to"},
		{[]string{"report", ""}, "the name of the run is empty"},
		{[]string{"compare", "", ""}, "the name of the run is empty"},
		{[]string{"--home", "", "ls"}, "--home is empty"},
		{[]string{"run", "quick", "--dry-run", "--listen", "nonsense"}, "invalid address nonsense: write HOST:PORT"},
		{[]string{"bench", "--listen", "nonsense", "--", "true"}, "invalid address nonsense: write HOST:PORT"},
	} {
		if output := toldOf(t, c.args...); !strings.Contains(output, c.want) || len(output) > 2000 {
			t.Errorf("tare %.200s says %.1000q, want %q", strings.Join(c.args, " "), output, c.want)
		}
	}
	if _, output, status := told(t, "run", word); status != ExitBadInput || !strings.Contains(output, "… (500000 bytes)") || len(output) > 2000 {
		t.Errorf("%d: %d bytes: %.1000s", status, len(output), output)
	}
}

func TestAFileOfARunWithAnotherTypeIsToldByItsKey(t *testing.T) {
	directory := reportedRun(t, t.TempDir())
	for name, c := range map[string]struct{ text, want string }{
		"manifest.json": {`{"format": "1"}`, "manifest.json: format has a value of the wrong type (string) at byte"},
		"plan.json":     {`{"environments": {}}`, "plan.json: environments has a value of the wrong type (object) at byte"},
		"journal.jsonl": {"{\"block\": \"x\"}\n{}\n", "line 1 is not a trial: block has a value of the wrong type (string) at byte"},
	} {
		path := filepath.Join(directory, name)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, output, status := told(t, "report", directory, "--out", "-"); status == 0 || !strings.Contains(output, c.want) || strings.Contains(output, "Go ") {
			t.Errorf("%s: %d: %s", name, status, output)
		}
		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCommandsThatStartNothingEndAtTheFirstSignal(t *testing.T) {
	for _, args := range [][]string{{"stats", "no.csv", "--baseline", "a"}, {"import", "no.yaml"}, {"report", "no"}, {"show", "no"}, {"ls"}} {
		var out bytes.Buffer
		given := false
		app := &App{Stdin: &out, Stdout: &out, Stderr: &out, Home: t.TempDir(), Args: append([]string{"tare"}, args...), DefaultSignals: func() { given = true }}
		Main(t.Context(), app)
		if given != (args[0] != "show") {
			t.Errorf("%v: %v", args, given)
		}
	}
}

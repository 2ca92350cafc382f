package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/testing/reporttest"
)

// edits of a document: one value of it replaced or left out, or a number that no run has.
func edits(v any, path string, set func(any), each func(what string)) {
	if path != "" {
		for _, other := range []any{nil, []any{}, map[string]any{}, "", "x", -1, 1e308, -1e308, 0, 1 << 40, true} {
			if fmt.Sprintf("%T", other) == fmt.Sprintf("%T", v) || other == nil || slices.Contains([]string{"[]interface {}", "map[string]interface {}"}, fmt.Sprintf("%T", v)) {
				set(other)
				each(fmt.Sprintf("%s = %v", path, other))
			}
			if _, number := v.(float64); number {
				set(other)
				each(fmt.Sprintf("%s = %v", path, other))
			}
		}
		set(v)
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			if i > 2 && path != "" {
				break
			}
			edits(v[i], fmt.Sprintf("%s[%d]", path, i), func(x any) { v[i] = x }, each)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			old := v[k]
			delete(v, k)
			each(path + "." + k + " left out")
			v[k] = old
			edits(old, path+"."+k, func(x any) { v[k] = x }, each)
		}
	}
}

func document(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var d any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNoEditOfARunPanics(t *testing.T) {
	every := 47
	if needs.ShortForm() {
		every = 301
	}
	n := 0
	for name, in := range map[string]model.Input{"quick": reporttest.Quick(), "ladder": reporttest.Ladder()} {
		in.Manifest.Format = rundir.Format
		trials := slices.DeleteFunc(slices.Concat(in.Trials, in.Traced), func(t rundir.Trial) bool { return t.Block > 4 && !t.Traced })
		in.Plan.Workloads = in.Plan.Workloads[:min(len(in.Plan.Workloads), 2)]
		var few []rundir.Trial
		for _, trial := range trials {
			if in.Plan.Workload(trial.Workload) != nil {
				few = append(few, trial)
			}
		}
		few[0].Series = map[string][]rundir.Point{"rate": {{Second: 0, Value: 1}, {Second: 1, Value: 2}}}
		few[0].Rounds = []rundir.Round{{Number: 1, Position: 1, Metrics: few[0].Metrics}, {Number: 2, Position: 1, Metrics: few[0].Metrics}}
		few[0].Copies = []rundir.Copy{{Metrics: few[0].Metrics}, {Metrics: few[0].Metrics}}
		home := t.TempDir()
		directory := filepath.Join(home, "runs", "edited")
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		files := map[string]any{"manifest.json": document(t, in.Manifest), "plan.json": document(t, in.Plan), "journal.jsonl": document(t, few)}
		write := func(file string) {
			text, _ := json.Marshal(files[file])
			if lines, ok := files[file].([]any); ok {
				text = nil
				for _, line := range lines {
					one, _ := json.Marshal(line)
					text = append(append(text, one...), '\n')
				}
			}
			if err := os.WriteFile(filepath.Join(directory, file), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for file := range files {
			write(file)
		}
		for _, file := range slices.Sorted(maps.Keys(files)) {
			edits(files[file], "", nil, func(what string) {
				if n++; n%every != 0 {
					return
				}
				if file == "journal.jsonl" && !strings.HasPrefix(what, "[0]") && !strings.HasPrefix(what, "[1]") && !strings.HasPrefix(what, "[6]") {
					return
				}
				write(file)
				for _, args := range [][]string{{"report", directory, "--format", "html,md,text,openmetrics", "--score", "karna-2021"}, {"show", directory, "--json"}, {"compare", directory, directory}} {
					var out bytes.Buffer
					app := &App{Home: home, Stdout: &out, Stderr: &out, Args: append([]string{"tare"}, args...)}
					Main(context.Background(), app)
					if at := strings.Index(out.String(), "error in tare itself"); at >= 0 || strings.Contains(out.String(), "unsupported value") {
						text := out.String()[max(0, at):min(out.Len(), max(0, at)+1000)]
						t.Errorf("%s, %s: %s: %v: %s", name, file, what, args[0], text)
					}
				}
			})
			write(file)
		}
	}
	t.Logf("%d edits", n)
}

func TestAnEditedRunIsSaid(t *testing.T) {
	tried := func(edit func(directory string) error) (int, string) {
		home := t.TempDir()
		directory := reportedRun(t, home)
		manifest := filepath.Join(directory, "manifest.json")
		text, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := os.ReadFile(filepath.Join(directory, "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		ended := strings.Replace(string(text), `"run":`, `"sessions": [{"started": "2026-11-21T01:45:00Z", "ended": "2026-11-21T01:46:00Z"}], "run":`, 1)
		if err := errors.Join(os.WriteFile(manifest, []byte(ended), 0o600),
			os.WriteFile(filepath.Join(directory, "SHA256SUMS"), fmt.Appendf(nil, "%x  journal.jsonl\n", sha256.Sum256(sum)), 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := edit(directory); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		status := Main(context.Background(), &App{Home: home, Stdout: &out, Stderr: &out, Args: []string{"tare", "report", directory, "--format", "md,html", "--score", "karna-2021"}})
		if md, err := os.ReadFile(filepath.Join(directory, "report.md")); err == nil {
			out.Write(md)
		}
		return status, out.String()
	}
	replace := func(file, old, by string) func(string) error {
		return func(directory string) error {
			text, err := os.ReadFile(filepath.Join(directory, file))
			if !bytes.Contains(text, []byte(old)) {
				return fmt.Errorf("%s has no %s", file, old)
			}
			return errors.Join(err, os.WriteFile(filepath.Join(directory, file), bytes.Replace(text, []byte(old), []byte(by), 1), 0o600))
		}
	}
	cut := func(at func(text []byte) int) func(string) error {
		return func(directory string) error {
			path := filepath.Join(directory, "journal.jsonl")
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, text[:at(text)], 0o600))
		}
	}
	for name, c := range map[string]struct {
		edit   func(string) error
		status int
		says   []string
	}{
		"nothing": {func(string) error { return nil }, 0, nil},
		"a journal cut in half": {cut(func(text []byte) int { return len(text) / 2 }), ExitSomeFailed,
			[]string{"tare: ", "journal.jsonl is not as it was when the run ended: results may be missing", "- **this run**: "}},
		"a journal cut after a line": {cut(func(text []byte) int { return bytes.IndexByte(text, '\n') + 1 }), ExitSomeFailed, []string{"is not as it was when the run ended"}},
		"no journal":                 {func(d string) error { return os.Remove(filepath.Join(d, "journal.jsonl")) }, ExitSomeFailed, []string{"is not as it was when the run ended"}},
		"an empty plan": {func(d string) error { return os.WriteFile(filepath.Join(d, "plan.json"), []byte("{}"), 0o600) }, ExitBadInput,
			[]string{"plan.json: it has no environments; the run was changed after it was written: restore it"}},
		"no level":            {replace("plan.json", `"levels": [`, `"levels": [], "x": [`), ExitBadInput, []string{"the workload loop has no level"}},
		"another baseline":    {replace("plan.json", `"baseline": "native"`, `"baseline": "x"`), ExitBadInput, []string{`the baseline "x" is not one of its environments`}},
		"two of a name":       {replace("plan.json", `"name": "docker"`, `"name": "native"`), ExitBadInput, []string{`have the name "native"`}},
		"another environment": {replace("journal.jsonl", `"environment":"docker"`, `"environment":"x"`), ExitBadInput, []string{`trial 2 is of the environment "x", which the plan does not have`}},
		"another status":      {replace("journal.jsonl", `"status":"ok"`, `"status":"fine"`), ExitBadInput, []string{`line 1 is not a trial: its status is "fine"`}},
		"a time before the first": {replace("journal.jsonl", `"metrics"`, `"series":{"rate":[{"s":-1e149,"v":1e149},{"s":1e149,"v":1e149}]},"metrics"`), ExitSomeFailed,
			[]string{"is not as it was when the run ended"}},
	} {
		status, text := tried(c.edit)
		if status != c.status {
			t.Errorf("%s: exit status %d, not %d: %s", name, status, c.status, text)
		}
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: not %q: %s", name, want, text)
			}
		}
	}
}

package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/run"
	"tare/internal/testing/schematest"
)

// told is what a command prints, and the status that it ends with.
func told(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs strings.Builder
	status = Main(context.Background(), &App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Home: t.TempDir(), Version: "test", Args: append([]string{"tare"}, args...)})
	return out.String(), errs.String(), status
}

// twoLayers writes a workload, and a study of it in two environments.
func twoLayers(t *testing.T) (rate, plan string) {
	t.Helper()
	directory := t.TempDir()
	rate, plan = filepath.Join(directory, "rate.yaml"), filepath.Join(directory, "study.yaml")
	for path, text := range map[string]string{
		rate: "workload: rate\nstresses: cpu\ndriver: {run: echo rate 1}\nparser: {regex: ['rate (?P<rate>\\d+)']}\nmetrics: [{name: rate, unit: op/s, better: higher, primary: true}]\n",
		plan: "study: two\nbaseline: plain\nenvironments:\n  plain: {kind: layered}\n  thick: {kind: layered, thick: true}\nimage: {reference: 'tar:image.tar'}\nworkloads: [{use: ./rate.yaml}]\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return rate, plan
}

func TestADryRunIsOneObjectWithJSON(t *testing.T) {
	rate, plan := twoLayers(t)
	for _, args := range [][]string{
		{"run", plan, "--dry-run", "--json"},
		{"run", plan, "--dry-run", "--json", "--blocks", "7"},
		{"explain", rate, "--from", "layered", "--to", "layered+thick=true", "--dry-run", "--json"},
		{"explain", rate, "--from", "layered", "--to", "layered+thick=true+thin=true", "--method", "shapley", "--blocks", "1", "--dry-run", "--json"},
	} {
		out, errs, status := told(t, args...)
		if status != 0 || errs != "" {
			t.Fatalf("%q: %d: %s", args, status, errs)
		}
		if problem := schematest.Validate(t, "dry-run.schema.json", []byte(out)); problem != nil {
			t.Errorf("%q: %v", args, problem)
		}
		var d run.DryRun
		in := json.NewDecoder(strings.NewReader(out))
		in.DisallowUnknownFields()
		if err := in.Decode(&d); err != nil || in.More() {
			t.Fatalf("%q: %v", args, err)
		}
		if n := int64(len(d.FirstBlock)); n < 2 || d.Expected.Trials.Least != n*d.Expected.Blocks.Least {
			t.Errorf("%q: %d trials a block, expected %+v", args, n, d.Expected)
		}
		if steps := len(d.Plan.Steps); (steps > 0) != (args[0] == "explain") {
			t.Errorf("%q: %d steps", args, steps)
		}
	}
}

func TestABudgetTooShortForAnyIntervalGivesANoteBeforeTheRun(t *testing.T) {
	_, plan := twoLayers(t)
	for budget, short := range map[string]bool{"5s": true, "1h": false} {
		out, errs, status := told(t, "run", plan, "--budget", budget, "--dry-run")
		words := strings.Join(strings.Fields(out), " ")
		if is := strings.Contains(words, "an interval needs 4 blocks, and the budget of 5s is likely to end before: they take about "); status != 0 || is != short {
			t.Errorf("%s: %d: %s%s", budget, status, errs, out)
		}
	}
}

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/rundir"
)

// studyOf writes a study of packs of testdata and returns its file. Environments are lines
// of YAML, and %s in the workloads is the directory of the packs.
func studyOf(t *testing.T, environments []string, workloads, design string) string {
	t.Helper()
	packs, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "study.yaml")
	text := fmt.Sprintf("study: with a fault\nbaseline: native\nenvironments:\n  native: {}\n%sworkloads:\n  - "+workloads+"\ndesign: "+design+"\n",
		"  "+strings.Join(append(environments, ""), "\n  "), packs)
	text = strings.Replace(text, "\n  workloads:", "\nworkloads:", 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// served is the workload of testdata/served.yaml.
const served = "use: %s/served.yaml"

// trialsIn are the trials of an environment, in the order in which they ended.
func (r *Run) trialsIn(environment string) (list []rundir.Trial) {
	r.t.Helper()
	run, err := rundir.Open(r.Directory)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, trial := range run.Trials {
		if trial.Environment == environment {
			list = append(list, trial)
		}
	}
	return list
}

// failedWith fails the test where a trial of an environment did not fail, or for a reason
// that a regular expression does not match.
func (r *Run) failedWith(environment, says string) {
	r.t.Helper()
	for _, trial := range r.trialsIn(environment) {
		if why := trial.Reason + "\n" + trial.Output; trial.Status != rundir.Failed || !regexp.MustCompile("(?s)"+says).MatchString(why) {
			r.t.Errorf("%s is %s, and not for the reason %q: %s", environment, trial.Status, says, why)
		}
	}
}

// needsLong skips what only the long form does.
func needsLong(t *testing.T) {
	t.Helper()
	if !Long() {
		t.Skip("needs the long form: make faults")
	}
}

// now is a moment that has come.
func now(*Session) {}

// nothing is injected from outside: the fault is in the study.
func nothing(*Session) func() { return nil }

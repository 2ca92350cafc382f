package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// On a CI machine, which is shared, a test may fail that passes alone. With -again a
// test that failed runs once more after all others, by itself, in a package whose
// name ends with " (again)"; internal/testing/summary counts a test that passes then
// as passed, and lists it. gotestsum's --rerun-fails does the same for `go test`.

// mostAgain is how many failed tests run again. Where more fail there is a cause that
// a second run does not remove.
const mostAgain = 8

// outcome is what the events of a job say about failures.
type outcome struct {
	failed  []string
	running map[string]bool
	// The program ended early, so that tests after this one did not run.
	died bool
}

func (o *outcome) line(text []byte) {
	var e struct{ Action, Test, Output string }
	if json.Unmarshal(text, &e) != nil {
		return
	}
	switch {
	case e.Action == "output":
		o.died = o.died || strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: ")
	case e.Test == "":
	case e.Action == "run":
		o.running[e.Test] = true
	case e.Action == "fail":
		o.failed = append(o.failed, e.Test)
		delete(o.running, e.Test)
	case e.Action == "pass" || e.Action == "skip":
		delete(o.running, e.Test)
	}
}

// again are the failed tests, without those that failed because a subtest did.
func (o *outcome) again() (tests []string) {
	if o.died || len(o.running) > 0 {
		return nil
	}
	for _, test := range o.failed {
		if !slices.ContainsFunc(o.failed, func(other string) bool { return strings.HasPrefix(other, test+"/") }) {
			tests = append(tests, test)
		}
	}
	return tests
}

// once is the job that runs one test of a job once more.
func (j job) once(test string) job {
	pattern := exactly(test)
	if j.also != "" {
		pattern += "|" + j.also
	}
	return job{name: j.name + " (again)", pkg: j.pkg, args: append(slices.Clone(j.args), "-test.run="+pattern)}
}

// exactly is the pattern of -run for one test.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for n, part := range parts {
		parts[n] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// failed is a test that failed, and the program that has it.
type failed struct {
	job     job
	program string
	test    string
}

// runAgain runs those tests by themselves. A signal that ended the tests ends this too.
func (r *runner) runAgain() {
	r.running.Lock()
	tests := r.failed
	r.running.Unlock()
	if len(tests) > mostAgain {
		return
	}
	for _, one := range tests {
		r.job(one.job.once(one.test), one.program)
	}
}

// runFailed runs the tests that failed in a file of events once more.
func runFailed(build, test []string, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	results := map[string]*outcome{}
	for line := range bytes.Lines(text) {
		var e struct{ Package string }
		if json.Unmarshal(line, &e) != nil || e.Package == "" {
			continue
		}
		if results[e.Package] == nil {
			results[e.Package] = &outcome{running: map[string]bool{}}
		}
		results[e.Package].line(line)
	}
	maps.DeleteFunc(results, func(_ string, o *outcome) bool { return len(o.again()) == 0 })
	if len(results) == 0 {
		return nil
	}
	packages, err := list(build, slices.Sorted(maps.Keys(results)))
	if err != nil {
		return err
	}
	return within(build, func(r *runner) {
		files := r.programs("again", packages)
		for _, p := range packages {
			for _, one := range results[p.ImportPath].again() {
				r.failed = append(r.failed, failed{job{name: p.ImportPath, pkg: p, args: arguments(test)}, files[p.ImportPath], one})
			}
		}
		r.runAgain()
	})
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testing/needs"
)

func TestArgumentsAreThoseOfGoTest(t *testing.T) {
	build, test, packages, err := parse([]string{"-race", "-run", "TestA/b", "-timeout=5m", "-v", "./internal/stats", "-tags", "x"})
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{build, test, packages}
	want := [][]string{{"-race", "-tags=x"}, {"-test.run=TestA/b", "-test.timeout=5m"}, {"./internal/stats"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, _, packages, err := parse(nil); err != nil || !slices.Equal(packages, []string{"./..."}) {
		t.Errorf("without arguments: %q, %v", packages, err)
	}
	for _, args := range [][]string{{"-unheard-of"}, {"-run"}} {
		if _, _, _, err := parse(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func TestPackagesThatMeasureRunAfterTheOthersAndAlone(t *testing.T) {
	var jobs []job
	for _, path := range []string{"tare/internal/stats", "tare/internal/usage", "tare/internal/testing/conformance", "tare/internal/image"} {
		jobs = append(jobs, jobsOf(pack{ImportPath: path}, []string{"-test.count=1"}, false)...)
	}
	beside, serial := phases(jobs)
	var names []string
	for _, j := range beside {
		names = append(names, j.short())
	}
	want := []string{"internal/testing/conformance (nested guests)", "internal/image", "internal/testing/conformance (rest)", "internal/testing/conformance (devices of guests)",
		"internal/testing/conformance (guests)", "internal/testing/conformance (doubles)", "internal/stats"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if len(serial) != 1 || serial[0].short() != "internal/usage" {
		t.Errorf("alone: %+v", serial)
	}
}

// Every test of a package that is split runs in one part, and those that a caller
// picks in one run.
func TestAPackageIsSplitWithoutLosingATest(t *testing.T) {
	p := pack{ImportPath: "tare/internal/testing/conformance"}
	jobs := jobsOf(p, nil, false)
	skipped := ""
	for n, j := range jobs[:len(jobs)-1] {
		one := parts["internal/testing/conformance"][n]
		if pattern := strings.TrimPrefix(j.args[0], "-test.run="); !strings.HasPrefix(pattern, one.run) {
			t.Errorf("%s runs %q", j.name, pattern)
		}
		skipped += "|" + one.run
	}
	if rest := jobs[len(jobs)-1]; !slices.Equal(rest.args, []string{"-test.skip=" + skipped[1:]}) {
		t.Errorf("the rest is %q", rest.args)
	}
	if picked := jobsOf(p, nil, true); len(picked) != 1 || picked[0].name != p.ImportPath {
		t.Errorf("picked tests are split: %+v", picked)
	}
}

func TestTheListsNamePackagesThatExist(t *testing.T) {
	exists := func(path string) {
		t.Helper()
		path, _, _ = strings.Cut(path, " (")
		if files, _ := filepath.Glob(filepath.Join("..", "..", "..", path, "*_test.go")); len(files) == 0 {
			t.Errorf("%s has no tests", path)
		}
	}
	for path := range parts {
		exists(path)
	}
	names := slices.Clone(first)
	for name, reason := range alone {
		names = append(names, name)
		if reason == "" {
			t.Errorf("no reason why %s runs alone", name)
		}
	}
	for _, name := range names {
		exists(name)
		path, _, _ := strings.Cut(name, " (")
		jobs := jobsOf(pack{ImportPath: "tare/" + path}, nil, false)
		if !slices.ContainsFunc(jobs, func(j job) bool { return j.short() == name }) {
			t.Errorf("%s has no job %s", path, name)
		}
	}
}

func TestAPackageThatDoesNotBuildFailsAndTheOthersAreBuilt(t *testing.T) {
	inModule(t, map[string]string{"a/a_test.go": "package a", "b/a/a_test.go": "package a", "broken/x_test.go": "package broken\n\nvar x = y"})
	r := &runner{directory: t.TempDir()}
	output := printed(t, func() {
		packages, err := list(nil, []string{"./..."})
		if err != nil {
			t.Fatal(err)
		}
		built := r.programs("all", packages)
		if len(packages) != 3 || len(built) != 2 {
			t.Errorf("%+v of %+v were built", built, packages)
		}
		for path, file := range built {
			if _, err := os.Stat(file); err != nil || filepath.Base(file) != "a.test" {
				t.Errorf("%s is built as %s, %v", path, file, err)
			}
		}
	})
	if !strings.Contains(output, `"fail","Package":"example/broken"`) || !strings.Contains(output, "undefined: y") {
		t.Errorf("it is told as %s", output)
	}
}

// inModule makes a module of files, and goes there.
func inModule(t *testing.T, files map[string]string) {
	t.Helper()
	needs.Program(t, "go")
	root := t.TempDir()
	files["go.mod"] = "module example\n\ngo 1.25\n"
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
}

// TestA/c fails the first time and passes the second; TestB fails each time, and has a
// name with a character that patterns use.
func TestATestThatFailedRunsOnceMoreByItself(t *testing.T) {
	inModule(t, map[string]string{"a/a_test.go": `package a

import ("os"; "testing")

func TestA(t *testing.T) {
	t.Run("b", func(t *testing.T) {})
	t.Run("c", func(t *testing.T) {
		if os.Mkdir("seen", 0o700) == nil {
			t.Error("slow")
		}
	})
}

func TestB(t *testing.T) { t.Run("1+1", func(t *testing.T) { t.Error("broken") }) }
`})
	output := printed(t, func() {
		if err := run(nil, nil, []string{"./..."}, true); err != nil {
			t.Error(err)
		}
	})
	want := []string{
		"pass example/a TestA/b", "fail example/a TestA/c", "fail example/a TestA", "fail example/a TestB/1+1", "fail example/a TestB", "fail example/a",
		"pass example/a (again) TestA/c", "pass example/a (again) TestA", "pass example/a (again)",
		"fail example/a (again) TestB/1+1", "fail example/a (again) TestB", "fail example/a (again)",
	}
	if diff := cmp.Diff(want, endsOf(t, output)); diff != "" {
		t.Error(diff)
	}
}

func TestTheFailedTestsOfAFileOfEventsRunOnceMore(t *testing.T) {
	inModule(t, map[string]string{"a/a_test.go": `package a

import "testing"

func TestA(t *testing.T) {}

func TestB(t *testing.T) { t.Error("broken") }
`})
	events := filepath.Join(t.TempDir(), "events")
	for text, want := range map[string][]string{
		`{"Action":"pass","Package":"example/a","Test":"TestA"}`: nil,
		`{"Action":"fail","Package":"example/a","Test":"TestA"}`: {"pass example/a (again) TestA", "pass example/a (again)"},
		`{"Action":"fail","Package":"example/a","Test":"TestB"}`: {"fail example/a (again) TestB", "fail example/a (again)"},
	} {
		if err := os.WriteFile(events, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		output := printed(t, func() {
			if err := runFailed(nil, nil, events); err != nil {
				t.Error(err)
			}
		})
		if diff := cmp.Diff(want, endsOf(t, output)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// endsOf are the ends of tests and packages among events.
func endsOf(t *testing.T, output string) (ends []string) {
	t.Helper()
	for line := range strings.Lines(output) {
		var e struct{ Action, Package, Test string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Action == "pass" || e.Action == "fail" {
			ends = append(ends, strings.TrimSpace(e.Action+" "+e.Package+" "+e.Test))
		}
	}
	return ends
}

func TestNoTestRunsAgainWhereOthersDidNotRun(t *testing.T) {
	for name, events := range map[string][]string{
		"a panic":            {`{"Action":"run","Test":"TestA"}`, `{"Action":"output","Test":"TestA","Output":"panic: oh\n"}`, `{"Action":"fail","Test":"TestA"}`},
		"a test without end": {`{"Action":"run","Test":"TestA"}`, `{"Action":"fail","Test":"TestA"}`, `{"Action":"run","Test":"TestB"}`},
	} {
		o := outcome{running: map[string]bool{}}
		for _, e := range events {
			o.line([]byte(e))
		}
		if tests := o.again(); len(tests) > 0 {
			t.Errorf("%s: %q runs again", name, tests)
		}
	}
}

// printed returns what a function writes to standard output.
func printed(t *testing.T, do func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer func(before *os.File) { os.Stdout = before }(os.Stdout)
	os.Stdout = file
	do()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLinesOfTwoProgramsAreNotMixed(t *testing.T) {
	r := &runner{}
	text := printed(t, func() {
		each(2, []string{"a", "b"}, func(letter string) {
			r.forward(strings.NewReader(strings.Repeat(strings.Repeat(letter, 1000)+"\n", 500)), &outcome{})
		})
	})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 1000 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if line != strings.Repeat(line[:1], 1000) {
			t.Fatalf("mixed: %.40s", line)
		}
	}
}

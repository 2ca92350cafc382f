package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	want := []string{"internal/testing/conformance (nested guests)", "internal/testing/conformance (guests)", "internal/testing/conformance (rest)", "internal/image", "internal/stats"}
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

func TestLinesOfTwoProgramsAreNotMixed(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer func(before *os.File) { os.Stdout = before }(os.Stdout)
	os.Stdout = file
	r := &runner{}
	each(2, []string{"a", "b"}, func(letter string) {
		r.forward(strings.NewReader(strings.Repeat(strings.Repeat(letter, 1000)+"\n", 500)))
	})
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 1000 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if line != strings.Repeat(line[:1], 1000) {
			t.Fatalf("mixed: %.40s", line)
		}
	}
}
